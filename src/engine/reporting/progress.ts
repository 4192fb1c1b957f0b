import { performance } from "node:perf_hooks";

/** A part of the time that a call takes before its sandbox runs. */
export type ProgressPhase = "gate" | "parse" | "decide" | "place" | "wait" | "hook" | "record" | "sandbox";

/**
 * How far a call has come, for a listener that draws it. Also distinguishes calls with the same id. It exists only after
 * `keepProgress` was called on the context's `EventStream`.
 */
export class CallProgress {
  /** When the call arrived, in milliseconds since the epoch. */
  readonly startedAt: number = Date.now();
  readonly #from = performance.now();
  readonly #begun: { readonly phase: ProgressPhase; readonly at: number }[] = [];

  /** A phase begins, unless it lasts already. The one before it ends. */
  begin(phase: ProgressPhase): void {
    if (this.#begun.at(-1)?.phase === phase) return;
    this.#begun.push({ phase, at: this.startedAt + performance.now() - this.#from });
  }

  /** The phases, with the times at which they began, in milliseconds since the epoch. A phase can come twice. */
  get begun(): readonly { readonly phase: ProgressPhase; readonly at: number }[] {
    return this.#begun;
  }
}

/** A member of events and requests that JSON does not have. A `WeakMap` would take longer than everything else here. */
const PROGRESS: unique symbol = Symbol("progress");

interface Linked {
  [PROGRESS]?: CallProgress;
}

/** Attaches the progress of a call to something that belongs to the call: an event, or the request to a policy. */
export function linkProgress<Linking extends object>(to: Linking, progress: CallProgress): Linking {
  (to as Linked)[PROGRESS] = progress;
  return to;
}

/** Returns the progress of the call that an event or a request belongs to. Copies of them have it, too. */
export function progressOf(of: object): CallProgress | undefined {
  return (of as Linked)[PROGRESS];
}
