/** How much is remembered of calls that ended. */
export interface WindowBounds {
  /** The most calls. */
  readonly calls: number;
  /** The most bytes of their answers. */
  readonly bytes: number;
  /** How long, in ms. */
  readonly ageMs: number;
}

/** What is known of a call that was seen before. */
export type KnownCall<Running> =
  | { readonly state: "running"; readonly call: Running }
  | { readonly state: "answered"; readonly answer: string }
  /** It ran, and its answer is no longer kept. */
  | { readonly state: "forgotten" }
  /** It was another call of the same name. */
  | { readonly state: "conflict" };

/** Remembers calls by their names, so that none runs twice. What is beyond the bounds is forgotten, oldest first. */
export class CallWindow<Running> {
  readonly #bounds: WindowBounds;
  readonly #running = new Map<string, { readonly digest: string; readonly call: Running }>();
  /** In the order in which they ended, as are the answers. */
  readonly #ended = new Map<string, { readonly digest: string; readonly at: number }>();
  readonly #answers = new Map<string, string>();
  #bytes = 0;
  #forgotAt = 0;

  constructor(bounds: WindowBounds) {
    this.#bounds = bounds;
  }

  /** How many calls that ended are remembered. */
  get size(): number {
    return this.#ended.size;
  }

  /** At most so many bytes of answers are kept now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The calls that have no answer yet. */
  get running(): readonly Running[] {
    return Array.from(this.#running.values(), ({ call }) => call);
  }

  /** What is known of a call; `undefined` when it is new. */
  find(name: string, digest: string, now: number = performance.now()): KnownCall<Running> | undefined {
    this.#forget(now);
    const running = this.#running.get(name);
    if (running !== undefined) {
      return running.digest === digest ? { state: "running", call: running.call } : { state: "conflict" };
    }
    const ended = this.#ended.get(name);
    if (ended === undefined) return undefined;
    if (ended.digest !== digest) return { state: "conflict" };
    const answer = this.#answers.get(name);
    return answer === undefined ? { state: "forgotten" } : { state: "answered", answer };
  }

  /** Remembers a call that is new. */
  begin(name: string, digest: string, call: Running): void {
    this.#running.set(name, { digest, call });
  }

  /** Forgets a call that never ran. */
  cancel(name: string): void {
    this.#running.delete(name);
  }

  /** Remembers that a call ended, and with which answer. */
  end(name: string, answer?: string, now: number = performance.now()): void {
    const running = this.#running.get(name);
    if (running === undefined) return;
    this.#running.delete(name);
    this.#ended.set(name, { digest: running.digest, at: now });
    if (answer !== undefined) {
      this.#answers.set(name, answer);
      this.#bytes += bytesOf(answer);
    }
    this.#forget(now);
  }

  #forget(now: number): void {
    // Once a second is often enough for what is old.
    const isDue = now - this.#forgotAt >= 1_000;
    if (!isDue && this.#ended.size <= this.#bounds.calls && this.#bytes <= this.#bounds.bytes) return;
    this.#forgotAt = now;
    for (const [name, { at }] of this.#ended) {
      if (this.#ended.size <= this.#bounds.calls && now - at < this.#bounds.ageMs) break;
      this.#ended.delete(name);
      this.#forgetAnswer(name);
    }
    for (const name of this.#answers.keys()) {
      if (this.#bytes <= this.#bounds.bytes) break;
      this.#forgetAnswer(name);
    }
  }

  #forgetAnswer(name: string): void {
    const answer = this.#answers.get(name);
    if (answer === undefined) return;
    this.#answers.delete(name);
    this.#bytes -= bytesOf(answer);
  }
}

/** What a string takes at most. */
function bytesOf(text: string): number {
  return text.length * 2;
}
