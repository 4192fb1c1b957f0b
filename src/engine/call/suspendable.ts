import { CanonicalJson } from "../../json/canonical.ts";
import { compileNamePattern } from "../../policy/match/name-pattern.ts";
import type { CallState, PlacedCall } from "./state.ts";
import type { CallPlace, SuspendableCall } from "./suspension.ts";

/** Returns where a call was made. */
export function placeOf({ received, ctx }: CallState): CallPlace {
  const { sessionId, turnId = "", messageId = "" } = ctx;
  return { sessionId, turnId, messageId, callId: received.id };
}

/** Returns the digest by which a call of this tool with these arguments is known. */
export function digestOf({ received: { name, arguments: args } }: Pick<CallState, "received">): string {
  return new CanonicalJson({ name, arguments: args }).digest;
}

/** Returns a call as it is suspended. */
export function suspendable(call: PlacedCall): SuspendableCall {
  const { received, principal } = call;
  return {
    ...placeOf(call),
    ...(principal !== undefined && { principal: principal.id }),
    toolName: received.name,
    digest: digestOf(call),
    describe: () => {
      const { grant, limits, confirmation, policyRevision, nestedBudget, workReport } = call;
      return {
        ...{ grant, limits, definitions: definitionsOf(call), nestedCalls: nestedBudget?.used ?? 0 },
        ...(confirmation !== undefined && { confirmation }),
        ...(policyRevision !== undefined && { policyRevision }),
        ...(workReport !== undefined && { work: workReport.work }),
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
