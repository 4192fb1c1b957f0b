import { CanonicalJson } from "../../json/canonical.ts";
import type { JsonObject } from "../../json/value.ts";
import type { ConfirmationRequest } from "../call/confirmation.ts";
import type { PlacedCall } from "../in-flight/state.ts";

/** Returns what a person is asked about a call, frozen. */
export function confirmationRequest(
  call: PlacedCall,
  question: string,
  remember?: "session",
): ConfirmationRequest {
  const { received, ctx, principal, caller, registered, input, canonical, declaredPaths, grant, decision } =
    call;
  const { id: callId } = received;
  const { sessionId, turnId, messageId } = ctx;
  return Object.freeze({
    ...{ callId, sessionId, tool: registered.subject, input, canonical, grant, question },
    rules: decision.rules ?? [],
    ...(declaredPaths !== undefined && {
      paths: Object.freeze(declaredPaths.map(({ path, access }) => Object.freeze({ path, access }))),
    }),
    ...(turnId !== undefined && { turnId }),
    ...(messageId !== undefined && { messageId }),
    ...(principal !== undefined && { principal }),
    ...(remember !== undefined && { remember }),
    ...(caller !== undefined && { parent: caller.callId }),
    digest: digestOf(call),
  });
}

/** The arguments themselves are in it by their digest, which is that of their canonical text. */
function digestOf({ received, ctx, registered, canonical, grant }: PlacedCall): string {
  const { sessionId, turnId = null, messageId = null } = ctx;
  const identity: JsonObject = {
    ...{ sessionId, turnId, messageId, callId: received.id },
    argumentDigest: canonical.digest,
    definitionDigest: registered.definition.digest,
    grant: grant as unknown as JsonObject,
  };
  return new CanonicalJson(identity).digest;
}
