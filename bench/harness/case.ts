/** One way to do what a question asks about. It is opened and measured in a process of its own. */
export interface Case {
  /** Says what is inside the timed region. Unique in its question. */
  readonly name: string;
  /** Calls that one run makes: what was measured is divided by it. Default: 1. */
  readonly calls?: number;
  /** The name of the case that it is divided by. Default: the question's first. */
  readonly floor?: string;
  /** Whether its process is kept on one core; it is left out where `taskset` is missing. Default: `false`. */
  readonly isPinned?: boolean;
  /** Whether it is somebody else's library, which only `--peers` installs. Default: `false`. */
  readonly isPeer?: boolean;
  /** Its place on the question's scale. */
  readonly at?: number;
  /**
   * Makes ready what {@link OpenCase.run} needs, outside of its time.
   *
   * @throws {NotHereError} when something is missing that this machine need not have.
   */
  open(): OpenCase | Promise<OpenCase>;
}

/** A case that can run. Its answers are checked while it is timed, so that a wrong one fails. */
export interface OpenCase {
  /** Does the work once: the timed region. */
  run(): unknown;
  /** Throws when the answer is wrong. */
  check(answer: unknown): void;
  /** What has to be done before each run, outside of its time. */
  before?(): unknown;
  /** What else was seen in the runs since the last look, by name and unit: `KiB per call`. */
  observed?(): Readonly<Record<string, number>>;
  close?(): unknown;
}

/** What one thing costs beside another. The first case is the floor: the same work by the bare library. */
export interface Question {
  readonly name: string;
  readonly cases: readonly Case[];
  /** What {@link Case.at} counts, if the cases stand on a scale: `calls in flight`. */
  readonly scale?: string;
}

/** Something is missing that the machine need not have; the case is left out, and the message says why. */
export class NotHereError extends Error {
  override readonly name = "NotHereError";
}
