import { describeThrown } from "../../base/thrown.ts";
import type { PolicyDecision } from "../../policy/decision.ts";
import { checkGrant, type ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import type { PolicyRequest } from "../../policy/policy.ts";
import { denial } from "../call/refusal.ts";
import type { ParsedCall } from "../call/state.ts";
import { decide, type Question } from "./decide.ts";

/**
 * Asks the policy, and sets `granted`.
 *
 * @throws {Refusal} `permission_denied` unless the policy returns a valid grant, `cancelled`.
 */
export function authorise(call: ParsedCall): undefined | Promise<undefined> {
  const { ctx, input, canonical } = call;
  const { id: callId, name } = call.received;
  const { sessionId } = ctx;
  const request = Object.freeze({ callId, sessionId, input, canonical, tool: call.registered.subject });
  const granted = decide(QUESTION, request, name, ctx);
  return granted instanceof Promise ? setLater(call, granted) : set(call, granted);
}

function setLater(call: ParsedCall, granted: Promise<ExecutionGrant>): Promise<undefined> {
  return granted.then((grant) => set(call, grant));
}

function set(call: ParsedCall, granted: ExecutionGrant): undefined {
  call.granted = granted;
}

const QUESTION: Question<PolicyRequest, ExecutionGrant> = {
  to: "policy",
  ask: (request, { policy }) => policy.check(request),
  read: (answer, tool) => readDecision(answer as PolicyDecision, tool),
};

/** @throws {Refusal | TypeError} unless the decision is a valid grant. */
function readDecision(decision: PolicyDecision, tool: string): ExecutionGrant {
  switch (decision?.decision) {
    case "allow":
      return checkGrant(decision.grant);
    case "deny":
      throw denial(tool, "policy", describeThrown(decision.reason).detail);
    case "ask":
      throw denial(tool, "no-approver", describeThrown(decision.question).detail);
    default:
      throw denial(tool, "policy-failed", "the policy returned an invalid decision");
  }
}
