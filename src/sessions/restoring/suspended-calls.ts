import type { CallPlace, CallSuspensions } from "../../engine/call/suspension.ts";
import type { Inquiry } from "../confirmations/inquiry.ts";

/** The calls of earlier processes that were suspended while they waited. */
export class SuspendedCalls {
  readonly #places: ReadonlySet<string>;

  /** @param suspensions `undefined` if calls end with their process. */
  static async read(suspensions: CallSuspensions | undefined): Promise<SuspendedCalls> {
    return new SuspendedCalls((await suspensions?.waiting()) ?? []);
  }

  constructor(places: readonly CallPlace[]) {
    this.#places = new Set(places.map(keyOf));
  }

  has(place: CallPlace): boolean {
    return this.#places.has(keyOf(place));
  }

  /** Whether it is one of these calls, or was made below one of them. */
  hasAbove(place: CallPlace): boolean {
    const { callId } = place;
    for (let end = callId.length; end > 0; end = callId.lastIndexOf("/", end - 1)) {
      if (this.has({ ...place, callId: callId.slice(0, end) })) return true;
    }
    return false;
  }

  /** Whether the call that an inquiry is about was made by the tool of a suspended call, which asks again. */
  hasCallerOf({ sessionId, turnId, messageId = "", parent: callId }: Inquiry): boolean {
    return callId !== undefined && this.has({ sessionId, turnId, messageId, callId });
  }
}

function keyOf({ sessionId, turnId, messageId, callId }: CallPlace): string {
  return JSON.stringify([sessionId, turnId, messageId, callId]);
}
