import type { OneShotThenable } from "../../base/promises.ts";
import { BoundGrant } from "../../sandboxes/contract/bound-grant.ts";
import type { SandboxOutcome } from "../../sandboxes/contract/outcome.ts";
import type { Sandbox } from "../../sandboxes/contract/sandbox.ts";
import type { SandboxTask } from "../../sandboxes/contract/task.ts";
import { questionAsker } from "../asking/ask.ts";
import { charsOf } from "../bounds/result-budget.ts";
import type { DispatchContext } from "../call/context.ts";
import { canHold, type Holding } from "../call/holding.ts";
import { idempotencyKeyOf } from "../call/idempotency.ts";
import type { CallTrace } from "../call/trace.ts";
import { cancelled, denial } from "../failure/refusal.ts";
import { PartialOutput } from "../in-flight/partial-output.ts";
import { shownName } from "../in-flight/shown-name.ts";
import type { PlacedCall } from "../in-flight/state.ts";
import { suspendable } from "../in-flight/suspendable.ts";
import { toolCaller } from "../nested/nested.ts";
import { NestedBudget } from "../nested/nested-budget.ts";
import { WorkReport } from "../work/work-report.ts";
import { callableNames, canCall } from "./lookup.ts";

/**
 * Sets `task`, and has the sandbox run it.
 *
 * @returns What became of it, which ends the call.
 * @throws {Refusal} `cancelled`; `permission_denied` if the changes of the call have to be held and cannot be.
 */
export function run(call: PlacedCall): SandboxOutcome | OneShotThenable<SandboxOutcome> {
  const { ctx, principal, caller, grant, canonical, limits, reporter } = call;
  const { sessionId, turnId, messageId, workspace, signal, embedder, agent } = ctx;
  if (signal?.aborted) throw cancelled();
  const { id: callId, name: toolName } = call.received;
  const { capabilities } = grant;
  const holding = ctx.holdChanges === undefined ? undefined : holdingOf(call, ctx.holdChanges);
  const nesting = caller === undefined ? 0 : caller.depth + 1;
  const implementations = call.registered.tool;
  const { definition, subject } = call.registered;
  const { sandbox } = grant;
  const to = { callId, canonical, implementations, limits, capabilities, sandbox, definition };
  const bound = new BoundGrant(to, call.resumedAt);
  if (ctx.partialOutput !== undefined) call.partialOutput = new PartialOutput(reporter);
  const observer = call.partialOutput ?? reporter;
  const { reportsWork, searchesTools } = call.registered.tool;
  if (reportsWork) call.workReport = new WorkReport(observer, call.suspension?.kept?.work);
  const task: SandboxTask = {
    callId,
    sessionId,
    turnId,
    messageId,
    workspace,
    principal,
    toolName,
    implementations,
    input: call.input,
    canonical,
    limits,
    capabilities,
    grant: bound,
    signal,
    waitedMs: caller === undefined ? ctx.waitedMs : undefined,
    turn: caller === undefined ? ctx.turn : undefined,
    observer: call.workReport ?? observer,
    embedder,
    agent,
    nesting,
    holdChanges: holding?.open,
    ask: questionAsker(call),
    trace: call.trace,
    idempotencyKey: idempotencyKeyOf(implementations, call),
    // The tool that made a nested call reads its result whole.
    resultChars: caller === undefined ? charsOf(ctx.resultBudget) : undefined,
    canCall: searchesTools ? (name) => canCall(name, ctx.registry, caller) : undefined,
  };
  call.task = capabilities.tools === undefined ? task : withCallTool(call, task);
  task.turn?.begins();
  reporter.started(grant, subject.sideEffects, canonical, call.decision.rules, call.policyRevision);
  return call.trace === undefined
    ? call.sandbox.run(call.task)
    : runTraced(call.trace, call.sandbox, call.task);
}

/** A call that runs unasked since its changes are held must not change anything at once. */
function holdingOf(
  call: PlacedCall,
  holdChanges: NonNullable<DispatchContext["holdChanges"]>,
): Holding | undefined {
  const holding = holdChanges(call.received.id);
  if (holding?.isRequired !== true) return holding;
  if (holding.open !== undefined && canHold(call.registered.tool, call.grant.sandbox)) return holding;
  throw denial(shownName(call), "policy", "the changes of the call have to be held, and cannot be");
}

/** Runs a task as a part of its call's trace. What the sandbox returns later belongs to the trace, too. */
function runTraced(
  trace: CallTrace,
  sandbox: Sandbox,
  task: SandboxTask,
): SandboxOutcome | OneShotThenable<SandboxOutcome> {
  return trace.run(() => sandbox.run(task));
}

function withCallTool(call: PlacedCall, task: SandboxTask): SandboxTask {
  const { caller, grant, limits, trace } = call;
  // The copy that was checked, in place of the original, which the embedder can change meanwhile.
  const ctx = call.principal === undefined ? call.ctx : { ...call.ctx, principal: call.principal };
  const budget = new NestedBudget(limits.nestedCalls, caller?.budget);
  const { callId, nesting: depth = 0 } = task;
  if (call.sandbox.suspends === true) call.suspension ??= call.ctx.suspensions?.begin(suspendable(call));
  const { suspension } = call;
  if (suspension?.kept !== undefined) budget.restore(suspension.kept.nestedCalls);
  const callTool = toolCaller(
    { callId, depth, grant, limits, budget, parent: caller, trace, suspension },
    ctx,
    call.dispatchNested,
    call.workReport,
  );
  if (callTool === undefined) return task;
  call.nestedBudget = budget;
  const { searchesTools } = call.registered.tool;
  const toolNames = searchesTools ? () => callableNames(ctx.registry, { grant }) : undefined;
  return { ...task, callTool, suspension, toolNames };
}
