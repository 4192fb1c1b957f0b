import {
  addResult,
  BUFFER,
  BUFFER_BYTES,
  type Code,
  copyAll,
  DATA,
  fillBuffer,
  forever,
  SCRATCH,
  staticProgram,
  store,
  storeResult,
  systemCall,
  unless,
  unlessPositive,
  unlessZero,
  writeLetters,
} from "./machine-code.ts";

/** The user and group of the tool in the machine. */
export const GUEST_USER_ID = 1_000;

/** Bytes of the message with which a call begins: enough for 2,000 empty arguments, and for a command of 2,000 bytes. */
export const START_MESSAGE_BYTES: number = BUFFER_BYTES;

/** Where the message is in the memory of the machine's first process: pointers in it count from there. */
export const START_MESSAGE_ADDRESS: number = BUFFER;

/** How many paths of the program the message has. They are tried in their order. */
export const PROGRAM_PATHS = 3;

/** Parts of the message: their offset and their length in bytes. Behind them are lists of pointers, and strings. */
export const MESSAGE = {
  /** A `struct timespec`: seconds and nanoseconds, 64 bits each. */
  time: [0, 16],
  /** Random bytes: as many as the key of the kernel's generator has. */
  seed: [16, 32],
  /** Stands in the report. */
  token: [48, 32],
  /** Not 0 if the limits are not those that the machine was saved with. */
  hasLimits: [184, 8],
  /** What to write to `memory.max`, with line breaks behind it. */
  memory: [80, 24],
  /** What to write to `pids.max`, with line breaks behind it. */
  processes: [104, 24],
  /** Pointers to the lists of arguments and of variables, which end with a null pointer. */
  lists: [128, 16],
  /** Pointers to the paths of the program. */
  paths: [144, 24],
  /** A pointer to what is written to the standard error if there is no program, and its length. */
  failure: [168, 16],
} as const;

export const MESSAGE_PARTS_BYTES = 192;

/** What the machine writes to the control port when it is ready for a call, and for the next one after its report. */
export const READY_LINE = "ready";

/** The directory of files that Sandgate adds to a machine. */
export const GUEST_DIRECTORY = "sandgate";

/** The control group of the tool. */
export const GROUP: string = `/${GUEST_DIRECTORY}/groups/tool`;

/** A link to `memory.peak`, or a file that says that there is none. */
export const PEAK_FILE: string = `/${GUEST_DIRECTORY}/run/peak`;

const [READ_ONLY, WRITE_ONLY, READ_WRITE, CLOSE_ON_EXEC] = [0, 1, 2, 0o2000000];

/** The files that the program opens, in the order of their descriptors. */
const FILES = [
  ["control", "/dev/vport0p1", READ_WRITE],
  ["inputPort", "/dev/vport0p2", READ_ONLY],
  ["outputPort", "/dev/vport0p3", READ_WRITE],
  ["errorPort", "/dev/vport0p4", WRITE_ONLY],
  ["random", "/dev/urandom", READ_WRITE],
  ["memoryMax", `${GROUP}/memory.max`, WRITE_ONLY],
  ["pidsMax", `${GROUP}/pids.max`, WRITE_ONLY],
  ["members", `${GROUP}/cgroup.procs`, WRITE_ONLY],
  ["killer", `${GROUP}/cgroup.kill`, WRITE_ONLY],
  ["events", `${GROUP}/memory.events`, READ_ONLY],
  ["peak", PEAK_FILE, READ_ONLY],
] as const;

type Name = (typeof FILES)[number][0];

const FIRST_DESCRIPTOR = 3;
const FILE = Object.fromEntries(FILES.map(([name], index) => [name, FIRST_DESCRIPTOR + index])) as Record<
  Name,
  number
>;

/** Pipes: that of the command's input, the one that it waits for before it starts, and those of its outputs. */
const INPUT_READ: number = FIRST_DESCRIPTOR + FILES.length;
const START_READ = INPUT_READ + 1;
const START_WRITE = INPUT_READ + 2;
// The kernel gives the lowest free number, and the input's write end is closed before there is another pipe.
const INPUT_WRITE = START_READ;
const OUTPUT_READ = INPUT_READ + 3;
const OUTPUT_WRITE = INPUT_READ + 4;
const ERROR_READ = INPUT_READ + 5;
const ERROR_WRITE = INPUT_READ + 6;

