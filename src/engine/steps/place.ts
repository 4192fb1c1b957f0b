import { describeThrown } from "../../base/thrown.ts";
import type { CapabilityName } from "../../policy/grant/capabilities.ts";
import { type ExecutionGrant, isWithinGrant } from "../../policy/grant/execution-grant.ts";
import { checkLimits, type ResourceLimits } from "../../policy/grant/limits.ts";
import type { Sandbox } from "../../sandboxes/contract/sandbox.ts";
import { suspensionProblem } from "../../sandboxes/contract/suspension.ts";
import { boundLimits, type ClassTimeouts, DEFAULT_TIMEOUTS, limitsOf } from "../bounds.ts";
import type { EngineState, ReopenedSuspension } from "../call/suspension.ts";
import {
  inheritedCapabilityText,
  limitUnenforceableText,
  suspensionRefusedText,
  ungrantedText,
} from "../errors.ts";
import { narrowLimits } from "../nested.ts";
import { Refusal, unavailable } from "../refusal.ts";
import type { Placement, RegisteredTool } from "../registered-tool.ts";
import {
  type AuthorisedCall,
  definitionsOf,
  type GrantedCall,
  type ParsedCall,
  type PlacedCall,
  shownName,
  suspendable,
} from "../state.ts";
import { authorise, narrow } from "./decide.ts";

/**
 * Sets `sandbox` to the sandbox that the grant names, and `limits` to those that it will enforce.
 *
 * @throws {Refusal} `sandbox_unavailable` if the tool has no implementation for the sandbox, the sandbox is not open,
 *   it lacks the isolation that the grant requires, or a capability of the grant, since nothing is granted in part; `limit_unenforceable` if it cannot
 *   enforce a limit of the grant; `permission_denied` if the grant lacks the capability without which the tool must not
 *   run.
 */
export function place(call: GrantedCall): undefined | Promise<undefined> {
  const { sandboxes } = call.registered.subject;
  const { sandbox: mode } = call.grant;
  if (!sandboxes.includes(mode)) {
    throw unavailable(shownName(call), mode, "the tool has no implementation for the granted sandbox");
  }
  const opened = call.ctx.sandboxes.route(mode);
  return opened instanceof Promise ? placeLater(opened, call) : placeIn(opened, call);
}

/** Consults the policy again, and sets everything that follows from its decision. */
export async function decideAgain(call: ParsedCall): Promise<void> {
  await authorise(call);
  narrow(call as AuthorisedCall);
  await place(call as GrantedCall);
}

function placeLater(opened: Promise<Sandbox | undefined>, call: GrantedCall): Promise<undefined> {
  return opened.then(
    (sandbox) => placeIn(sandbox, call),
    (thrown: unknown) => {
      throw unavailable(shownName(call), call.grant.sandbox, describeThrown(thrown).detail);
    },
  );
}

function placeIn(opened: Sandbox | undefined, call: GrantedCall): undefined {
  const { caller, grant, registered } = call;
  const { upperBound, timeouts = DEFAULT_TIMEOUTS } = call.ctx;
  const { sandbox, limits } = findPlacement(opened, call);
  call.sandbox = sandbox;
  if (caller !== undefined) call.limits = narrowLimits(limits, grant, caller, sandbox, registered);
  else if (upperBound === undefined) call.limits = limits;
  else call.limits = boundLimits(effectiveLimits(registered, call.granted, sandbox, timeouts), upperBound);
}

function findPlacement(opened: Sandbox | undefined, call: GrantedCall): Placement {
  const { ctx, grant, registered } = call;
  const { timeouts = DEFAULT_TIMEOUTS } = ctx;
  const { last } = registered;
  // Most calls of a tool come with the same grant, and a sandbox always gives the same answers for it.
  const { placement } = last;
  if (placement?.grant === grant && placement.sandbox === opened && placement.timeouts === timeouts) {
    return placement;
  }
  const sandbox = checkSandbox(opened, call);
  const limits = effectiveLimits(registered, grant, sandbox, timeouts);
  refuseUnenforceable(call, sandbox, limits);
  last.placement = { grant, sandbox, timeouts, limits };
  return last.placement;
}

