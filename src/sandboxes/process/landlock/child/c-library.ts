import { dlopen, getInt32, getRawPointer } from "node:ffi";

/** The C library of this process. Arguments are 64 bits wide, as registers are; strings end in NUL. */
const { functions } = dlopen(null, {
  __errno_location: { arguments: [], return: "pointer" },
  syscall: { arguments: ["i64", "i64", "i64", "i64", "i64", "i64", "i64"], return: "i64" },
  prctl: { arguments: ["i64", "i64", "i64", "i64", "i64"], return: "i32" },
  poll: { arguments: ["pointer", "u64", "i32"], return: "i32" },
  waitpid: { arguments: ["i32", "pointer", "i32"], return: "i32" },
  signal: { arguments: ["i32", "pointer"], return: "pointer" },
  execvpe: { arguments: ["pointer", "pointer", "pointer"], return: "i32" },
});

/** Numbers of the system calls that the C library has no function for. */
const CALLS = {
  x64: {
    fcntl: 72,
    ptrace: 101,
    dup3: 292,
    capset: 126,
    prlimit: 302,
    exit_group: 231,
    memfd_create: 319,
    fchdir: 81,
    setgroups: 116,
    keyctl: 250,
    rt_sigprocmask: 14,
  },
  arm64: {
    fcntl: 25,
    ptrace: 117,
    dup3: 24,
    capset: 91,
    prlimit: 261,
    exit_group: 94,
    memfd_create: 279,
    fchdir: 50,
    setgroups: 159,
    keyctl: 219,
    rt_sigprocmask: 135,
  },
} as const;
/** Newer calls, which have the same number on every architecture. */
const COMMON = {
  pidfd_send_signal: 424,
  pidfd_open: 434,
  close_range: 436,
  landlock_create_ruleset: 444,
  landlock_add_rule: 445,
  landlock_restrict_self: 446,
};
const NUMBERS: Readonly<Record<string, number>> = {
  ...COMMON,
  ...CALLS[process.arch === "arm64" ? "arm64" : "x64"],
};

type Five = [bigint, bigint, bigint, bigint, bigint];
type Six = [...Five, bigint];

/** The names of {@link systemCall}. */
export type SystemCall = keyof typeof COMMON | keyof (typeof CALLS)["x64"];

/** Returns the result of a system call, or -1 if it failed. */
export function systemCall(name: SystemCall, ...args: readonly (number | bigint)[]): number {
  const [a, b, c, d, e, f] = Array.from({ length: 6 }, (_, index) => BigInt(args[index] ?? 0)) as Six;
  return Number(functions.syscall(BigInt(NUMBERS[name] as number), a, b, c, d, e, f));
}

/** Returns the result of `prctl(2)`, or -1 if it failed. */
export function prctl(...args: readonly (number | bigint)[]): number {
  const [a, b, c, d, e] = Array.from({ length: 5 }, (_, index) => BigInt(args[index] ?? 0)) as Five;
  return functions.prctl(a, b, c, d, e);
}

/** @throws {Error} with the name of the step and the number of the error, if a call returned -1. */
export function succeed(step: string, result: number): number {
  if (result >= 0) return result;
  throw new Error(`${step} failed (errno ${errorNumber()})`);
}

/** The address of a buffer, which the caller must keep alive until the call that gets it has returned. */
export const addressOf = (buffer: Buffer): bigint => getRawPointer(buffer);

/**
 * Waits for input on descriptors.
 *
 * @param timeoutMs -1: without end.
 * @returns Whether each of them is readable or closed. All are `false` if a signal arrived.
 */
export function poll(fds: readonly number[], timeoutMs: number): readonly boolean[] {
  const polled = Buffer.alloc(8 * Math.max(fds.length, 1));
  for (const [index, fd] of fds.entries()) {
    polled.writeInt32LE(fd, 8 * index);
    polled.writeInt16LE(1, 8 * index + 4); // POLLIN
  }
  const ready = functions.poll(addressOf(polled), BigInt(fds.length), timeoutMs);
  return fds.map((_, index) => ready > 0 && polled.readInt16LE(8 * index + 6) !== 0);
}

/** WNOHANG | __WALL: also children that were cloned with another signal than SIGCHLD. */
const ANY_ENDED = 1 | 0x4000_0000;

/** Reaps a child that has ended. Returns `undefined` if there are no more children. */
export function reapChild(): { readonly pid: number; readonly status: number } | undefined {
  const status = Buffer.alloc(4);
  const pid = functions.waitpid(-1, addressOf(status), ANY_ENDED);
  return pid < 0 ? undefined : { pid, status: status.readInt32LE() };
}

/**
 * Sets a limit of `setrlimit(2)`.
 *
 * @param pid The process that gets it; 0 for this one.
 */
export function setLimit(pid: number, resource: number, soft: number, hard: number): void {
  const limit = Buffer.alloc(16);
  limit.writeBigUInt64LE(BigInt(soft), 0);
  limit.writeBigUInt64LE(BigInt(hard), 8);
  succeed(`setrlimit ${resource}`, systemCall("prlimit", pid, resource, addressOf(limit), 0));
}

/** Resets all signals to their default actions. Node.js ignores SIGPIPE, which a program would inherit. */
export function resetSignals(): void {
  for (let signal = 1; signal <= 64; signal++) functions.signal(signal, 0n);
  const none = Buffer.alloc(8);
  systemCall("rt_sigprocmask", 2, addressOf(none), 0, 8); // SIG_SETMASK
}

/**
 * Returns a function that makes this process the program, which is looked up in this process's `PATH` if its name has no
 * slash. All memory is allocated before.
 */
export function preparedExecution(
  command: string,
  args: readonly string[],
  env: readonly string[],
): () => never {
  const buffers: Buffer[] = [];
  const text = (value: string): bigint => {
    const bytes = Buffer.from(`${value}\0`);
    buffers.push(bytes);
    return addressOf(bytes);
  };
  const list = (values: readonly string[]): bigint => {
    const pointers = Buffer.alloc(8 * (values.length + 1));
    for (const [index, value] of values.entries()) pointers.writeBigUInt64LE(text(value), 8 * index);
    buffers.push(pointers);
    return addressOf(pointers);
  };
  const given = [text(command), list([command, ...args]), list(env)] as const;
  return () => {
    functions.execvpe(...given);
    const number = errorNumber();
    throw new ExecutionError(`${command}: cannot be executed (errno ${number})`, number === ENOENT);
  };
}

const ENOENT = 2;

/** This process could not become the program. */
export class ExecutionError extends Error {
  /** As in a shell: 127 if the program does not exist, otherwise 126. */
  readonly exitCode: 126 | 127;

  constructor(message: string, isMissing: boolean) {
    super(message);
    this.exitCode = isMissing ? 127 : 126;
  }
}

/**
 * Ends this process immediately. `process.exit` needs system calls that a filter may refuse by now, and would
 * abort.
 */
export function exitNow(code: number): never {
  systemCall("exit_group", code);
  throw new Error("exit_group failed");
}

function errorNumber(): number {
  return getInt32(functions.__errno_location());
}
