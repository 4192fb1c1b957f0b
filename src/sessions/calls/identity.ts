import { CanonicalJson } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import type { Principal } from "../../policy/principal.ts";
import type { CallIdentity } from "../store/call-identity.ts";

/** Where a call was made. */
interface CallPlace {
  readonly session: { readonly id: string; readonly principal: Principal | undefined };
  readonly turnId: string;
  readonly messageId: string;
}

/** Returns the identity of a call under which a store knows it. */
export function identityOf(
  { session, turnId, messageId }: CallPlace,
  {
    id: callId,
    name,
    arguments: args,
  }: { readonly id: string; readonly name: string; readonly arguments: JsonValue },
): CallIdentity {
  const { id: sessionId, principal } = session;
  const { digest } = new CanonicalJson({ name, arguments: args });
  return {
    ...(principal !== undefined && { principal: principal.id }),
    ...{ sessionId, turnId, messageId, callId, digest },
  };
}
