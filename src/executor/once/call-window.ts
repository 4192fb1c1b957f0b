import { hash } from "node:crypto";
import { canonicalText } from "../../json/canonical.ts";
import { type CallIdentity, type ClaimAnswer, claimState } from "../../record/identity.ts";
import type { DispatchRequest } from "../../remote-protocol/shapes.ts";
import type { CallWindowBounds } from "../limits.ts";

/** A call that has ended. */
interface EndedCall<Self> {
  readonly name: string;
  answer: string | undefined;
  endedAt: number;
  /** The call that ended next. */
  next: Self | undefined;
}

/** The remembered calls of one caller that have ended, in the order in which they ended. */
class EndedCalls<Call extends EndedCall<Call>> {
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

  /** An upper bound of the bytes of the remembered answers. */
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

const MAX_UNDIGESTED_LENGTH = 128;

/** Identifies a call: requests with equal members are the same call. */
export interface RequestIdentity extends Pick<CallIdentity, "digest"> {
  readonly caller: string;
  /** The caller, its session and the call's id. */
  readonly name: string;
}

/** @param caller The name of the caller. Different callers can use the same ids for different calls. */
export function identityOf({ call, session }: DispatchRequest, caller: string): RequestIdentity {
  // The lengths keep the concatenation unambiguous.
  const name = `${caller.length} ${session.length} ${caller}${session}${call.id}`;
  const text = JSON.stringify(call.name) + canonicalText(call.arguments);
  // A short text is its own digest.
  return { caller, name, digest: text.length <= MAX_UNDIGESTED_LENGTH ? text : hash("sha256", text) };
}

/** The state of a call: of one that has ended, the answer may no longer be retained. */
export type KnownCall<Running> = ClaimAnswer<
  { readonly call: Running },
  { readonly answer: string | undefined }
>;

/** A call. */
interface Entry<Running> extends EndedCall<Entry<Running>> {
  readonly caller: string;
  readonly digest: string;
  /** Set while the call runs. */
  call: Running | undefined;
}

/**
 * Remembers calls by name to prevent them from running twice. Beyond its bounds, the caller with the most remembered
 * calls, or bytes, loses its oldest ones first, so callers cannot make it forget the calls of others.
 */
export class CallWindow<Running> {
  readonly #bounds: CallWindowBounds;
  readonly #entries = new Map<string, Entry<Running>>();
  /** No list is empty. */
  readonly #ended = new Map<string, EndedCalls<Entry<Running>>>();
  #running = 0;
  #bytes = 0;
  #forgotAt = 0;
  #forgottenUntil = Number.NEGATIVE_INFINITY;

  constructor(bounds: CallWindowBounds) {
    this.#bounds = bounds;
  }

  /** The number of remembered calls that have ended. */
  get size(): number {
    return this.#entries.size - this.#running;
  }

  /** An upper bound of the bytes of the remembered answers. */
  get bytes(): number {
    return this.#bytes;
  }

  /** When the latest of the forgotten calls that ran has ended; `-Infinity` if none was forgotten. */
  get forgottenUntil(): number {
    return this.#forgottenUntil;
  }

  /** The number of running calls. */
  get runningSize(): number {
    return this.#running;
  }

  /** The running calls. This is slow, since it iterates over all remembered calls. */
  get running(): readonly Running[] {
    return Array.from(this.#entries.values()).flatMap(({ call }) => call ?? []);
  }

  /** Returns the state of a call. One that is `fresh` is not claimed before {@link begin}. */
  find(
    { name, digest }: Pick<RequestIdentity, "name" | "digest">,
    now: number = performance.now(),
  ): KnownCall<Running> {
    this.#forget(now);
    const entry = this.#entries.get(name);
    const call = entry?.call;
    const isEnded = call === undefined;
    const state = claimState(entry, { digest }, { isClaimed: true, isEnded });
    if (state === "ended") return { state, answer: entry?.answer };
    return state === "begun" ? { state, call: call as Running } : { state };
  }

  /** Claims a fresh call. */
  begin({ caller, name, digest }: RequestIdentity, call: Running): void {
    const ends = { answer: undefined, endedAt: 0, next: undefined };
    this.#entries.set(name, { caller, name, digest, call, ...ends });
    this.#running++;
  }

  /** Removes a call that did not run. */
  cancel(name: string): void {
    if (this.#entries.get(name)?.call === undefined) return;
    this.#entries.delete(name);
    this.#running--;
  }

  /** Marks a call as ended, with its answer. */
  end(name: string, answer?: string, now: number = performance.now()): void {
    const entry = this.#entries.get(name);
    if (entry?.call === undefined) return;
    this.#running--;
    entry.call = undefined;
    entry.answer = answer;
    entry.endedAt = now;
    let ended = this.#ended.get(entry.caller);
    if (ended === undefined) {
      ended = new EndedCalls();
      this.#ended.set(entry.caller, ended);
    }
    this.#counting(ended, () => ended.add(entry));
    this.#forget(now);
  }

  #forget(now: number): void {
    const { calls, bytes, ageMs } = this.#bounds;
    // It is enough to check the age once per second.
    if (now - this.#forgotAt >= 1_000) {
      this.#forgotAt = now;
      for (const [caller, ended] of this.#ended) {
        while (ended.oldest !== undefined && now - ended.oldest.endedAt >= ageMs)
          this.#forgetOldest(caller, ended);
      }
    }
    while (this.size > calls) this.#forgetOldest(...this.#largest(({ size }) => size));
    while (this.#bytes > bytes) {
      const [, ended] = this.#largest((one) => one.bytes);
      this.#counting(ended, () => ended.forgetOldestAnswer());
    }
  }

  /** Returns the caller for which a figure is the largest. There must be one. */
  #largest(
    figure: (ended: EndedCalls<Entry<Running>>) => number,
  ): [caller: string, ended: EndedCalls<Entry<Running>>] {
    return [...this.#ended].reduce((a, b) => (figure(b[1]) > figure(a[1]) ? b : a));
  }

  #forgetOldest(caller: string, ended: EndedCalls<Entry<Running>>): void {
    this.#counting(ended, () => {
      const oldest = ended.takeOldest();
      if (oldest === undefined) return;
      this.#entries.delete(oldest.name);
      this.#forgottenUntil = Math.max(this.#forgottenUntil, oldest.endedAt);
    });
    if (ended.size === 0) this.#ended.delete(caller);
  }

  /** Makes a change, and updates the sum of the bytes. */
  #counting(ended: EndedCalls<Entry<Running>>, change: () => void): void {
    const before = ended.bytes;
    change();
    this.#bytes += ended.bytes - before;
  }
}

/** Returns the maximum bytes that a string takes up. */
function bytesOf(text: string): number {
  return text.length * 2;
}
