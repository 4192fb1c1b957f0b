import type { Duplex, Readable, Writable } from "node:stream";
import type { FsGrant } from "../../../policy/grant/fs-grant.ts";
import type { ResourceLimits } from "../../../policy/grant/limits.ts";
import type { NetGrant } from "../../../policy/grant/net-grant.ts";
import type { Isolation } from "../../../tool/isolation.ts";

/** The limits of a program that runs until it ends by itself. `netBytes` is 256 MiB unless it is set. */
export type LongRunningLimits = Pick<
  ResourceLimits,
  "memoryBytes" | "processes" | "processMemoryBytes" | "cpuMs" | "netBytes"
>;

/** A program that is started confined and stays: see `Sandboxes.startConfinedProgram`. */
export interface ConfinedProgramOptions {
  /** A path in the sandbox, or a name that is looked up in `/usr/bin` and `/bin`. */
  readonly command: string;
  /** Default: none. */
  readonly args?: readonly string[];
  /** All its variables besides `PATH`, `HOME` and `LANG`. Nothing of this process's environment is passed on. */
  readonly env?: Readonly<Record<string, string>>;
  /** Relative to the first granted directory, and inside it. Default: that directory; `/tmp` if there is none. */
  readonly cwd?: string;
  /** Directories and files that it sees besides the system's. Default: none. */
  readonly fs?: readonly FsGrant[];
  /**
   * Origins that it can reach, by a proxy, which needs namespaces; other requests are reported to `warn`. Default: it has no network,
   * and what it tries to reach is not reported.
   */
  readonly net?: readonly NetGrant[];
  /** Default: none but `netBytes`. */
  readonly limits?: LongRunningLimits;
  /** Whether it gets a socket as its descriptor 3, whose other end is {@link ConfinedProgram.channel}. Default: false. */
  readonly channel?: boolean;
  /** Gets texts for operators, such as a request that was refused. Default: they are dropped. */
  readonly warn?: (text: string) => void;
}

/** How a program that stays ended. */
export interface LongRunningEnd {
  /**
   * Its exit code, or 128 and the number of the signal that ended it, also before it began; `undefined` if its processes could
   * not be ended.
   */
  readonly code: number | undefined;
  /** Whether the program itself began. If it did not, `problem` says why. */
  readonly hasBegun: boolean;
  /** Why it did not begin, or was ended without a request to do so. For operators. */
  readonly problem?: string;
  /** Whether all its processes have certainly ended. */
  readonly ended: "confirmed" | "told";
}

/**
 * A program that runs until it ends, is stopped, or this process ends. What it writes is hostile, and waits in its pipes
 * until it is read. Read or resume all its outputs: it has ended only when they have.
 */
export interface LongRunningProgram extends AsyncDisposable {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Absent unless it was asked for. */
  readonly channel?: Duplex;
  /**
   * Resolves to the number, on this machine, of a process with which all others of the program end; to `undefined` if it
   * could not be started.
   */
  readonly pid: Promise<number | undefined>;
  /** Resolves when the program has exited, although its outputs may not have been read to their ends. Never rejects. */
  readonly exited: Promise<void>;
  /** Resolves when all its processes have ended, or could not be ended. Never rejects. */
  readonly ended: Promise<LongRunningEnd>;
  /**
   * Ends it: with SIGTERM to its process group, and after a time SIGKILL to all its processes. Can be repeated.
   *
   * @param graceMs Milliseconds between the two. Default: 5,000; 0: it is killed at once.
   */
  stop(graceMs?: number): Promise<LongRunningEnd>;
}

/** A program that runs confined: the kernel ends all its processes with it. */
export interface ConfinedProgram extends LongRunningProgram {
  readonly isolation: Isolation;
}
