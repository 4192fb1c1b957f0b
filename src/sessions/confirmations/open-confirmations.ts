import type { MaybePromise } from "../../base/promises.ts";
import type { JsonValue } from "../../json/value.ts";
import { type CallKey, type Confirmation, isBelow, type Resolution } from "./confirmation.ts";

/**
 * Checks arguments that a person wrote in place of those that were shown.
 *
 * @returns why they cannot be used, as a text for the person; `undefined` if they can.
 */
export type CheckArguments = (edited: JsonValue) => MaybePromise<string | undefined>;

/** How the caller waits for an answer. */
export interface AskOptions {
  /** Milliseconds for which an answer is waited for, if fewer than for all confirmations. Default: as long. */
  readonly timeoutMs?: number;
  /** Whether to wait if too many confirmations are open, since the time of the caller stands still. Default: `false`. */
  readonly awaitsRoom?: boolean;
  /** Cancels the confirmation. Default: it is not cancelled. */
  readonly signal?: AbortSignal;
  /**
   * Called when the signal is aborted: whether the confirmation stays open nevertheless, so that it is open again after a
   * restart. Default: it does not.
   */
  readonly staysOpen?: () => boolean;
  /** Default: answers with other arguments are not accepted. */
  readonly checkArguments?: CheckArguments;
  /** Called with the confirmation before it is waited for, also with one of an earlier process. Default: not called. */
  readonly onAsked?: (confirmation: Confirmation) => void;
}

/** A confirmation that waits for an answer. One of an earlier process waits without a caller until its call is dispatched. */
export class OpenConfirmation {
  readonly confirmation: Confirmation;
  /** How the confirmation ended, as soon as it has. */
  resolution: Resolution | undefined;
  checkArguments: CheckArguments | undefined;
  #resolve: ((resolution: Resolution) => void) | undefined;
  #stopListening: (() => void) | undefined;

  constructor(confirmation: Confirmation, resolution?: Resolution) {
    this.confirmation = confirmation;
    this.resolution = resolution;
  }

  /**
   * Resolves when the confirmation has ended.
   *
   * @param cancel Called if the signal is aborted first.
   */
  wait({ signal, staysOpen, checkArguments }: AskOptions, cancel: () => void): Promise<Resolution> {
    if (this.resolution !== undefined) return Promise.resolve(this.resolution);
    this.checkArguments = checkArguments;
    return new Promise((resolve) => {
      this.#resolve = resolve;
      if (signal === undefined) return;
      const onAbort = (): void => {
        if (staysOpen?.() !== true) cancel();
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#stopListening = () => signal.removeEventListener("abort", onAbort);
      if (signal.aborted) onAbort();
    });
  }

  /** Ends the confirmation. Returns `false` if it had ended before. */
  settle(resolution: Resolution): boolean {
    if (this.resolution !== undefined) return false;
    this.resolution = resolution;
    this.#stopListening?.();
    this.#resolve?.(resolution);
    return true;
  }
}

const NONE: readonly never[] = Object.freeze([]);

/** Confirmations of an earlier process whose calls have not been dispatched again, by their calls. */
export class RestoredConfirmations<Entry extends { readonly confirmation: Confirmation }> {
  readonly #byCall = new Map<string, Entry[]>();

  add(entry: Entry): void {
    const key = keyOf(entry.confirmation);
    const known = this.#byCall.get(key);
    if (known === undefined) this.#byCall.set(key, [entry]);
    else known.push(entry);
  }

  /** Returns the confirmations of a call, which stay. */
  of(call: CallKey): readonly Entry[] {
    return this.#byCall.size === 0 ? NONE : (this.#byCall.get(keyOf(call)) ?? NONE);
  }

  /** Removes and returns the confirmations of a call. */
  take(call: CallKey): readonly Entry[] {
    if (this.#byCall.size === 0) return [];
    const key = keyOf(call);
    const entries = this.#byCall.get(key) ?? [];
    this.#byCall.delete(key);
    return entries;
  }

  /** Removes and returns the confirmations of the calls that the tool of a call made, directly or not. */
  takeBelow(call: CallKey): readonly Entry[] {
    const taken = [...this.#byCall.values()].flat().filter(({ confirmation }) => isBelow(confirmation, call));
    for (const { confirmation } of taken) this.#byCall.delete(keyOf(confirmation));
    return taken;
  }
}

function keyOf({ sessionId, turnId, messageId = "", callId }: CallKey): string {
  return JSON.stringify([sessionId, turnId, messageId, callId]);
}

/** How many confirmations can be open. */
export interface ConfirmationBounds {
  /** For each principal; sessions without one share a count. Default: 32. */
  readonly perPrincipal: number;
  /** Default: 1,000. */
  readonly total: number;
}

interface SlotWaiter {
  readonly principal: string | undefined;
  readonly go: (hasRoom: boolean) => void;
}

/** Counts open confirmations. */
export class ConfirmationCounts {
  readonly #bounds: ConfirmationBounds;
  readonly #byPrincipal = new Map<string | undefined, number>();
  #total = 0;
  /** Those who wait for room, in the order in which they came. */
  readonly #waiting = new Set<SlotWaiter>();

  constructor(bounds: ConfirmationBounds) {
    this.#bounds = bounds;
  }

  /** Whether another confirmation of a principal can be open. */
  hasRoom(principal: string | undefined): boolean {
    const { perPrincipal, total } = this.#bounds;
    return this.#total < total && (this.#byPrincipal.get(principal) ?? 0) < perPrincipal;
  }

  add(principal: string | undefined): void {
    this.#total++;
    this.#byPrincipal.set(principal, (this.#byPrincipal.get(principal) ?? 0) + 1);
  }

  delete(principal: string | undefined): void {
    this.#total--;
    const left = (this.#byPrincipal.get(principal) ?? 0) - 1;
    if (left > 0) this.#byPrincipal.set(principal, left);
    else this.#byPrincipal.delete(principal);
    for (const waiting of this.#waiting) {
      if (!this.hasRoom(waiting.principal)) continue;
      this.#waiting.delete(waiting);
      // What it opens counts from now on, so that no other one gets its room.
      this.add(waiting.principal);
      waiting.go(true);
      return;
    }
  }

  /**
   * Takes room for a confirmation of a principal as soon as there is some. Returns `false` if the signal was aborted first.
   */
  awaitRoom(principal: string | undefined, signal: AbortSignal | undefined): Promise<boolean> {
    if (signal?.aborted) return Promise.resolve(false);
    if (this.hasRoom(principal)) {
      this.add(principal);
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const leave = (): void => {
        this.#waiting.delete(waiting);
        resolve(false);
      };
      const go = (hasRoom: boolean): void => {
        signal?.removeEventListener("abort", leave);
        resolve(hasRoom);
      };
      const waiting: SlotWaiter = { principal, go };
      this.#waiting.add(waiting);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }
}
