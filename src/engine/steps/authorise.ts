import { describeThrown } from "../../base/thrown.ts";
import type { CanonicalJson } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import type { CapabilityName } from "../../policy/grant/capabilities.ts";
import type { ResourceLimits } from "../../policy/grant/limits.ts";
import {
  checkGrant,
  type ExecutionGrant,
  type PolicyDecision,
  type PolicyRequest,
} from "../../policy/policy.ts";
import type { Sandbox } from "../../sandboxes/contract/sandbox.ts";
import type { ToolCall } from "../call/call.ts";
import type { DispatchContext } from "../call/context.ts";
import { limitUnenforceableText } from "../call/errors.ts";
import { denial, Refusal, unavailable } from "../call/refusal.ts";
import type { MaybePromise } from "../maybe-promise.ts";
import type { RegisteredTool } from "../registry.ts";
import { decide, type Question } from "./decide.ts";
import type { Placement } from "./place.ts";

/**
 * Asks the policy, and sets `granted`.
 *
 * @throws {Refusal} `permission_denied` unless the policy returns a valid grant, `cancelled`.
 */
export function authorise(
  call: ToolCall,
  input: JsonValue,
  canonical: CanonicalJson,
  { subject }: RegisteredTool,
  ctx: DispatchContext,
): MaybePromise<ExecutionGrant> {
  const request = Object.freeze({
    callId: call.id,
    sessionId: ctx.sessionId,
    input,
    canonical,
    tool: subject,
  });
  return decide(QUESTION, request, call.name, ctx);
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
      throw denial(tool, "nobody-to-ask", describeThrown(decision.question).detail);
    default:
      throw denial(tool, "policy-failed", "the policy returned an invalid decision");
  }
}

/**
 * Finds the sandbox that a grant names.
 *
 * @throws {Refusal} `sandbox_unavailable` when the tool has no implementation for it, it is not open, or it
 *   cannot give a capability of the grant: nothing is granted in part; `limit_unenforceable` when it cannot
 *   enforce a limit that the grant names.
 */
export function place(
  registered: RegisteredTool,
  grant: ExecutionGrant,
  ctx: DispatchContext,
): MaybePromise<Placement> {
  const { name, sandboxes } = registered.subject;
  const { sandbox: mode } = grant;
  if (!sandboxes.includes(mode)) {
    throw unavailable(name, mode, "the tool has no implementation for the granted sandbox");
  }
  const opened = ctx.sandboxes.route(mode);
  if (!(opened instanceof Promise)) return placeIn(opened, registered, grant);
  return opened.then(
    (sandbox) => placeIn(sandbox, registered, grant),
    (thrown: unknown) => {
      throw unavailable(name, mode, describeThrown(thrown).detail);
    },
  );
}

function placeIn(sandbox: Sandbox | undefined, registered: RegisteredTool, grant: ExecutionGrant): Placement {
  const { last } = registered;
  // Most calls of a tool come with the same grant, and what a sandbox says of it does not change.
  if (last.placement?.grant === grant && last.placement.sandbox === sandbox) return last.placement;
  const found = checkSandbox(sandbox, registered, grant);
  last.placement = { grant, sandbox: found, limits: effectiveLimits(registered, grant, found) };
  return last.placement;
}

function checkSandbox(
  sandbox: Sandbox | undefined,
  { subject, tool }: RegisteredTool,
  { sandbox: mode, capabilities }: ExecutionGrant,
): Sandbox {
  if (sandbox === undefined) throw unavailable(subject.name, mode, "the granted sandbox is not open");
  const given = sandbox.capabilitiesFor?.(tool) ?? sandbox.capabilities;
  // A grant that was checked names only what it grants.
  for (const name in capabilities) {
    if (!given.has(name as CapabilityName)) {
      throw unavailable(subject.name, mode, `the sandbox cannot give the capability '${name}'`);
    }
  }
  return sandbox;
}

function effectiveLimits(
  { tool }: RegisteredTool,
  { sandbox: mode, limits }: ExecutionGrant,
  sandbox: Sandbox,
): ResourceLimits {
  const limit = sandbox.unenforceable(limits, tool);
  if (limit !== undefined) {
    throw new Refusal("limit_unenforceable", limitUnenforceableText(limit, tool.name, mode));
  }
  const { defaults } = sandbox;
  return Object.freeze({ ...defaults, ...limits });
}
