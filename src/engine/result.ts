import { adopt, isThenable } from "../base/promises.ts";
import { wellFormed } from "../base/text.ts";
import { CanonicalJson } from "../json/canonical.ts";
import type { JsonObject, JsonValue } from "../json/value.ts";
import type { ResourceLimits } from "../policy/grant/limits.ts";
import type { Redaction } from "../redaction/redaction.ts";
import type { CallEffect, ResourceUse, SandboxOutcome } from "../sandboxes/contract/outcome.ts";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import { type Changes, withPaths } from "../tool/changes.ts";
import { contentProblem, contentText, isContentOutput } from "../tool/content.ts";
import type { AnsweredQuestion, GivenConfirmation } from "./call/confirmation.ts";
import { type ExecutionReceipt, NOTHING_RAN, type ToolExecution } from "./call/execution.ts";
import type { DeniedRecord } from "./call/journal.ts";
import { elapsedMs } from "./call.ts";
import { type DispatchFailure, executionErrorText, invalidOutputText, type ToolError } from "./errors.ts";
import { readFailure, withEffect } from "./failure.ts";
import { failureOf } from "./refusal.ts";
import { DEFAULT_RESULT_CHARS, modelTextOf, type ResultBudget } from "./result-budget.ts";
import { type CallState, placeOf, type StartedCall } from "./state.ts";
import { callRecord, decidedRecord } from "./steps/record.ts";
import type { Work, WorkReport } from "./work-report.ts";

/** How a step ends a call: a hook aborted it, or its sandbox returned an outcome. */
export type CallEnd = "abort" | SandboxOutcome;

/** The result of a call that a step ended: `null` if a hook aborted it. Never throws. */
export function conclude(call: CallState, end: CallEnd): ToolExecution | null {
  try {
    if (end !== "abort") return finish(call as StartedCall, end);
    recordDenial(call, { code: "aborted" });
    forget(call);
    call.reporter.aborted();
    return null;
  } catch (thrown) {
    return fail(call, thrown);
  }
}

function finish(call: StartedCall, given: SandboxOutcome): ToolExecution {
  const outcome = withEarlierWait(call, given);
  const { enforced: limits = call.task.limits } = outcome;
  // No limit was enforced on a task that did not start.
  const hasRun = outcome.status !== "unavailable" && outcome.status !== "refused";
  const enforced = hasRun ? limits : NOTHING_RAN.enforced;
  const used = Object.freeze(useOf(call, outcome));
  const { grant } = call.task;
  const { isolation } = outcome;
  // Most receipts have only these three members: spreading the optional ones would cost each of them a copy.
  const receipt = Object.freeze(
    isolation === undefined && !wasStopped(outcome)
      ? { enforced, used, grant }
      : {
          enforced,
          used,
          ...(wasStopped(outcome) && endOf(outcome)),
          grant,
          ...(hasRun && isolation !== undefined && { isolation }),
        },
  );
  const read = readOutcome(call, outcome, limits);
  const { failure } = read;
  const corrected = failure === undefined ? read : { ...read, failure: withEffect(call, outcome, failure) };
  return seal(call, receipt, corrected, outcome);
}

/** An outcome as the conversation gets it. */
interface ReadOutcome {
  readonly output: JsonValue;
  readonly failure?: DispatchFailure;
  readonly metadata?: JsonObject;
}

/** @throws {TypeError} if the outcome is not one. */
function readOutcome(call: StartedCall, outcome: SandboxOutcome, limits: ResourceLimits): ReadOutcome {
  if (outcome.status === "completed") {
    const { outputSchema } = call.registered;
    const read = readContent(outcome.output, outcome.effect);
    return outputSchema === undefined || read.failure !== undefined
      ? read
      : checkOutputSchema(read, outputSchema, outcome.effect);
  }
  const failure = readFailure(call, outcome, limits);
  const metadata = outcome.status === "failed" ? outcome.metadata : undefined;
  return { output: null, failure, ...(metadata !== undefined && { metadata }) };
}

/** Fails a call whose output is not what the tool declares. */
function checkOutputSchema(read: ReadOutcome, schema: CompiledSchema, effect: CallEffect): ReadOutcome {
  const problems = schema.validate(read.output);
  if (problems === undefined) return read;
  const message = executionErrorText(invalidOutputText(problems));
  return { output: null, failure: { code: "execution_error", message, effect, userVisible: true } };
}

/** Splits an output with content into blocks for the model, metadata for the embedder, and a failure if it is one. */
function readContent(output: JsonValue, effect: CallEffect): ReadOutcome {
  if (!isContentOutput(output)) {
    const problem = contentProblem(output);
    if (problem === undefined) return { output };
    // As JSON, the model would read images as base64, and metadata that are not for it.
    const message = executionErrorText(invalidOutputText([problem]));
    return { output: null, failure: { code: "execution_error", message, effect, userVisible: true } };
  }
  const { content, success = true, metadata } = output;
  return {
    output: Object.freeze({ content }) as unknown as JsonObject,
    ...(metadata !== undefined && { metadata }),
    ...(!success && {
      failure: {
        code: "execution_error",
        effect,
        userVisible: true,
        message: executionErrorText(contentText(content)),
      },
    }),
  };
}

