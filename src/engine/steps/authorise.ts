import { describeThrown } from "../../base/thrown.ts";
import {
  type AskDecision,
  checkDecision,
  type DenyDecision,
  type NearMiss,
  type PolicyDecision,
} from "../../policy/decision.ts";
import type { PolicyRequest } from "../../policy/policy.ts";
import { shownName } from "../call/shown-name.ts";
import type { ParsedCall } from "../call/state.ts";
import { denial, type Refusal } from "../failure/refusal.ts";
import { decide, type Question } from "./decide.ts";

/**
 * Asks the policy, and sets `decision` and `granted`.
 *
 * @throws {Refusal} `permission_denied` unless the policy returns a valid grant, `cancelled`.
 */
export function authorise(call: ParsedCall): undefined | Promise<undefined> {
  const { ctx, principal, input, canonical } = call;
  const { id: callId } = call.received;
  const { sessionId } = ctx;
  const tool = call.registered.subject;
  const request: PolicyRequest =
    principal === undefined
      ? { callId, sessionId, input, canonical, tool }
      : { callId, sessionId, principal, input, canonical, tool };
  const decision = decide(QUESTION, Object.freeze(request), shownName(call), ctx);
  return decision instanceof Promise ? setLater(call, decision) : set(call, decision);
}

function setLater(call: ParsedCall, decision: Promise<PolicyDecision>): Promise<undefined> {
  return decision.then((decided) => set(call, decided));
}

/** @throws {Refusal} unless the decision is to allow the call. */
function set(call: ParsedCall, decision: PolicyDecision): undefined {
  call.decision = decision;
  if (decision.decision !== "allow") throw refusalOf(decision, shownName(call));
  call.granted = decision.grant;
}

function refusalOf(decision: AskDecision | DenyDecision, tool: string): Refusal {
  if (decision.decision === "ask") {
    return denial(tool, "no-approver", describeThrown(decision.question).detail);
  }
  const { detail } = describeThrown(decision.reason);
  return denial(tool, "policy", `${detail}${describeNear(decision.near)}`);
}

function describeNear(near: readonly NearMiss[] = []): string {
  if (near.length === 0) return "";
  const listed = near.map(({ rule, missed }) => `'${rule}' would allow it but for ${missed}`);
  return `: ${listed.join(", ")}`;
}

const QUESTION: Question<PolicyRequest, PolicyDecision> = {
  to: "policy",
  ask: (request, { policy }) => policy.check(request),
  read: (answer, tool) => readDecision(answer as PolicyDecision, tool),
};

/** @throws {Refusal | TypeError} unless it is a valid decision. */
function readDecision(decision: PolicyDecision, tool: string): PolicyDecision {
  switch (decision?.decision) {
    case "allow":
    case "ask":
    case "deny":
      return checkDecision(decision);
    default:
      throw denial(tool, "policy-failed", "the policy returned an invalid decision");
  }
}
