/** One way to do the work that a question compares. It is opened and measured in a separate process. */
export interface Case {
  /** Describes what is timed. Unique within the question. */
  readonly name: string;
  /** The number of calls that one run makes. Measurements are divided by it. Default: 1. */
  readonly calls?: number;
  /** The name of the case that is its floor. Default: the question's first case. */
  readonly floor?: string;
  /** Whether to pin its process to one core. The case is skipped if `taskset` is not available. Default: `false`. */
  readonly isPinned?: boolean;
  /** Whether it measures another library, which only `--peers` installs. Default: `false`. */
  readonly isPeer?: boolean;
  /** The case's position on the question's scale. */
  readonly at?: number;
  /**
   * Prepares what {@link OpenCase.run} needs. Not timed.
   *
   * @throws {NotHereError} if something optional is not available on this machine.
   */
  open(): OpenCase | Promise<OpenCase>;
}

/** A case that is ready to run. Its results are checked while it is timed. */
export interface OpenCase {
  /** Does the work once. This is what is timed. */
  run(): unknown;
  /** Throws if the result is wrong. */
  check(answer: unknown): void;
  /** Called before each run. Not timed. */
  before?(): unknown;
  /** Starts background work for a round. Not timed. Returns a function that ends it. */
  beside?(): Promise<() => unknown>;
  /** Returns other measurements since the last call, by name and unit, such as `KiB per call`. */
  observed?(): Readonly<Record<string, number>>;
  close?(): unknown;
}

/** A comparison of costs. The first case is the floor: the same work with the underlying library alone. */
export interface Question {
  readonly name: string;
  readonly cases: readonly Case[];
  /** The unit of {@link Case.at}, such as `calls in flight`, if the cases have a scale. */
  readonly scale?: string;
}

/** Something optional is not available on this machine. The case is skipped, and the message gives the reason. */
export class NotHereError extends Error {
  override readonly name = "NotHereError";
}
