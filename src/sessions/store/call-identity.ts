import { CanonicalJson } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import type { Principal } from "../../policy/principal.ts";

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

/** Where a call was made. */
interface CallingMessage {
  readonly session: { readonly id: string; readonly principal: Principal | undefined };
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
