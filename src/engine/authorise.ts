import type { CanonicalJson } from "../json/canonical.ts";
import { CAPABILITY_NAMES } from "../policy/capabilities.ts";
import type { ResourceLimits } from "../policy/limits.ts";
import { checkGrant, type Decision, type ExecutionGrant } from "../policy/policy.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { describeThrown } from "../sandboxes/thrown.ts";
import type { ToolCall } from "./call.ts";
import type { DispatchContext } from "./context.ts";
import { decide } from "./decide.ts";
import { limitUnenforceableText } from "./errors.ts";
import { chain, type MaybePromise } from "./maybe-promise.ts";
import { denial, Refusal, unavailable } from "./refusal.ts";
import type { RegisteredTool } from "./registry.ts";

/**
 * Step 4: has the policy decide on a call whose arguments were validated.
 *
 * @throws {Refusal} unless the policy answers with a grant that is well-formed.
 */
export function authorise(
  call: ToolCall,
  canonical: CanonicalJson,
  { subject }: RegisteredTool,
  ctx: DispatchContext,
): MaybePromise<ExecutionGrant> {
  const request = Object.freeze({
    callId: call.id,
    sessionId: ctx.sessionId,
    input: call.arguments,
    canonical,
    tool: subject,
  });
  const { name: tool } = call;
  const ask = (): unknown => ctx.policy.check(request);
  const read = (answer: unknown): ExecutionGrant => readDecision(answer as Decision, tool);
  return decide({ to: "policy", tool, ask, read }, ctx);
}

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
  { subject }: RegisteredTool,
  { sandbox: mode, capabilities }: ExecutionGrant,
  ctx: DispatchContext,
): MaybePromise<Sandbox> {
  if (!subject.sandboxes.includes(mode)) {
    throw unavailable(subject.name, mode, "the tool has no implementation for the granted sandbox");
  }
  return chain(openSandbox(subject.name, mode, ctx), (sandbox) => {
    if (sandbox === undefined) throw unavailable(subject.name, mode, "the granted sandbox is not open");
    const missing = CAPABILITY_NAMES.find(
      (name) => capabilities[name] !== undefined && !sandbox.capabilities.has(name),
    );
    if (missing === undefined) return sandbox;
    throw unavailable(subject.name, mode, `the sandbox cannot give the capability '${missing}'`);
  });
}

function openSandbox(
  tool: string,
  mode: ExecutionGrant["sandbox"],
  { sandboxes }: DispatchContext,
): MaybePromise<Sandbox | undefined> {
  const opened = sandboxes.route(mode);
  if (!(opened instanceof Promise)) return opened;
  return opened.catch((thrown: unknown) => {
    throw unavailable(tool, mode, describeThrown(thrown).detail);
  });
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
  if (limit === undefined) return Object.freeze({ ...sandbox.defaults, ...limits });
  throw new Refusal("limit_unenforceable", limitUnenforceableText(limit, tool.name, mode));
}