const CLOCK_REALTIME = 0;
/** Makes the kernel's random generator take a new key from what was mixed in (random(4)). */
const RNDRESEEDCRNG = 0x5207;
const PR_SET_NO_NEW_PRIVS = 38;
const SIGCHLD = 17;
const CLONE_VM = 0x100;

/** Variables of the program. */
const [PIPE, OUTPUT_COPIER, ERROR_COPIER, COMMAND, STATUS, REPORT_END, REPORT_BYTES] = [
  0, 1, 2, 3, 4, 5, 6,
].map((index) => SCRATCH + 8 * index) as [number, number, number, number, number, number, number];

/** The report begins with the token, which is in the message already, and takes the place of what follows it. */
const REPORT: number = BUFFER + MESSAGE.token[0];
const STATUS_LETTERS = 4;
const MAX_EVENTS_BYTES = 1_024;
const MAX_PEAK_BYTES = 32;

const READY_TEXT = `${READY_LINE}\n`;
const STRINGS = [...FILES.map(([, path]) => path), "0", "1", READY_TEXT];
const TEXT: Buffer = Buffer.from(STRINGS.map((text) => `${text}\0`).join(""));

/** The address of a string. */
function addressOf(text: string): number {
  return DATA + TEXT.indexOf(`${text}\0`);
}

function part(name: keyof typeof MESSAGE): readonly [address: number, length: number] {
  const [offset, length] = MESSAGE[name];
  return [BUFFER + offset, length];
}

/** Restarts the machine, which ends it. */
const END: Code = systemCall("reboot", 0xfee1dead, 672274793, 0x1234567, 0);

const EXIT: Code = systemCall("exit", 126);

/** Code that ends the machine unless other code returns a value. */
function mustReturn(value: number, code: Code): Code {
  return [...code, ...unless(value, END)];
}

/** Code that starts a process with code of its own, which must not return. The result is the number of the process. */
function fork(code: Code, flags = 0): Code {
  return [...systemCall("clone", SIGCHLD + flags, 0, 0, 0), ...unlessPositive(code)];
}

function close(...descriptors: readonly number[]): Code {
  return descriptors.flatMap((descriptor) => systemCall("close", descriptor));
}

function openPipe(): Code {
  return mustReturn(0, systemCall("pipe2", PIPE, CLOSE_ON_EXEC));
}

/** Gives a pipe to the tool, so that it can open /dev/stdout and its like. */
function give(end: number): Code {
  return mustReturn(0, systemCall("fchown", end, GUEST_USER_ID, GUEST_USER_ID));
}