/** Adds how long the call waited before it was dispatched. */
function withEarlierWait({ task: { waitedMs = 0 } }: StartedCall, outcome: SandboxOutcome): SandboxOutcome {
  const earlierMs = Math.round(waitedMs);
  if (earlierMs === 0) return outcome;
  const { used } = outcome;
  return { ...outcome, used: { ...used, waitedMs: earlierMs + (used.waitedMs ?? 0) } };
}

/** Whether a task was ended before it returned, or may not have ended at all. */
function wasStopped({ status, mayStillRun }: SandboxOutcome): boolean {
  return (
    mayStillRun === true || status === "timeout" || status === "cancelled" || status === "limit_exceeded"
  );
}

function endOf({ mayStillRun, ended }: SandboxOutcome): Pick<ExecutionReceipt, "mayStillRun" | "ended"> {
  return mayStillRun ? { mayStillRun, ended: ended ?? "unknown" } : { ended: ended ?? "confirmed" };
}

/** What the call used. Its sandbox counts the calls that the tool made, not those that they made in turn. */
function useOf({ nestedBudget }: CallState, { used }: SandboxOutcome): ResourceUse {
  if (nestedBudget === undefined || nestedBudget.used === 0) return used;
  return { ...used, nestedCalls: nestedBudget.used };
}

/** The result of a call in which a step threw: a refusal, or anything else. Never throws. */
export function fail(call: CallState, thrown: unknown): ToolExecution {
  const { task } = call;
  const { used } = NOTHING_RAN;
  const receipt =
    task === undefined ? NOTHING_RAN : Object.freeze({ enforced: task.limits, used, grant: task.grant });
  const failure = failureOf(thrown, task === undefined ? "none" : "unknown");
  // What ran before the call was suspended may have had an effect.
  const hasBegun = call.received.isSuspended === true && call.task === undefined;
  return seal(call, receipt, {
    output: null,
    failure: hasBegun ? { ...failure, effect: "unknown" } : failure,
  });
}

/** Forgets a call that was suspended. The result does not wait for it: what is not forgotten cannot continue. */
function forget(call: CallState): void {
  if (call.suspension !== undefined) void call.suspension.close();
  else if (call.received.isSuspended === true) void call.ctx.suspensions?.forget(placeOf(call));
}

function seal(
  call: CallState,
  receipt: ExecutionReceipt,
  read: ReadOutcome,
  outcome?: SandboxOutcome,
): ToolExecution {
  const { id: callId, name: toolName } = call.received;
  const { redaction, resultBudget } = call.ctx;
  const { output, failure, metadata } = redaction === undefined ? read : withoutSecrets(read, redaction);
  const { confirmation, questions } = call;
  const changes = outcome?.changes && frozenChanges(outcome.changes, redaction);
  const writtenElsewhere = outcome?.status === "completed" ? outcome.modelText : undefined;
  const execution = sealExecution(
    {
      callId,
      toolName,
      arguments: call.input,
      success: failure === undefined,
      output,
      durationMs: elapsedMs(call.startedAt, outcome?.endedAt),
      sandbox: call.grant?.sandbox ?? null,
      receipt: recordEnd(call, receipt, output, failure, changes),
    },
    {
      error: failure,
      metadata,
      confirmation,
      resultBudget,
      partialOutput:
        failure?.code === "cancelled" || failure?.code === "timeout" ? streamed(call) : undefined,
      changes,
      questions,
      work: call.workReport && workOf(call.workReport, redaction),
      modelText:
        failure === undefined && call.caller === undefined
          ? readByModel(call, output, writtenElsewhere)
          : undefined,
    },
  );
  forget(call);
  call.reporter.ended(execution, failure, call.decision?.rules);
  return execution;
}

/** What only some executions have. */
interface AddedParts {
  readonly error?: ToolError | undefined;
  readonly metadata?: JsonObject | undefined;
  readonly confirmation?: GivenConfirmation | undefined;
  readonly resultBudget?: ResultBudget | undefined;
  readonly partialOutput?: string | undefined;
  readonly changes?: Changes | undefined;
  readonly questions?: readonly AnsweredQuestion[] | undefined;
  readonly work?: Work | undefined;
  readonly modelText?: string | undefined;
}

/**
 * Freezes a call's result, with its metadata and the parts of a failure that the model may see.
 *
 * @param execution Taken over and frozen itself if there is nothing to add: a copy would cost more than the check.
 */
