import { describeThrown } from "../../base/thrown.ts";
import {
  type AskDecision,
  checkDecision,
  type DenyDecision,
  type NearMiss,
  type PolicyDecision,
} from "../../policy/decision.ts";
import type { PolicyRequest } from "../../policy/policy.ts";
import { argumentPaths } from "../arguments/declared-paths.ts";
import { decide, type Question } from "../asking/decide.ts";
import { elapsedMs } from "../call/execution.ts";
import { denial, type Refusal } from "../failure/refusal.ts";
import { shownName } from "../in-flight/shown-name.ts";
import type { CallState, ParsedCall } from "../in-flight/state.ts";
import { linkProgress } from "../reporting/progress.ts";

/**
 * Asks the policy, and sets `decision`, `policyRevision` and `granted`. A decision to ask a person passes with the grant that it has, if
 * there is a person to ask or the call is confirmed already.
 *
 * @throws {Refusal} `permission_denied` unless the policy returns a valid grant, `cancelled`.
 */
export function authorise(call: ParsedCall): undefined | Promise<undefined> {
  const decidedFrom = call.reporter.reportsDecisions ? performance.now() : 0;
  // Read now: by the time of an answer that comes later, the policy may have been replaced.
  call.policyRevision = call.ctx.policy.revision;
  const decision = decide(QUESTION, requestOf(call), shownName(call), call.ctx);
  return decision instanceof Promise
    ? decision.then((decided) => set(call, decided, decidedFrom))
    : set(call, decision, decidedFrom);
}

function requestOf(call: ParsedCall): PolicyRequest {
  const { ctx, principal, input, canonical, confirmation } = call;
  const { id: callId } = call.received;
  const { sessionId, turnId, workspace } = ctx;
  const tool = call.registered.subject;
  const confirmedBy = confirmation?.by;
  // One shape for all requests: spreading the members that are known would take longer than the decision.
  const request = {
    callId,
    sessionId,
    turnId,
    principal,
    input,
    canonical,
    tool,
    workspace,
    paths: argumentPaths(call.declaredPaths),
    confirmedBy,
  };
  if (call.progress !== undefined) linkProgress(request, call.progress);
  return Object.freeze(request);
}

/** @throws {Refusal} unless the decision is to allow the call, or to ask about it and there is a grant. */
function set(call: ParsedCall, decision: PolicyDecision, decidedFrom: number): undefined {
  call.decision = decision;
  const { policyRevision, confirmation, reporter } = call;
  if (reporter.reportsDecisions) {
    reporter.decided(decision, policyRevision, confirmation?.by, elapsedMs(decidedFrom));
  }
  if (decision.decision === "deny") throw refusalOf(decision, shownName(call));
  if (decision.grant === undefined || (decision.decision === "ask" && !canAsk(call))) {
    throw denial(shownName(call), "no-approver", describeThrown((decision as AskDecision).question).detail);
  }
  call.granted = decision.grant;
}

/**
 * Whether a person can be asked about the call, or has confirmed it. The wall time of the calls whose tools make this
 * one has to stand still while a person thinks.
 */
export function canAsk({ ctx, caller, confirmation }: CallState): boolean {
  if (confirmation !== undefined) return true;
  return ctx.confirm !== undefined && (caller === undefined || caller.pause !== undefined);
}

function refusalOf(decision: DenyDecision, tool: string): Refusal {
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
