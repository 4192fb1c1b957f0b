import { constants } from "node:os";
import type { Isolation } from "../../tool/sandbox-mode.ts";
import { ARCHITECTURES, REFUSED, REFUSED_WITHOUT_NAMESPACES } from "./seccomp-system-calls.ts";

/** Opcodes of classic BPF (linux/filter.h) that a seccomp filter needs. */
const LOAD = 0x20;

// BPF_LD | BPF_W | BPF_ABS
const JUMP_EQUAL = 0x15;

// BPF_JMP | BPF_JEQ | BPF_K
const JUMP_AT_LEAST = 0x35;

// BPF_JMP | BPF_JGE | BPF_K
const JUMP_ANY_BIT = 0x45;

// BPF_JMP | BPF_JSET | BPF_K
const AND = 0x54;

// BPF_ALU | BPF_AND | BPF_K
const RETURN = 0x06;

// BPF_RET | BPF_K

/** What a filter returns: the action in the upper half, an errno in the lower (linux/seccomp.h). */
const ALLOW = 0x7fff0000;

const KILL_PROCESS = 0x80000000;

const fail = (errno: number): number => 0x00050000 | errno;

/** Offsets in `struct seccomp_data`. */
const NUMBER = 0;

const ARCHITECTURE = 4;

/** The lower half of an argument. Both supported architectures are little-endian. */
const argument = (index: number): number => 16 + 8 * index;

/** Writes a classic BPF program, one instruction of eight bytes after the other. */
class BpfProgram {
  readonly #instructions: Buffer[] = [];

  load(offset: number): this {
    return this.#add(LOAD, offset);
  }

  /** Clears the other bits of the loaded value. */
  and(bits: number): this {
    return this.#add(AND, bits);
  }

  return(action: number): this {
    return this.#add(RETURN, action);
  }

  /** Skips the next instructions unless the loaded value equals one. */
  unlessEqual(value: number, skipped: number): this {
    return this.#add(JUMP_EQUAL, value, 0, skipped);
  }

  /** Skips the next instructions if the loaded value equals one. */
  ifEqual(value: number, skipped: number): this {
    return this.#add(JUMP_EQUAL, value, skipped, 0);
  }

  /** Skips the next instructions unless the loaded value is at least as large. */
  unlessAtLeast(value: number, skipped: number): this {
    return this.#add(JUMP_AT_LEAST, value, 0, skipped);
  }

  /** Skips the next instructions unless the loaded value has one of these bits. */
  unlessAnyBit(bits: number, skipped: number): this {
    return this.#add(JUMP_ANY_BIT, bits, 0, skipped);
  }

  toBuffer(): Buffer {
    return Buffer.concat(this.#instructions);
  }

  #add(code: number, operand: number, whenTrue = 0, whenFalse = 0): this {
    const instruction = Buffer.alloc(8);
    instruction.writeUInt16LE(code, 0);
    instruction[2] = whenTrue;
    instruction[3] = whenFalse;
    instruction.writeUInt32LE(operand >>> 0, 4);
    this.#instructions.push(instruction);
    return this;
  }
}

const { EPERM } = constants.errno;
const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
const ENETDOWN = 100;

/** CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID and NET of linux/sched.h. */
const NEW_NAMESPACES = 0x7e020000;
const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
/** The bits of a socket's type without its flags, and the types of TCP and UDP. */
const SOCKET_TYPE = 0xf;
const SOCK_STREAM = 1;
const SOCK_DGRAM = 2;
const IPPROTO_TCP = 6;
const IPPROTO_UDP = 17;
/** The bit that SOCK_DGRAM and SOCK_RAW have, and SOCK_STREAM and SOCK_SEQPACKET have not. */
const DATAGRAM = 2;
/** S_ISUID and S_ISGID: running such a file gives the privileges of its owner. */
const SET_ID = 0o6000;
/** O_CREAT and the own bit of O_TMPFILE: only with these has an opened file a mode. */
const CREATES = 0o20000100;
/** Calls that give a file a mode, and the arguments with it. */
const MODES: Readonly<Record<string, number>> = {
  chmod: 1,
  creat: 1,
  fchmod: 1,
  fchmodat: 2,
  fchmodat2: 2,
  mknod: 1,
  mknodat: 2,
};
/** Calls that give a file a mode if they create it, and the arguments with the flags, before that with the mode. */
const OPENS: Readonly<Record<string, number>> = { open: 1, openat: 2 };
/** Requests that put input into a terminal: TIOCSTI and TIOCLINUX. */
const TERMINAL_INPUT = [0x5412, 0x541c];

/** Options of {@link seccompFilter}. */
interface FilterOptions {
  /**
   * What else confines the program. Without namespaces, the filter also refuses system calls that reach other
   * processes. Default: `namespaces`.
   */
  readonly isolation?: Isolation;
}

/**
 * Returns a seccomp filter for a confined program, as `struct sock_filter`s; `undefined` if the architecture is not
 * supported. It refuses the calls of `seccomp-system-calls.ts` with EPERM, new namespaces, sockets other than unix sockets and, in a network
 * namespace, those of TCP and UDP; the
 * set-user-ID and set-group-ID modes and terminal input, and kills a process that makes a system call of another ABI, such as `int 0x80` on x86-64.
 *
 * @param arch As in `process.arch`.
 */