export function sealExecution(
  execution: Omit<ToolExecution, keyof AddedParts>,
  {
    error,
    metadata,
    confirmation,
    resultBudget,
    partialOutput,
    changes,
    questions,
    work,
    modelText,
  }: AddedParts,
): ToolExecution {
  if (
    error === undefined &&
    metadata === undefined &&
    confirmation === undefined &&
    resultBudget === undefined &&
    changes === undefined &&
    questions === undefined &&
    work === undefined &&
    modelText === undefined
  ) {
    return Object.freeze(execution);
  }
  return Object.freeze({
    ...execution,
    ...(error !== undefined && {
      error: Object.freeze({
        code: error.code,
        message: wellFormed(error.message),
        effect: error.effect,
        userVisible: error.userVisible,
        ...(error.limit !== undefined && { limit: error.limit }),
      }),
    }),
    ...(partialOutput !== undefined && { partialOutput }),
    ...(metadata !== undefined && { metadata }),
    ...(changes !== undefined && { changes }),
    ...(confirmation !== undefined && { confirmation: Object.freeze(confirmation) }),
    ...(questions !== undefined && { questions: Object.freeze(questions) }),
    ...(work !== undefined && { work: Object.freeze(work) }),
    ...(modelText !== undefined && { modelText: wellFormed(modelText) }),
    ...(resultBudget !== undefined && { resultBudget: Object.freeze({ ...resultBudget }) }),
  });
}

/**
 * Returns how the model reads an output, if its tool says so.
 *
 * @param elsewhere What it said where it ran. Where a tool declares what its output is, the model reads nothing beside that.
 */
function readByModel(
  { registered, received, input, ctx }: CallState,
  output: JsonValue,
  elsewhere: string | undefined,
): string | undefined {
  if (registered?.tool.modelText === undefined) {
    if (elsewhere === undefined || registered?.outputSchema !== undefined) return undefined;
    return ctx.redaction?.results ? ctx.redaction.text(elsewhere) : elsewhere;
  }
  const { name: toolName } = received;
  return modelTextOf(registered.tool, output, {
    chars: ctx.resultBudget?.chars ?? DEFAULT_RESULT_CHARS,
    input,
    toolName,
  });
}

/** Changes arrive as a copy of a thread or an executor, or from a sandbox of the embedder. */
function frozenChanges(changes: Changes, redaction: Redaction | undefined): Changes {
  return withPaths(changes, (path) => (redaction?.results ? redaction.text(path) : path));
}

/** Returns what a tool did, without secrets. */
function workOf({ work }: WorkReport, redaction: Redaction | undefined): Work {
  const log = redaction === undefined ? work.log : work.log.map((line) => redaction.text(line));
  return { ...work, calls: Object.freeze(work.calls), log: Object.freeze(log) };
}

function streamed({ partialOutput, ctx }: CallState): string | undefined {
  return ctx.partialOutput && partialOutput?.text(ctx.partialOutput);
}

/** The secrets in what a tool threw never pass; those in an output do, unless the redaction says otherwise. */
function withoutSecrets(read: ReadOutcome, redaction: Redaction): ReadOutcome {
  const { output, failure, metadata } = read;
  return {
    output: redaction.results ? redaction.json(output) : output,
    ...(failure && { failure: { ...failure, message: redaction.text(failure.message) } }),
    ...(metadata && { metadata: redaction.results ? redaction.json(metadata) : metadata }),
  };
}

/**
 * Records how a call ended, or that it did not run. Never throws.
 *
 * @returns The receipt, which says so if the end of a call that ran could not be recorded.
 */
function recordEnd(
  call: CallState,
  receipt: ExecutionReceipt,
  output: JsonValue,
  failure: DispatchFailure | undefined,
  changes?: Changes,
): ExecutionReceipt {
  const { journal } = call.ctx;
  if (journal === undefined) return receipt;
  try {
    if (!call.isRecorded) {
      const { code, detail: reason } = failure as DispatchFailure;
      recordDenial(call, { code, ...(reason !== undefined && { reason }) });
      return receipt;
    }
    ignoreRejection(
      journal.end({
        ...callRecord(call),
        success: failure === undefined,
        receipt,
        ...(failure !== undefined && { code: failure.code, effect: failure.effect }),
        ...(failure?.limit !== undefined && { limit: failure.limit }),
        output: new CanonicalJson(output),
        ...(changes !== undefined && { changes }),
        ...(call.questions !== undefined && { questions: call.questions }),
      }),
    );
    return receipt;
  } catch {
    return Object.freeze({ ...receipt, recorded: false });
  }
}

/** Records a call that does not run. Never throws. */
function recordDenial(call: CallState, why: Pick<DeniedRecord, "code" | "reason">): void {
  try {
    ignoreRejection(call.ctx.journal?.deny({ ...decidedRecord(call), ...why }));
  } catch {
    // Nothing ran, so no effect lacks its record.
  }
}

/** A journal of the embedder's may return a promise where none is awaited: an unhandled rejection would end the process. */
function ignoreRejection(returned: unknown): void {
  if (isThenable(returned)) adopt(returned).catch(() => {});
}
