import type { PolicyDecision } from "../decision.ts";
import { hasSelected } from "./granted.ts";
import { type Invariant, selectionOf } from "./invariant.ts";

/** Whether a decision on a call of a tool that the invariant is about violates the invariant. */
export function violates(decision: PolicyDecision, invariant: Invariant): boolean {
  if (decision.decision === "deny" || decision.grant === undefined) return false;
  if ("always" in invariant && decision.decision === "ask") return false;
  const { sandboxes, capabilities } = selectionOf(invariant);
  const accepted = decision.sandboxes ?? [decision.grant.sandbox];
  if (sandboxes?.some((mode) => accepted.includes(mode)) === false) return false;
  return hasSelected(decision.grant.capabilities, capabilities);
}
