const CLEAR_LINE = "\r\u001b[K";
/** Seconds between two lines where there is no terminal. */
const LINE_INTERVAL_S = 30;

/** A stream for a person to watch. */
type Watched = Pick<NodeJS.WriteStream, "write"> & { readonly isTTY?: boolean };

/**
 * Says which of several steps is being done, and how long the others are likely to take: in one line that is replaced on a
 * terminal, and elsewhere in a line every 30 seconds.
 */
export class Progress implements Disposable {
  readonly #stream: Watched;
  readonly #steps: number;
  readonly #now: () => number;
  readonly #startedAt: number;
  #begun = 0;
  #toldAt: number;

  /** @param now The time in milliseconds. Default: that of `performance`. */
  constructor(stream: Watched, steps: number, now: () => number = () => performance.now()) {
    this.#stream = stream;
    this.#steps = steps;
    this.#now = now;
    this.#startedAt = now();
    this.#toldAt = this.#startedAt;
  }

  /** Begins the next step. */
  begin(name: string): void {
    const done = this.#begun++;
    const now = this.#now();
    const left =
      done === 0 ? "" : `, about ${duration(((now - this.#startedAt) / done) * (this.#steps - done))} left`;
    const text = `${this.#begun} of ${this.#steps}: ${name}${left}`;
    if (this.#stream.isTTY) this.#stream.write(`${CLEAR_LINE}${text}`);
    else if (now - this.#toldAt >= LINE_INTERVAL_S * 1_000) {
      this.#toldAt = now;
      this.#stream.write(`(${text})\n`);
    }
  }

  /** Removes the line from a terminal, so that something else can be printed. */
  clear(): void {
    if (this.#stream.isTTY) this.#stream.write(CLEAR_LINE);
  }

  [Symbol.dispose](): void {
    this.clear();
  }
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  return seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}
