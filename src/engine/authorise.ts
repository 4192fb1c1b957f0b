import type { CanonicalJson } from "../json/canonical.ts";
import type { JsonValue } from "../json/value.ts";
import type { CapabilityName } from "../policy/capabilities.ts";
import type { ResourceLimits } from "../policy/limits.ts";
import { checkGrant, type Decision, type ExecutionGrant, type PolicyRequest } from "../policy/policy.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { describeThrown } from "../sandboxes/thrown.ts";
import type { ToolCall } from "./call.ts";
import type { DispatchContext } from "./context.ts";
import { decide, type Question } from "./decide.ts";
import { limitUnenforceableText } from "./errors.ts";
import type { MaybePromise } from "./maybe-promise.ts";
import { denial, Refusal, unavailable } from "./refusal.ts";
import type { RegisteredTool } from "./registry.ts";

/**
 * Step 4: has the policy decide on a call whose arguments were validated.
 *
 * @throws {Refusal} unless the policy answers with a grant that is well-formed.
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
  read: (answer, tool) => readDecision(answer as Decision, tool),
};

/** @throws {Refusal} or {TypeError} unless the decision is a grant that is well-formed. */
function readDecision(decision: Decision, tool: string): ExecutionGrant {
  switch (decision?.decision) {
    case "allow":
      return checkGrant(decision.grant);
    case "deny":
      throw denial(tool, "policy", describeThrown(decision.reason).detail);
    case "ask":
      throw denial(tool, "nobody-to-ask", describeThrown(decision.question).detail);
    default:
      throw denial(tool, "policy-failed", "the answer is no decision");
  }
}

/**
 * Finds the sandbox that a grant names.
 *
 * @throws {Refusal} `sandbox_unavailable` when the tool has no implementation for it, it is not open, or it
 *   cannot give a capability of the grant: nothing is granted in part.
 */
export function route(
  registered: RegisteredTool,
  grant: ExecutionGrant,
  ctx: DispatchContext,
): MaybePromise<Sandbox> {
  const { name, sandboxes } = registered.subject;
  const { sandbox: mode } = grant;
  if (!sandboxes.includes(mode)) {
    throw unavailable(name, mode, "the tool has no implementation for the granted sandbox");
  }
  const opened = ctx.sandboxes.route(mode);
  if (!(opened instanceof Promise)) return checkSandbox(opened, registered, grant);
  return opened.then(
    (sandbox) => checkSandbox(sandbox, registered, grant),
    (thrown: unknown) => {
      throw unavailable(name, mode, describeThrown(thrown).detail);
    },
  );
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

/**
 * The limits that will hold: the sandbox's own, with the grant's laid over them.
 *
 * @throws {Refusal} `limit_unenforceable` when the sandbox cannot enforce one that the grant names.
 */
export function effectiveLimits(
  { tool }: RegisteredTool,
  { sandbox: mode, limits }: ExecutionGrant,
  sandbox: Sandbox,
): ResourceLimits {
  const limit = sandbox.unenforceable(limits, tool);
  if (limit !== undefined) {
    throw new Refusal("limit_unenforceable", limitUnenforceableText(limit, tool.name, mode));
  }
  const { defaults } = sandbox;
  // A grant's limits are frozen already.
  return isEmpty(defaults) ? limits : Object.freeze({ ...defaults, ...limits });
}

function isEmpty(limits: ResourceLimits): boolean {
  for (const _ in limits) return false;
  return true;
}
