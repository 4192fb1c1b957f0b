import { execFile } from "node:child_process";
import { promisify } from "node:util";

const BUBBLEWRAP = "/usr/bin/bwrap";

/** The user of QEMU in its namespace: nobody. */
const USER_ID = "65534";

const ISOLATION = [
  ...["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent"],
  ...["--uid", USER_ID, "--gid", USER_ID, "--cap-drop", "ALL", "--clearenv"],
  ...["--ro-bind", "/usr", "/usr", "--ro-bind-try", "/lib", "/lib", "--ro-bind-try", "/lib64", "/lib64"],
  ...["--dev", "/dev"],
];

/** A program with its arguments. */
export interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
}

/** The files that QEMU sees besides the system's programs and libraries. */
export interface VisibleFiles {
  /** Paths that it can read. */
  readonly readable?: readonly string[];
  /** Directories in which it can write. */
  readonly writable?: readonly string[];
  /** Device files that it can use. */
  readonly devices?: readonly string[];
}

/**
 * Has QEMU run without the network, other processes, and files that it does not need: a guest that takes over QEMU is
 * confined nevertheless. QEMU also has its own seccomp filter, with or without this.
 */
export class Confinement {
  /** Whether bubblewrap confines QEMU. */
  readonly isActive: boolean;

  /** Finds out whether bubblewrap can be used here. */
  static async open(): Promise<Confinement> {
    try {
      await promisify(execFile)(BUBBLEWRAP, [...ISOLATION, "--", "/usr/bin/env"], { env: {} });
      return new Confinement(true);
    } catch {
      return new Confinement(false);
    }
  }

  private constructor(isActive: boolean) {
    this.isActive = isActive;
  }

  /** Returns how the program is started. */
  wrap(
    { command, args }: CommandLine,
    { readable = [], writable = [], devices = [] }: VisibleFiles,
  ): CommandLine {
    if (!this.isActive) return { command, args };
    const options = [
      ...ISOLATION,
      ...readable.flatMap((path) => ["--ro-bind", path, path]),
      ...writable.flatMap((path) => ["--bind", path, path]),
      ...devices.flatMap((path) => ["--dev-bind-try", path, path]),
      ...["--remount-ro", "/"],
    ];
    return { command: BUBBLEWRAP, args: [...options, "--", command, ...args] };
  }
}
