import { isThenable, type OneShotThenable, toPromise } from "../../base/promises.ts";
import { race } from "../../base/timers.ts";
import { CanonicalJson } from "../../json/canonical.ts";
import type { JsonObject } from "../../json/value.ts";
import type { PolicySubject } from "../../policy/policy.ts";
import { BoundGrant } from "../../sandboxes/contract/bound-grant.ts";
import type { SandboxOutcome } from "../../sandboxes/contract/outcome.ts";
import type { AskForTask, AskForTaskOptions, SandboxTask } from "../../sandboxes/contract/sandbox.ts";
import {
  answerProblem,
  checkQuestion,
  copyAnswer,
  declinedToAnswer,
  nobodyAnswered,
  nobodyToAsk,
  type Question,
  type QuestionAnswer,
  questionCancelled,
} from "../../tool/question.ts";
import { changesNothing, type SideEffects } from "../../tool/side-effects.ts";
import { ToolFailure } from "../../tool/tool-failure.ts";
import type { AskUser, QuestionReply, QuestionRequest } from "../call/confirmation.ts";
import { type ChangeStaging, canStage, type DispatchContext } from "../call/context.ts";
import { idempotencyKeyOf } from "../call/idempotency.ts";
import { NestedBudget, toolCaller } from "../nested.ts";
import { PartialOutput } from "../partial-output.ts";
import { cancelled, denial } from "../refusal.ts";
import { runTraced } from "../reporting/reporter.ts";
import { DEFAULT_RESULT_CHARS } from "../result-budget.ts";
import { type PlacedCall, shownName, suspendable } from "../state.ts";
import { WorkReport } from "../work-report.ts";
import { callableNames, canCall } from "./parse.ts";

/** Maximum number of answers of a call that its execution names. */
const MAX_ANSWERS = 100;

const nobodyWithoutEffect: AskForTask = () => Promise.reject(nobodyToAsk("none"));
const nobodyAfterUnknownEffect: AskForTask = () => Promise.reject(nobodyToAsk("unknown"));

/**
 * Shared by all calls for which nobody can be asked: a function for each would slow down calls that never ask. A record, so the
 * compiler reports a class that is missing.
 */
const NOBODY: Readonly<Record<SideEffects, AskForTask>> = {
  none: nobodyWithoutEffect,
  read: nobodyWithoutEffect,
  write: nobodyAfterUnknownEffect,
  execute: nobodyAfterUnknownEffect,
  network: nobodyAfterUnknownEffect,
  destructive: nobodyAfterUnknownEffect,
};

/**
 * Sets `task`, and has the sandbox run it.
 *
 * @returns its outcome, which ends the call.
 * @throws {Refusal} `cancelled`; `permission_denied` if the changes of the call have to be staged and cannot be.
 */
export function run(call: PlacedCall): SandboxOutcome | OneShotThenable<SandboxOutcome> {
  const { ctx, principal, caller, grant, canonical, limits, reporter } = call;
  const { sessionId, turnId, messageId, workspace, signal, embedder, agent } = ctx;
  if (signal?.aborted) throw cancelled();
  const { id: callId, name: toolName } = call.received;
  const { capabilities } = grant;
  const staging = ctx.stageChanges === undefined ? undefined : stagingOf(call, ctx.stageChanges);
  const nesting = caller === undefined ? 0 : caller.depth + 1;
  const implementations = call.registered.tool;
  const { definition, subject } = call.registered;
  const { sandbox } = grant;
  const to = { callId, canonical, implementations, limits, capabilities, sandbox, definition };
  const bound = new BoundGrant(to, call.resumedAt);
  if (ctx.partialOutput !== undefined) call.partialOutput = new PartialOutput(reporter);
  const observer = call.partialOutput ?? reporter;
  const { reportsWork, searchesTools } = call.registered.tool;
  if (reportsWork) call.workReport = new WorkReport(observer, call.suspension?.restored?.work);
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
    stageChanges: staging?.open,
    ask: questionAsker(call),
    trace: call.trace,
    idempotencyKey: implementations.idempotent === true ? idempotencyKeyOf(call) : undefined,
    // The tool that made a nested call reads its result whole.
    resultChars: caller === undefined ? (ctx.resultBudget?.chars ?? DEFAULT_RESULT_CHARS) : undefined,
    canCall: searchesTools ? (name) => canCall(name, ctx.registry, caller) : undefined,
  };
  const given = capabilities.tools === undefined ? task : withCallTool(call, task);
  call.task = given;
  task.turn?.begins();
  reporter.started(grant, subject.sideEffects, canonical, call.decision.rules, call.policyRevision);
  return call.trace === undefined
    ? call.sandbox.run(given)
    : runTraced(call.trace, () => call.sandbox.run(given));
}

/** A call that runs without a confirmation because its changes are staged must not change anything at once. */
function stagingOf(
  call: PlacedCall,
  stageChanges: NonNullable<DispatchContext["stageChanges"]>,
): ChangeStaging | undefined {
  const staging = stageChanges(call.received.id);
  if (staging?.isRequired !== true) return staging;
  if (staging.open !== undefined && canStage(call.registered.tool, call.grant.sandbox)) return staging;
  throw denial(shownName(call), "policy", "the changes of the call have to be staged, and cannot be");
}

