import type { ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { FsGrant } from "../../policy/grant/fs-grant.ts";
import type { ResourceLimits } from "../../policy/grant/limits.ts";
import type { ProcessImplementation } from "../../tool/implementations/process-implementation.ts";
import type { Isolation } from "../../tool/isolation.ts";
import type { SnapshotPlace } from "../../workspace/directory-snapshot.ts";
import type { Cgroup } from "./cgroups/cgroups.ts";

/** A way to launch programs that the kernel confines. */
export interface Launcher<Files extends GrantedFiles = GrantedFiles> extends Disposable {
  readonly isolation: Isolation;
  /** How many processes of its own it has for each program. They are in the program's cgroup. */
  readonly ownProcesses: number;
  /**
   * Opens the granted directories and files of a call.
   *
   * @throws {DirectoryGrantError} if one of them cannot be shown.
   */
  openFiles(grants: readonly FsGrant[]): Files;
  /** @throws {Error} if the program cannot be launched. */
  launch(launch: Launch<Files>): Launched;
}

/** The granted directories and files of a call, opened. */
export interface GrantedFiles extends AsyncDisposable {
  readonly isWritable: boolean;
  /** The granted directories and files that can be changed. */
  readonly places: readonly SnapshotPlace[];
  /**
   * The protected places that have appeared, or that the program could change and may have changed, since they were
   * opened, as paths relative to the granted directory.
   */
  changedProtectedPlaces(): readonly string[];
}

/** What is launched. */
export interface Launch<Files extends GrantedFiles = GrantedFiles> {
  readonly program: Pick<ProcessImplementation, "command" | "args">;
  readonly files: Files;
  readonly env: Readonly<Record<string, string>>;
  readonly limits: ResourceLimits;
  /** Holds the limits on all processes together. Default: none. */
  readonly cgroup?: Cgroup | undefined;
}

/** A program that was launched, with the process that waits for it. */
export interface Launched {
  /** Exits with the program's code; with 128 and the number of the signal that ended it. */
  readonly child: ChildProcess;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Gets a byte immediately before the program begins. */
  readonly started: Readable;
  /** Whether all processes of the program have certainly ended. Known only after `child` has exited. */
  readonly hasEnded: boolean;
  /** Asks the program's process group to end, with SIGTERM. */
  terminate(): void;
  /** Kills all processes of the program. Can be repeated. */
  kill(): void;
}
