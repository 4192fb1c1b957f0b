/** The options of the Node.js processes that launch programs. They have no variables, such as `NODE_OPTIONS`. */
export const NODE_OPTIONS: readonly string[] = ["--disable-warning=ExperimentalWarning", "--disable-sigusr1"];

/** What a program may do with a path and everything below it. */
export type PathAccess = "read" | "write" | "device";

/** A path that a program may use. */
export interface GrantedPath {
  readonly path: string;
  readonly access: PathAccess;
  /**
   * `device:inode` of the granted entry: another one at its path is refused. Default: any entry is accepted,
   * also through links.
   */
  readonly identity?: string;
}

/** What the launcher process does, as JSON. */
export interface LaunchPlan {
  readonly command: string;
  readonly args: readonly string[];
  /** As `NAME=value`. */
  readonly env: readonly string[];
  /** The path where the program starts, one of the paths. */
  readonly directory: string;
  /** The working directory relative to that. Nothing outside it is accepted. Default: that itself. */
  readonly cwd?: string | undefined;
  readonly paths: readonly GrantedPath[];
  /** Resource numbers of `setrlimit(2)`, with soft and hard limits. */
  readonly limits: readonly (readonly [resource: number, soft: number, hard: number])[];
  /**
   * RLIMIT_AS of the program. The supervisor sets it when the program has been executed: V8 needs more address space, and
   * would abort in the launcher process when a thread of it allocates. Default: no limit.
   */
  readonly addressSpaceBytes?: number | undefined;
  /** `cgroup.procs` of the cgroups that the program is in. The launcher's own memory must not count. */
  readonly cgroups: readonly string[];
  /** Whether descriptor 5 of the launcher process becomes descriptor 3 of the program. */
  readonly hasChannel: boolean;
  /** Whether descriptor 0 is the program's standard input. Otherwise, that is `/dev/null`. */
  readonly hasInput: boolean;
  /** The seccomp filter, in base64. */
  readonly filter: string;
}
