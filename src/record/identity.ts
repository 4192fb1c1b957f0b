import { CanonicalJson } from "../json/canonical.ts";
import type { JsonValue } from "../json/value.ts";

/** Identifies a call. Providers count the ids of calls anew in each message, so that `callId` alone does not. */
export interface CallIdentity {
  /** The id of the principal; absent if the session has none. */
  readonly principal?: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly messageId: string;
  readonly callId: string;
  /** Identifies the name of the tool and the arguments, as the model sent them. */
  readonly digest: string;
}

/** Where a message is. */
export type MessageAddress = Pick<CallIdentity, "sessionId" | "turnId" | "messageId">;

/** Where a call is. */
export type CallAddress = MessageAddress & Pick<CallIdentity, "callId">;

/** Where a call was made. */
interface CallingMessage {
  readonly session: { readonly id: string; readonly principal: { readonly id: string } | undefined };
  readonly turnId: string;
  readonly messageId: string;
}

/** Returns the identity of a call under which a store knows it. */
export function identityOf(
  { session, turnId, messageId }: CallingMessage,
  {
    id: callId,
    name,
    arguments: args,
  }: { readonly id: string; readonly name: string; readonly arguments: JsonValue },
): CallIdentity {
  return new LazyIdentity(session, turnId, messageId, callId, new CanonicalJson({ name, arguments: args }));
}

/** Computes the digest when it is first read: a store in memory needs it only for a call that is sent again. */
class LazyIdentity implements CallIdentity {
  declare readonly principal?: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly messageId: string;
  readonly callId: string;
  readonly #canonical: CanonicalJson;

  constructor(
    { id, principal }: CallingMessage["session"],
    turnId: string,
    messageId: string,
    callId: string,
    canonical: CanonicalJson,
  ) {
    if (principal !== undefined) this.principal = principal.id;
    this.sessionId = id;
    this.turnId = turnId;
    this.messageId = messageId;
    this.callId = callId;
    this.#canonical = canonical;
  }

  get digest(): string {
    return this.#canonical.digest;
  }
}

/** Returns a text that no other message has. */
export function messageKey({ sessionId, turnId, messageId }: MessageAddress): string {
  return JSON.stringify([sessionId, turnId, messageId]);
}

/** Returns a text that no other call has. */
export function callKey({ sessionId, turnId, messageId, callId }: CallAddress): string {
  return JSON.stringify([sessionId, turnId, messageId, callId]);
}

/** What the claim of a call answers. */
export type ClaimAnswer<Begun = object, Ended = object> =
  /** The caller, and nobody else, runs the call. */
  | { readonly state: "fresh" }
  /** The call was claimed before, and has not ended. It must not be run again. */
  | ({ readonly state: "begun" } & Begun)
  | ({ readonly state: "ended" } & Ended)
  /** Another call was named before in the same way. */
  | { readonly state: "conflict" };

export type ClaimState = ClaimAnswer["state"];

/** How far a call has come that was named before. Default: it was only named. */
export interface CallProgress {
  readonly isClaimed?: boolean;
  readonly isEnded?: boolean;
}

/**
 * Returns what a claim answers. This is the rule of whoever stores calls; what it stores in which way is its own.
 *
 * @param named The call that was first named in this way; `undefined` if none was.
 * @param call The call that is claimed.
 */
export function claimState(
  named: Pick<CallIdentity, "digest"> | undefined,
  call: Pick<CallIdentity, "digest">,
  { isClaimed, isEnded }: CallProgress,
): ClaimState {
  if (named === undefined) return "fresh";
  // Mostly the same one, whose digest then need not be computed.
  if (named !== call && named.digest !== call.digest) return "conflict";
  if (isEnded === true) return "ended";
  return isClaimed === true ? "begun" : "fresh";
}

/**
 * Checks that a claimed call is to be run now.
 *
 * @param mayRepeat Whether it may also run if it was begun before. Default: `false`.
 * @throws {Error} if it must not run.
 */
export function requireClaimed(state: ClaimState, mayRepeat = false): undefined {
  if (state === "fresh" || (mayRepeat && state === "begun")) return;
  throw new Error(`the call cannot begin: it is in the state '${state}'`);
}
