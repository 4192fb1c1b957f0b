import { CanonicalJson } from "../../json/canonical.ts";
import { compileNamePattern } from "../../policy/match/name-pattern.ts";
import { callDigest } from "../call/call.ts";
import type { CallPlace, SuspendableCall } from "../call/suspension.ts";
import type { CallState, PlacedCall } from "./state.ts";

/** Returns where a call was made. */
export function placeOf({ received, ctx }: CallState): CallPlace {
  const { sessionId, turnId = "", messageId = "" } = ctx;
  return { sessionId, turnId, messageId, callId: received.id };
}

/** Returns a call as it is suspended. */
export function suspendable(call: PlacedCall): SuspendableCall {
  const { received, principal } = call;
  return {
    ...placeOf(call),
    ...(principal !== undefined && { principal: principal.id }),
    toolName: received.name,
    digest: callDigest(received),
    describe: (open) => {
      const { grant, limits, confirmation, policyRevision, nestedBudget, workReport } = call;
      return {
        grant,
        limits,
        definitions: definitionsOf(call),
        nestedCalls: nestedBudget?.used ?? 0,
        ...(confirmation !== undefined && { confirmation }),
        ...(policyRevision !== undefined && { policyRevision }),
        ...(workReport !== undefined && { work: workReport.workWithout(open.map(({ number }) => number)) }),
      };
    },
  };
}

/** The digest of the definitions of the call's tool, and of the tools that it may call. */
export function definitionsOf({ registered, grant, ctx }: PlacedCall): string {
  const patterns = (grant.capabilities.tools ?? []).map(compileNamePattern);
  const callable = ctx.registry.subjects
    .filter(({ name }) => patterns.some((pattern) => pattern.matches(name)))
    .map(({ name, definition }): [string, string] => [name, definition?.digest ?? ""])
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return new CanonicalJson([registered.definition.digest, ...callable]).digest;
}
