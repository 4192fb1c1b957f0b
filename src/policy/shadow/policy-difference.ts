import type { PolicyDecision } from "../decision.ts";
import type { ExecutionGrant } from "../grant/execution-grant.ts";
import { isWithinGrant } from "../grant/within.ts";
import type { PolicyRequest } from "../policy.ts";

/** A call on which a candidate decides otherwise than the active policy. */
export interface PolicyDifference {
  readonly request: PolicyRequest;
  /** What was decided. */
  readonly active: PolicyDecision;
  /** What the candidate would have decided; absent if it failed. */
  readonly candidate?: PolicyDecision;
  /**
   * `wider`: the candidate permits what the active policy does not, or without a person. `narrower`: the active policy
   * does so. `other`: each does, or the candidate prefers another sandbox. `failed`: the candidate did not decide, and as
   * the active policy it would have denied the call.
   */
  readonly change: "wider" | "narrower" | "other" | "failed";
  /** Why the candidate failed, such as the message of its error; absent if it did not. */
  readonly failure?: string;
}

type Change = Exclude<PolicyDifference["change"], "failed">;

/** Compares two decisions on the same call. Returns `undefined` if they come to the same. */
export function changeOf(before: PolicyDecision, after: PolicyDecision): Change | undefined {
  const isWider = !isNoWider(after, before);
  const isNarrower = !isNoWider(before, after);
  if (isWider && isNarrower) return "other";
  if (isWider || isNarrower) return isWider ? "wider" : "narrower";
  return permitted(before)?.grant.sandbox === permitted(after)?.grant.sandbox ? undefined : "other";
}

function isNoWider(one: PolicyDecision, other: PolicyDecision): boolean {
  const permits = permitted(one);
  if (permits === undefined) return true;
  const bound = permitted(other);
  if (bound === undefined || (one.decision === "allow" && other.decision === "ask")) return false;
  if (!permits.sandboxes.every((mode) => bound.sandboxes.includes(mode))) return false;
  return isWithinGrant({ ...permits.grant, sandbox: bound.grant.sandbox }, bound.grant);
}

/** What a decision permits, at least to a confirmed call; `undefined` if it is nothing. */
function permitted(
  decision: PolicyDecision,
): { readonly grant: ExecutionGrant; readonly sandboxes: readonly string[] } | undefined {
  if (decision.decision === "deny" || decision.grant === undefined) return undefined;
  const { grant, sandboxes = [grant.sandbox] } = decision;
  return { grant, sandboxes };
}