function checkSandbox(sandbox: Sandbox | undefined, call: GrantedCall): Sandbox {
  const { sandbox: mode, isolation, capabilities } = call.grant;
  const { tool } = call.registered;
  if (sandbox === undefined) throw unavailable(shownName(call), mode, "the granted sandbox is not open");
  if (isolation !== undefined && sandbox.isolation !== isolation)
    throw unavailable(
      shownName(call),
      mode,
      `the grant requires the isolation '${isolation}', and the sandbox has '${sandbox.isolation}'`,
    );
  const given = sandbox.capabilitiesFor?.(tool) ?? sandbox.capabilities;
  // A checked grant has no members but the capabilities that it grants.
  for (const name in capabilities) {
    if (!given.has(name as CapabilityName)) {
      refuseInherited(call, name as CapabilityName);
      const which = sandbox.isolation === undefined ? "" : ` with the isolation '${sandbox.isolation}'`;
      throw unavailable(
        shownName(call),
        mode,
        `the sandbox${which} does not support the capability '${name}'`,
      );
    }
  }
  const required = sandbox.requiredCapability?.(tool);
  if (required !== undefined && capabilities[required] === undefined) {
    throw new Refusal("permission_denied", ungrantedText(shownName(call), required));
  }
  return sandbox;
}

/** Names a capability that only the caller's grant has: the model cannot know that it restricts the called tool. */
function refuseInherited(call: GrantedCall, name: CapabilityName): void {
  if (call.caller === undefined || call.granted.capabilities[name] !== undefined) return;
  const message = inheritedCapabilityText(shownName(call), name, call.grant.sandbox);
  throw new Refusal("sandbox_unavailable", message, {
    detail: `the sandbox does not support the capability '${name}' of the calling tool`,
  });
}

function refuseUnenforceable(call: GrantedCall, sandbox: Sandbox, limits: ResourceLimits): void {
  const { sandbox: mode } = call.grant;
  const limit = sandbox.unenforceable(limits, call.registered.tool);
  if (limit !== undefined) {
    throw new Refusal("limit_unenforceable", limitUnenforceableText(limit, shownName(call), mode));
  }
}

function effectiveLimits(
  { tool, subject }: RegisteredTool,
  { limits }: ExecutionGrant,
  { defaults }: Sandbox,
  timeouts: ClassTimeouts | "none",
): ResourceLimits {
  const { sideEffects } = subject;
  return checkLimits(limitsOf(limits, defaults, { timeoutMs: tool.timeoutMs, sideEffects }, timeouts));
}

/**
 * Opens a call that an earlier process suspended, and sets `suspension`. It continues under the grant that it had, if the
 * policy still gives that much: what the policy gives more has no effect. A person who confirmed it is not asked again.
 *
 * @throws {Refusal} `execution_error` if it must not continue, and what `authorise` throws.
 */
export function reopen(call: PlacedCall): undefined | Promise<undefined> {
  return call.received.isSuspended === true ? reopenLater(call) : undefined;
}

async function reopenLater(call: PlacedCall): Promise<undefined> {
  const { suspensions } = call.ctx;
  if (suspensions === undefined) throw refusal(call, "suspended programs are not kept here");
  try {
    return await resume(call, await suspensions.reopen(suspendable(call)));
  } catch (thrown) {
    if (Refusal.is(thrown)) throw thrown;
    throw refusal(call, suspensionProblem(thrown), describeThrown(thrown).detail);
  }
}

async function resume(call: PlacedCall, suspension: ReopenedSuspension): Promise<undefined> {
  const { restored } = suspension;
  call.suspension = suspension;
  if (call.decision.decision === "ask" && restored.confirmation !== undefined) {
    call.confirmation = restored.confirmation;
    await decideAgain(call);
  }
  if (!isWithinGrant(restored.grant, call.grant)) {
    throw refusal(call, "the policy no longer allows what it was granted");
  }
  call.grant = restored.grant;
  call.limits = restored.limits;
  checkDefinitions(call, restored);
}

function checkDefinitions(call: PlacedCall, { definitions }: EngineState): void {
  if (definitions === definitionsOf(call)) return;
  throw refusal(call, "its definition, or that of a tool that it may call, has changed");
}

function refusal({ received }: PlacedCall, reason: string, detail?: string): Refusal {
  const message = suspensionRefusedText(received.name, reason);
  return new Refusal("execution_error", message, detail === undefined ? {} : { detail });
}