function withCallTool(call: PlacedCall, task: SandboxTask): SandboxTask {
  const { caller, grant, limits, trace } = call;
  // The copy that was checked, in place of the original, which the embedder can change meanwhile.
  const ctx = call.principal === undefined ? call.ctx : { ...call.ctx, principal: call.principal };
  const budget = new NestedBudget(limits.nestedCalls, caller?.budget);
  const { callId, nesting: depth = 0 } = task;
  if (call.sandbox.suspends === true) call.suspension ??= call.ctx.suspensions?.begin(suspendable(call));
  const { suspension } = call;
  if (suspension?.restored !== undefined) budget.restore(suspension.restored.nestedCalls);
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

/**
 * Returns the function through which the tool of a call asks a person. Nobody is asked for a nested call unless the wall
 * time of its callers can stand still while a person thinks.
 */
function questionAsker(call: PlacedCall): AskForTask {
  const { ctx, caller } = call;
  const { ask } = ctx;
  if (ask === undefined || (caller !== undefined && caller.pause === undefined)) {
    return NOBODY[call.registered.subject.sideEffects];
  }
  let count = 0;
  return async (given, options) => {
    const request = questionRequest(call, ++count, checkQuestion(given));
    const effect = effectOf(request.tool);
    if (options.signal.aborted) throw questionCancelled(effect);
    const resumeCallers = caller?.pause?.();
    const resume = options.pause();
    ctx.turn?.waits();
    try {
      return await answerTo(call, ask, request, options);
    } catch (thrown) {
      // Other errors are not shown to the model.
      throw thrown instanceof ToolFailure ? thrown : nobodyToAsk(effect);
    } finally {
      ctx.turn?.begins();
      resume();
      resumeCallers?.();
    }
  };
}

async function answerTo(
  call: PlacedCall,
  ask: AskUser,
  request: QuestionRequest,
  { signal }: AskForTaskOptions,
): Promise<QuestionAnswer> {
  const asked: unknown = ask(request, signal);
  const reading = (isThenable(asked) ? toPromise(asked) : Promise.resolve(asked)).then((reply) =>
    readReply(reply as QuestionReply, request, call),
  );
  const answer = await race(
    reading.then((value) => ({ value })),
    { signals: [signal] },
  );
  if (answer === "aborted") throw questionCancelled(effectOf(request.tool));
  return answer.value;
}

/** Reads each member once: an answer of foreign code may be another one the next time. */
function readReply(reply: QuestionReply, request: QuestionRequest, call: PlacedCall): QuestionAnswer {
  const { decision, answer: given, by, afterMs } = (reply ?? {}) as Partial<Record<string, unknown>>;
  const effect = effectOf(request.tool);
  switch (decision) {
    case "answer": {
      const answer = copyAnswer(given);
      if (answerProblem(request, answer) !== undefined) break;
      recordAnswer(call, request, decision, by);
      return answer;
    }
    case "deny":
      recordAnswer(call, request, decision, by);
      throw declinedToAnswer(effect);
    case "timeout":
      throw nobodyAnswered(afterMs, effect);
    case "cancelled":
      throw questionCancelled(effect);
  }
  throw nobodyToAsk(effect);
}

/** Records who answered, for the execution. Answers after the end of the call are dropped. */
function recordAnswer(
  call: PlacedCall,
  { digest }: QuestionRequest,
  decision: "answer" | "deny",
  by: unknown,
): void {
  const answers = call.questions ?? [];
  if (typeof by !== "string" || answers.length >= MAX_ANSWERS) return;
  call.questions = [...answers, Object.freeze({ by, decision, digest })];
}

/** A question has no effect, but the tool may have had one before it asked. */
function effectOf({ sideEffects }: PolicySubject): "none" | "unknown" {
  return changesNothing(sideEffects) ? "none" : "unknown";
}

/**
 * Returns what a person is asked for a tool, frozen.
 *
 * @param number Which question of the call it is, from 1 on.
 */
function questionRequest(call: PlacedCall, number: number, given: Question): QuestionRequest {
  const { received, ctx, principal, caller, registered } = call;
  const { id: callId } = received;
  const { sessionId, turnId, messageId } = ctx;
  const { question, choices, multiple = false, timeoutMs } = given;
  const shown: JsonObject = {
    sessionId,
    turnId: turnId ?? null,
    messageId: messageId ?? null,
    callId,
    number,
    definitionDigest: registered.definition.digest,
    question,
    choices: choices ?? null,
    multiple,
  };
  return Object.freeze({
    callId,
    sessionId,
    tool: registered.subject,
    question,
    multiple,
    ...(turnId !== undefined && { turnId }),
    ...(messageId !== undefined && { messageId }),
    ...(principal !== undefined && { principal }),
    ...(caller !== undefined && { parent: caller.callId }),
    ...(choices !== undefined && { choices }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    digest: new CanonicalJson(shown).digest,
  });
}
