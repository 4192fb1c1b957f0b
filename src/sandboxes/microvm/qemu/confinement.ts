import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";

const BUBBLEWRAP = "/usr/bin/bwrap";

/** The user of QEMU in its namespace: nobody. */
const USER_ID = "65534";

const ISOLATION = [
  "--unshare-all",
  "--unshare-user",
  "--disable-userns",
  "--die-with-parent",
  "--uid",
  USER_ID,
  "--gid",
  USER_ID,
  "--cap-drop",
  "ALL",
  "--clearenv",
  "--ro-bind",
  "/usr",
  "/usr",
  "--ro-bind-try",
  "/lib",
  "/lib",
  "--ro-bind-try",
  "/lib64",
  "/lib64",
  "--dev",
  "/dev",
];

/** The processes of the sandbox, which has a PID namespace. Nothing there can be written to. */
const PROC = ["--proc", "/proc", "--remount-ro", "/proc"];

/** A program with its arguments. */
export interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
}

/** The files that QEMU sees in addition to the system's programs and libraries. */
export interface VisibleFiles {
  /** Paths that it can read. */
  readonly readable?: readonly string[];
  /** Directories in which it can write. */
  readonly writable?: readonly string[];
  /** Device files that it can use. */
  readonly devices?: readonly string[];
  /** Whether it sees its own descriptors below `/proc/self/fd`. Must be `false` without {@link Confinement.hasProc}. */
  readonly descriptors?: boolean;
}

/**
 * Runs QEMU without the network, other processes, and files that it does not need, so that a guest that takes
 * over QEMU is still confined. QEMU also has its own seccomp filter, with or without this.
 */
export class Confinement {
  /** Whether bubblewrap confines QEMU. */
  readonly isActive: boolean;
  /** Whether QEMU can be given a `/proc`: some containers prevent bubblewrap from mounting one. */
  readonly hasProc: boolean;

  /** Finds out whether bubblewrap can be used here. */
  static async open(): Promise<Confinement> {
    if (await works(PROC)) return new Confinement(true, true);
    if (await works([])) return new Confinement(true, false);
    return new Confinement(false, existsSync("/proc/self/fd"));
  }

  private constructor(isActive: boolean, hasProc: boolean) {
    this.isActive = isActive;
    this.hasProc = hasProc;
  }

  /** Returns how the program is started. */
  wrap(
    { command, args }: CommandLine,
    { readable = [], writable = [], devices = [], descriptors = false }: VisibleFiles,
  ): CommandLine {
    if (!this.isActive) return { command, args };
    const options = [
      ...ISOLATION,
      ...(descriptors ? PROC : []),
      ...readable.flatMap((path) => ["--ro-bind", path, path]),
      ...writable.flatMap((path) => ["--bind", path, path]),
      ...devices.flatMap((path) => ["--dev-bind-try", path, path]),
      "--remount-ro",
      "/",
    ];
    return { command: BUBBLEWRAP, args: [...options, "--", command, ...args] };
  }
}

/** Whether bubblewrap works with these options in addition to the isolation. */
async function works(options: readonly string[]): Promise<boolean> {
  try {
    await promisify(execFile)(BUBBLEWRAP, [...ISOLATION, ...options, "--", "/usr/bin/env"], { env: {} });
    return true;
  } catch {
    return false;
  }
}
