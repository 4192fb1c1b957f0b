import { hash } from "node:crypto";
import { canonicalText } from "../../json/canonical.ts";
import type { DispatchRequest } from "../../remote-protocol/messages.ts";
import type { CallWindowBounds } from "../load/limits.ts";

const MAX_UNDIGESTED_LENGTH = 128;

/** Identifies a call: requests with equal members are the same call. */
export interface CallIdentity {
  /** The caller, its session and the call's id. */
  readonly name: string;
  /** Identifies the tool's name and the arguments. */
  readonly digest: string;
}

/** @param caller The name of the caller. Different callers can use the same ids for different calls. */
export function identityOf({ call, session }: DispatchRequest, caller: string): CallIdentity {
  // The lengths keep the concatenation unambiguous.
  const name = `${caller.length} ${session.length} ${caller}${session}${call.id}`;
  const text = JSON.stringify(call.name) + canonicalText(call.arguments);
  // A short text is its own digest.
  return { name, digest: text.length <= MAX_UNDIGESTED_LENGTH ? text : hash("sha256", text) };
}

/** The state of a remembered call. */
export type KnownCall<Running> =
  | { readonly state: "running"; readonly call: Running }
  | { readonly state: "answered"; readonly answer: string }
  /** The call ran, and its answer is no longer kept. */
  | { readonly state: "forgotten" }
  /** The remembered call has the same name, but another digest. */
  | { readonly state: "conflict" };

/** A call. Ended calls form a linked list in the order in which they ended. */
interface Entry<Running> {
  readonly name: string;
  readonly digest: string;
  /** Set while the call runs. */
  call: Running | undefined;
  answer: string | undefined;
  endedAt: number;
  next: Entry<Running> | undefined;
}

/**
 * Remembers calls by name to prevent them from running twice. Beyond its bounds, it forgets the oldest first.
 */
export class CallWindow<Running> {
  readonly #bounds: CallWindowBounds;
  readonly #entries = new Map<string, Entry<Running>>();
  #running = 0;
  #oldest: Entry<Running> | undefined;
  #newest: Entry<Running> | undefined;
  /** The oldest ended call whose answer may still be kept. */
  #oldestAnswered: Entry<Running> | undefined;
  #bytes = 0;
  #forgotAt = 0;

  constructor(bounds: CallWindowBounds) {
    this.#bounds = bounds;
  }

  /** The number of remembered calls that have ended. */
  get size(): number {
    return this.#entries.size - this.#running;
  }

  /** An upper bound of the bytes of the kept answers. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The number of running calls. */
  get runningSize(): number {
    return this.#running;
  }

  /** The running calls. This is slow, since it iterates over all remembered calls. */
  get running(): readonly Running[] {
    return Array.from(this.#entries.values()).flatMap(({ call }) => call ?? []);
  }

  /** Returns the state of a call; `undefined` if it is new. */
  find(name: string, digest: string, now: number = performance.now()): KnownCall<Running> | undefined {
    this.#forget(now);
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    if (entry.digest !== digest) return { state: "conflict" };
    const { call, answer } = entry;
    if (call !== undefined) return { state: "running", call };
    return answer === undefined ? { state: "forgotten" } : { state: "answered", answer };
  }

  /** Adds a new call. */
  begin(name: string, digest: string, call: Running): void {
    this.#entries.set(name, { name, digest, call, answer: undefined, endedAt: 0, next: undefined });
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
    if (answer !== undefined) this.#bytes += bytesOf(answer);
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.next = entry;
    this.#newest = entry;
    this.#oldestAnswered ??= entry;
    this.#forget(now);
  }

  #forget(now: number): void {
    // It is enough to check the age once per second.
    const isDue = now - this.#forgotAt >= 1_000;
    if (!isDue && this.size <= this.#bounds.calls && this.#bytes <= this.#bounds.bytes) return;
    this.#forgotAt = now;
    const { calls, bytes, ageMs } = this.#bounds;
    for (let entry = this.#oldest; entry !== undefined; entry = this.#oldest) {
      if (this.size <= calls && now - entry.endedAt < ageMs) break;
      this.#forgetOldest(entry);
    }
    for (let entry = this.#oldestAnswered; entry !== undefined; entry = this.#oldestAnswered) {
      if (this.#bytes <= bytes) break;
      this.#forgetAnswer(entry);
    }
  }

  #forgetOldest(oldest: Entry<Running>): void {
    if (oldest === this.#oldestAnswered) this.#forgetAnswer(oldest);
    this.#entries.delete(oldest.name);
    this.#oldest = oldest.next;
    if (oldest === this.#newest) this.#newest = undefined;
  }

  #forgetAnswer(oldest: Entry<Running>): void {
    if (oldest.answer !== undefined) this.#bytes -= bytesOf(oldest.answer);
    oldest.answer = undefined;
    this.#oldestAnswered = oldest.next;
  }
}

/** Returns the maximum bytes that a string takes up. */
function bytesOf(text: string): number {
  return text.length * 2;
}