export function seccompFilter(
  { isolation = "namespaces" }: FilterOptions = {},
  arch: string = process.arch,
): Buffer | undefined {
  const architecture = ARCHITECTURES[arch];
  if (architecture === undefined) return undefined;
  const { audit, otherAbiFrom, numbers } = architecture;
  const program = new BpfProgram().load(ARCHITECTURE).ifEqual(audit, 1).return(KILL_PROCESS).load(NUMBER);
  if (otherAbiFrom !== undefined) program.unlessAtLeast(otherAbiFrom, 1).return(KILL_PROCESS);
  const refused = isolation === "landlock" ? [...REFUSED, ...REFUSED_WITHOUT_NAMESPACES] : REFUSED;
  for (const name of refused) {
    const number = numbers[name];
    if (number !== undefined) program.unlessEqual(number, 1).return(fail(EPERM));
  }
  const number = (name: string): number => numbers[name] as number;
  // Their flags are in memory, which a filter cannot read. Programs fall back to clone and openat.
  const missing = isolation === "landlock" ? ["pidfd_open"] : [];
  for (const name of ["clone3", "openat2", ...missing])
    program.unlessEqual(number(name), 1).return(fail(ENOSYS));
  // Each block ends in a return, as it loads another value over the number.
  program
    .unlessEqual(number("clone"), 4)
    .load(argument(0))
    .unlessAnyBit(NEW_NAMESPACES, 1)
    .return(fail(EPERM))
    .return(ALLOW);
  if (isolation === "landlock") refuseOtherProcesses(program, number);
  else {
    allowInternet(program, number("socket"));
    program
      .unlessEqual(number("socketpair"), 4)
      .load(argument(0))
      .unlessEqual(AF_UNIX, 1)
      .return(ALLOW)
      .return(fail(EPERM));
  }
  for (const [name, mode] of Object.entries(MODES))
    if (numbers[name] !== undefined)
      program
        .unlessEqual(number(name), 4)
        .load(argument(mode))
        .unlessAnyBit(SET_ID, 1)
        .return(fail(EPERM))
        .return(ALLOW);
  for (const [name, flags] of Object.entries(OPENS))
    if (numbers[name] !== undefined)
      program
        .unlessEqual(number(name), 6)
        .load(argument(flags))
        .unlessAnyBit(CREATES, 3)
        .load(argument(flags + 1))
        .unlessAnyBit(SET_ID, 1)
        .return(fail(EPERM))
        .return(ALLOW);
  const [sti, linux] = TERMINAL_INPUT as [number, number];
  program
    .unlessEqual(number("ioctl"), 5)
    .load(argument(1))
    .ifEqual(sti, 2)
    .ifEqual(linux, 1)
    .return(ALLOW)
    .return(fail(EPERM));
  // Only reading the personality (0xffffffff) and setting the default one: other values turn protections off.
  program
    .unlessEqual(number("personality"), 5)
    .load(argument(0))
    .ifEqual(0xffffffff, 1)
    .unlessEqual(0, 1)
    .return(ALLOW)
    .return(fail(EPERM));
  return program.return(ALLOW).toBuffer();
}

/** Refuses what reaches processes that namespaces would hide. */
function refuseOtherProcesses(program: BpfProgram, number: (name: string) => number): void {
  // A distinct error says that there is no network.
  program
    .unlessEqual(number("socket"), 5)
    .load(argument(0))
    .ifEqual(AF_INET, 2)
    .ifEqual(AF_INET6, 1)
    .return(fail(EPERM))
    .return(fail(ENETDOWN));
  // A pair of datagram sockets can send to any path.
  program
    .unlessEqual(number("socketpair"), 6)
    .load(argument(0))
    .unlessEqual(AF_UNIX, 2)
    .load(argument(1))
    .unlessAnyBit(DATAGRAM, 1)
    .return(fail(EPERM))
    .return(ALLOW);
  // 0 is the calling process.
  for (const [name, process] of [
    ["prlimit", 0],
    ["setpriority", 1],
  ] as const)
    program
      .unlessEqual(number(name), 4)
      .load(argument(process))
      .unlessEqual(0, 1)
      .return(ALLOW)
      .return(fail(EPERM));
}

/** Allows unix sockets and those of TCP and UDP: other protocols have the kernel load modules that few programs need. */
function allowInternet(program: BpfProgram, socket: number): void {
  program
    .unlessEqual(socket, 17)
    .load(argument(0))
    .unlessEqual(AF_UNIX, 1)
    .return(ALLOW)
    .ifEqual(AF_INET, 2)
    .ifEqual(AF_INET6, 1)
    .return(fail(EPERM))
    .load(argument(1))
    .and(SOCKET_TYPE)
    .ifEqual(SOCK_STREAM, 2)
    .ifEqual(SOCK_DGRAM, 1)
    .return(fail(EPERM))
    .load(argument(2))
    .ifEqual(0, 3)
    .ifEqual(IPPROTO_TCP, 2)
    .ifEqual(IPPROTO_UDP, 1)
    .return(fail(EPROTONOSUPPORT))
    .return(ALLOW);
}
