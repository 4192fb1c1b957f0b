import { FIRST_PROCESS_X64 } from "./first-process-binary.ts";

/** The user and group of the tool in the machine. */
export const GUEST_USER_ID = 1_000;

/** Bytes of the message with which a call begins: enough for 2,000 empty arguments, and for a command of 2,000 bytes. */
export const START_MESSAGE_BYTES = 0x6000;

/** How many paths of the program the message has. They are tried in their order. */
export const PROGRAM_PATHS = 3;

/**
 * Parts of the message: their offset and their length in bytes. Numbers have 64 bits. Behind the parts are lists and strings,
 * whose places count from the start of the message.
 */
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
  /** Where the lists of arguments and of variables are. Each is a list of places of strings, which ends with 0. */
  lists: [128, 16],
  /** Where the paths of the program are; 0 for none. */
  paths: [144, 24],
  /** Where the text is that is written to the standard error if there is no program, and its length in bytes. */
  failure: [168, 16],
} as const;

export const MESSAGE_PARTS_BYTES = 192;

/** What the machine writes to the control port when it is ready for a call, and for the next one after its report. */
export const READY_LINE = "ready";

/** The directory of files that Sandgate adds to a machine. */
export const GUEST_DIRECTORY = "sandgate";

/** The control group of the tool. */
export const GROUP: string = `/${GUEST_DIRECTORY}/groups/tool`;

/** A link to `memory.peak`, or a file with `none` if that does not exist. */
export const PEAK_FILE: string = `/${GUEST_DIRECTORY}/run/peak`;

/** The macros with which `first-process.c` is compiled: what it shares with this process is written here only. */
export const FIRST_PROCESS_MACROS: Readonly<Record<string, string>> = {
  MESSAGE_BYTES: `${START_MESSAGE_BYTES}`,
  PROGRAM_PATHS: `${PROGRAM_PATHS}`,
  GUEST_USER_ID: `${GUEST_USER_ID}`,
  READY: JSON.stringify(`${READY_LINE}\n`),
  GROUP: JSON.stringify(GROUP),
  PEAK_FILE: JSON.stringify(PEAK_FILE),
  ...Object.fromEntries(
    Object.entries(MESSAGE).flatMap(([name, [offset, bytes]]) => [
      [`AT_${name}`, `${offset}`],
      [`BYTES_${name}`, `${bytes}`],
    ]),
  ),
};

/** The first process of a machine, once it is set up: a static program, compiled from `first-process.c`. */
export const FIRST_PROCESS: Buffer = Buffer.from(FIRST_PROCESS_X64, "base64");