/** The command, up to its start: it waits with everything done that does not depend on the call. */
const COMMAND_CODE: Code = [
  ...mustReturn(1, systemCall("write", FILE.members, addressOf("0"), 1)),
  ...[INPUT_READ, OUTPUT_WRITE, ERROR_WRITE].flatMap((end, index) =>
    mustReturn(index, systemCall("dup2", end, index)),
  ),
  ...mustReturn(0, systemCall("setgroups", 0, 0)),
  ...mustReturn(0, systemCall("setgid", GUEST_USER_ID)),
  ...mustReturn(0, systemCall("setuid", GUEST_USER_ID)),
  ...[...systemCall("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0), ...unless(0, EXIT)],
  ...[...systemCall("read", START_READ, PIPE, 1), ...unless(1, EXIT)],
  ...Array.from({ length: PROGRAM_PATHS }, (_, index) =>
    systemCall(
      "execve",
      { at: part("paths")[0] + 8 * index },
      { at: part("lists")[0] },
      { at: part("lists")[0] + 8 },
    ),
  ).flat(),
  ...systemCall("write", 2, { at: part("failure")[0] }, { at: part("failure")[0] + 8 }),
  ...systemCall("exit", 127),
];

/** Reads the message of a call, and does what the message says before the command starts. */
const BEGIN_CALL: Code = [
  ...fillBuffer(FILE.control, END),
  // Each restored machine has the clock and the random generator of the saved one until now.
  ...mustReturn(0, systemCall("clock_settime", CLOCK_REALTIME, part("time")[0])),
  ...mustReturn(MESSAGE.seed[1], systemCall("write", FILE.random, ...part("seed"))),
  ...mustReturn(0, systemCall("ioctl", FILE.random, RNDRESEEDCRNG, 0)),
  ...unlessZero(part("hasLimits")[0], [
    ...mustReturn(MESSAGE.memory[1], systemCall("write", FILE.memoryMax, ...part("memory"))),
    ...mustReturn(MESSAGE.processes[1], systemCall("write", FILE.pidsMax, ...part("processes"))),
  ]),
  ...mustReturn(1, systemCall("write", START_WRITE, part("token")[0], 1)),
];

/** Sends how the command ended: the token, its status as letters, and what the kernel says about its memory. */
const SEND_REPORT: Code = [
  ...writeLetters(STATUS, REPORT + MESSAGE.token[1]),
  ...store(REPORT + MESSAGE.token[1] + STATUS_LETTERS, REPORT_END),
  ...store(MESSAGE.token[1] + STATUS_LETTERS, REPORT_BYTES),
  ...(
    [
      [FILE.events, MAX_EVENTS_BYTES],
      [FILE.peak, MAX_PEAK_BYTES],
    ] as const
  ).flatMap(([file, bytes]) => [
    ...systemCall("pread64", file, { at: REPORT_END }, bytes, 0),
    ...addResult(REPORT_END),
    ...addResult(REPORT_BYTES),
  ]),
  ...systemCall("write", FILE.control, REPORT, { at: REPORT_BYTES }),
];

/** One call, from its preparation to its report. */
const CALL: Code = [
  ...[...openPipe(), ...openPipe(), ...give(OUTPUT_WRITE), ...openPipe(), ...give(ERROR_WRITE)],
  ...fork([...close(OUTPUT_WRITE, ERROR_WRITE), ...copyAll(OUTPUT_READ, FILE.outputPort)]),
  ...storeResult(OUTPUT_COPIER),
  ...fork([...close(OUTPUT_WRITE, ERROR_WRITE), ...copyAll(ERROR_READ, FILE.errorPort)]),
  ...storeResult(ERROR_COPIER),
  // It shares the memory, with the message in it, until it becomes the command.
  ...fork(COMMAND_CODE, CLONE_VM),
  ...storeResult(COMMAND),
  ...close(START_READ, OUTPUT_READ, OUTPUT_WRITE, ERROR_READ, ERROR_WRITE),
  ...systemCall("write", FILE.control, addressOf(READY_TEXT), READY_TEXT.length),
  ...BEGIN_CALL,
  ...systemCall("wait4", { at: COMMAND }, STATUS, 0, 0),
  ...mustReturn(1, systemCall("write", FILE.killer, addressOf("1"), 1)),
  ...[OUTPUT_COPIER, ERROR_COPIER].flatMap((copier) => systemCall("wait4", { at: copier }, 0, 0, 0)),
  ...SEND_REPORT,
  ...close(START_WRITE),
];

/**
 * The first process of a machine, once it is set up. For each call it has pipes, processes that copy between them and the
 * ports, and one that becomes the command. The machine is saved while they wait, and QEMU translates code when it first
 * runs: this program is made for as little of the kernel's code as possible to run in a call.
 */
export const KEEPER_PROGRAM: Buffer = staticProgram(
  [
    ...FILES.flatMap(([name, path, mode]) =>
      mustReturn(FILE[name], systemCall("open", addressOf(path), mode + CLOSE_ON_EXEC, 0)),
    ),
    ...[...openPipe(), ...give(INPUT_READ)],
    ...fork([...close(INPUT_READ), ...copyAll(FILE.inputPort, INPUT_WRITE)]),
    ...close(INPUT_WRITE),
    // The host is gone when the port is closed.
    ...fork([...systemCall("read", FILE.outputPort, SCRATCH, 1), ...END]),
    ...forever(CALL),
  ],
  TEXT,
);
