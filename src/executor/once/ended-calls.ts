/** A call that has ended. */
export interface EndedCall<Self> {
  readonly name: string;
  answer: string | undefined;
  endedAt: number;
  /** The call that ended next. */
  next: Self | undefined;
}

/** The remembered calls of one caller that have ended, in the order in which they ended. */
export class EndedCalls<Call extends EndedCall<Call>> {
  #oldest: Call | undefined;
  #newest: Call | undefined;
  /** The oldest call whose answer may still be retained. */
  #oldestAnswered: Call | undefined;
  #size = 0;
  #bytes = 0;

  /** The number of calls. */
  get size(): number {
    return this.#size;
  }

  /** An upper bound of the bytes of the kept answers. */
  get bytes(): number {
    return this.#bytes;
  }

  get oldest(): Call | undefined {
    return this.#oldest;
  }

  add(call: Call): void {
    if (call.answer !== undefined) this.#bytes += bytesOf(call.answer);
    if (this.#newest === undefined) this.#oldest = call;
    else this.#newest.next = call;
    this.#newest = call;
    this.#oldestAnswered ??= call;
    this.#size++;
  }

  /** Removes and returns the oldest call. */
  takeOldest(): Call | undefined {
    const oldest = this.#oldest;
    if (oldest === undefined) return undefined;
    if (oldest === this.#oldestAnswered) this.forgetOldestAnswer();
    this.#oldest = oldest.next;
    if (oldest === this.#newest) this.#newest = undefined;
    this.#size--;
    return oldest;
  }

  /** Forgets the oldest answer, but not that its call ran. */
  forgetOldestAnswer(): void {
    const call = this.#oldestAnswered;
    if (call === undefined) return;
    if (call.answer !== undefined) this.#bytes -= bytesOf(call.answer);
    call.answer = undefined;
    this.#oldestAnswered = call.next;
  }
}

/** Returns the maximum bytes that a string takes up. */
function bytesOf(text: string): number {
  return text.length * 2;
}
