/**
 * A tool that is a program: it runs in a process of its own that the kernel confines (Linux only). The program gets the
 * granted directories and environment variables, and nothing else of the machine but its system directories, read-only.
 */
export interface ProcessImplementation {
  /** The program: an absolute path, or a name that is looked up in `/usr/bin` and `/bin`. */
  readonly command: string;
  /** Its arguments. Default: none. */
  readonly args?: readonly string[];
  /** What the program reads from its standard input: the arguments of the call as JSON, or nothing. Default: `"json"`. */
  readonly input?: "json" | "none";
  /** What its standard output is: JSON, or text, which becomes a string. Default: `"json"`. */
  readonly output?: "json" | "text";
  /**
   * Milliseconds between SIGTERM, which the program's process group gets when the call is cancelled or at its deadline, and
   * SIGKILL, which ends all its processes. At most 60,000. Default: 5,000.
   */
  readonly killGraceMs?: number;
  /**
   * Whether the execution has `changes`: the granted directories with `write` are looked at before and after the call, at
   * most 50,000 files for at most 2 seconds each time. What other programs change meanwhile counts, too. Default: `false`.
   */
  readonly reportsChanges?: boolean;
}
