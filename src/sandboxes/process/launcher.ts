import type { Duplex, Readable, Writable } from "node:stream";
import type { QueueOwner } from "../../base/fair-queue.ts";
import type { FsGrant } from "../../policy/grant/fs-grant.ts";
import type { ResourceLimits } from "../../policy/grant/limits.ts";
import type { Isolation } from "../../tool/sandbox-mode.ts";
import type { SnapshotPlace } from "../../workspace/directory-snapshot.ts";
import type { MadePlaces } from "../../workspace/protected-watch.ts";
import type { ProxyListener } from "./call-network.ts";
import type { Cgroup } from "./cgroups.ts";
import type { Program } from "./program.ts";

/** What is written immediately before the program begins, or if it does not since its working directory is wrong. */
export const STARTED = "s";

export const NO_DIRECTORY = "n";

export const OUTSIDE = "o";

/** A way to launch programs that the kernel confines. */
export interface Launcher<Files extends GrantedFiles = GrantedFiles> extends AsyncDisposable {
  readonly isolation: Isolation;
  /** How many processes of its own it has for each program. They are in the program's cgroup. */
  readonly ownProcesses: number;
  /**
   * Opens the granted directories and files of a call.
   *
   * @param owner Whose call it is.
   * @param use `lasting` for a program that stays: it is granted nothing in which one of Sandgate's own files
   *   could be replaced.
   * @throws {DirectoryGrantError} if one of them cannot be shown.
   */
  openFiles(grants: readonly FsGrant[], owner: QueueOwner, use: FileUse): Promise<Files>;
  /** @throws {Error} if the program cannot be launched. */
  launch(launch: Launch<Files>): Launched;
  /** Gets ready for the next call, which will have the same grants. Default: there is nothing to prepare. */
  prepare?(grants: readonly FsGrant[], owner: QueueOwner): void;
}

/** How long a program can use what it was granted: for a call or a session, or until it ends by itself. */
export type FileUse = "call" | "lasting";

/** The granted directories and files of a call, opened. */
export interface GrantedFiles extends AsyncDisposable {
  readonly isWritable: boolean;
  /** Two of these are the same if they show the same directories and files in the same places. */
  readonly identity: string;
  /** The granted directories and files that can be changed. */
  readonly places: readonly SnapshotPlace[];
  /**
   * Moves protected places aside that have appeared since they were opened, and could not be covered. Whatever runs then
   * does not find them.
   */
  moveAside(): Promise<MadePlaces>;
  /**
   * Calls a listener, at most once, when the program has to be ended: one of Sandgate's own files has
   * appeared or was replaced, which it could read or change. It gets the path as the program sees it.
   */
  onExposed(listener: (path: string) => void): void;
}

/** What is launched. */
export interface Launch<Files extends GrantedFiles = GrantedFiles> {
  readonly program: Program;
  readonly files: Files;
  readonly limits: ResourceLimits;
  /** Enforces the limits on all processes together. Default: there are none. */
  readonly cgroup?: Cgroup | undefined;
  /** Default: the program has no network. Only namespaces can give it one. */
  readonly listener?: ProxyListener | undefined;
  /**
   * Whether the program's standard input is {@link Launched.stdin}. Default: it is the program's text, and `/dev/null` if
   * that is empty.
   */
  readonly hasInput?: boolean | undefined;
  /** Whether the program gets a socket as descriptor 3: see {@link Launched.channel}. Default: false. */
  readonly hasChannel?: boolean | undefined;
}

/** A program that was launched, with the process that waits for it. */
export interface Launched {
  /** Absent if it was not asked for. */
  readonly stdin?: Writable | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** The other end of the program's descriptor 3. Absent if it was not asked for. */
  readonly channel?: Duplex | undefined;
  /**
   * Resolves to the id, on this machine, of the process whose end also ends all other processes of the
   * program; to `undefined` if it could not be started.
   */
  readonly pid: Promise<number | undefined>;
  /**
   * Resolves when the process that waits has exited, with the program's code or with 128 and the number of the signal that
   * ended it; -1 if that process was killed or could not be started.
   */
  readonly exited: Promise<number>;
  /** Resolves when it has exited, and everything that was written has been read. */
  readonly closed: Promise<void>;
  /**
   * The output of the start script: {@link STARTED}, or why the program did not begin, {@link NO_DIRECTORY}
   * or {@link OUTSIDE}.
   */
  readonly startOutput: string;
  /** Why the program could not be started, for the operator. */
  readonly problem?: string | undefined;
  /** Whether all processes of the program have certainly ended. Known only some time after `exited`. */
  readonly hasEnded: boolean;
  /**
   * Whether it tried to reach more than its own loopback interface, past a proxy if it has one. Known when it has exited;
   * absent if it cannot be known.
   */
  readonly hasTriedNetwork?: boolean | undefined;
  /** Asks the program's process group to end, with SIGTERM. */
  terminate(): void;
  /** Kills all processes of the program. Can be repeated. */
  kill(): void;
  /** Sets whether it keeps this process running. Default: it does. */
  keepAlive(keeps: boolean): void;
  /** Closes all streams to a program that could not be ended. */
  discard(): void;
}
