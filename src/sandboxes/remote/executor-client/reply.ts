import { isJsonObject, type JsonValue } from "../../../json/value.ts";
import type { LimitName, ResourceLimits } from "../../../policy/grant/limits.ts";
import { BodyError, readProblem, readResultOf, type WrittenCall } from "../../../remote-protocol/bodies.ts";
import { isProblemCode, PROBLEMS, type ProblemCode } from "../../../remote-protocol/problems.ts";
import type { RemoteError, RemoteResult } from "../../../remote-protocol/shapes.ts";
import type { ResourceUse, SandboxOutcome } from "../../contract/outcome.ts";
import { checkOutput, outcomeOf } from "../../contract/output.ts";
import type { ExecutorReply } from "./exchange.ts";
import { failed, NOTHING_USED, refused, type Verdict } from "./verdict.ts";

/** From this status on, a response that is no problem of an executor comes from a gateway before it. */
const FIRST_GATEWAY_STATUS = 502;

/** With these, a server that refuses a call for a reason of its own may accept it later. */
const RETRY_STATUSES: readonly number[] = [PROBLEMS.overloaded.status, PROBLEMS.draining.status];

/** A call as it was sent to an executor. The response must be about this call, and within its limits. */
export interface AskedCall extends WrittenCall {
  readonly limits: ResourceLimits;
}

/**
 * Reads an executor's response, which is not trusted: checks its shape, that it is about the call, and that the
 * receipt reports every limit as enforced.
 *
 * @param streamedBytes Bytes of output that were streamed before.
 */
export function readReply(reply: ExecutorReply, asked: AskedCall, streamedBytes: number): Verdict {
  try {
    if (reply.status !== 200) return readRefusal(reply);
    const result = readResultOf(asked, reply.text);
    if (result === undefined) return failed("The tool's executor responded for another call", true);
    return readAnswer(result, asked, streamedBytes);
  } catch (error) {
    const { status } = reply;
    const detail = String(error);
    if (status === 200 || status === 0)
      return failed("The tool's executor sent an invalid response", true, detail);
    const verdict = failed(foreignReplyText(status), status >= 500, detail);
    // A gateway can have lost the connection to an executor that has the call, even if its answer looks as if
    // there were no executor.
    return status >= FIRST_GATEWAY_STATUS ? { ...verdict, isLost: true } : verdict;
  }
}

/** Returns the text for a response that does not come from an executor, but perhaps from a proxy. */
function foreignReplyText(status: number): string {
  const why = status >= 300 && status < 400 ? ": redirects are not followed" : " without a result";
  return `The tool's executor responded with HTTP ${status}${why}`;
}

/** @throws {BodyError} if the body is not a problem of the protocol: it is then unknown whether the call ran. */
function readRefusal(reply: ExecutorReply): Verdict {
  const { status, text, retryAfterMs } = reply;
  const { code, message, effect: stated } = readProblem(text).error;
  if (!isProblemCode(code)) return readOtherRefusal(reply, code, message, stated);
  const { effect, retry, status: own } = PROBLEMS[code];
  if (status !== own && status !== 0) throw new BodyError("the HTTP status does not match the problem");
  const refusal = `The tool's executor refused the call: ${message}`;
  if (effect === "unknown") return { ...failed(refusal, code === "internal_error", code), problem: code };
  const outcome: SandboxOutcome =
    code === "deadline_passed"
      ? { status: "unavailable", hasWaited: true, effect, used: NOTHING_USED, detail: code }
      : refused("sandbox_unavailable", REFUSALS[code] ?? refusal, code);
  return { outcome, isFault: false, problem: code, ...(retry && { retryAfterMs }) };
}

/** Reads a problem of a server that has more than an executor: it may be paused, for example. */
function readOtherRefusal(
  { status, retryAfterMs }: ExecutorReply,
  code: string,
  message: string,
  effect: "none" | "unknown",
): Verdict {
  const refusal = `The tool's executor refused the call: ${message}`;
  if (effect === "unknown") return failed(refusal, false, code);
  // A frame has no status, and a time if the call may be sent again.
  const isForNow = status === 0 ? retryAfterMs > 0 : RETRY_STATUSES.includes(status);
  const outcome = refused("sandbox_unavailable", refusal, code);
  return { outcome, isFault: false, ...(isForNow && { retryAfterMs }) };
}

/** Short texts for refusals that are part of normal operation. */
const REFUSALS: { readonly [Code in ProblemCode]?: string } = {
  overloaded: "The tool's executor is overloaded: try again later",
  other_executor: "The tool's executor is another process than before: try again",
  draining: "The tool's executor is shutting down: try again later",
};

function readAnswer(result: RemoteResult, asked: AskedCall, streamedBytes: number): Verdict {
  const { error, receipt } = result;
  const { enforced } = receipt;
  const outcome = readRemoteOutcome(result, asked, streamedBytes);
  const loose = error === undefined ? firstLooseLimit(enforced, asked.limits) : undefined;
  if (loose !== undefined) {
    return failed("The tool's executor did not enforce the call's limits", true, `not enforced: ${loose}`);
  }
  const used = { ...figuresOf(receipt.used), ...outcome.used };
  const { mayStillRun, ended, isolation } = receipt;
  const end = { ...(mayStillRun && { mayStillRun }), ...(ended && { ended }) };
  return {
    outcome: { ...outcome, enforced, used, changes: result.changes, ...end, ...(isolation && { isolation }) },
    isFault: false,
    isAnswer: true,
  };
}

/** Restores the output as the tool returned it: the executor's engine moved `success` and `metadata` out of it. */
function wholeOutput({ output, success, metadata }: RemoteResult): JsonValue {
  if (!isJsonObject(output) || (success && metadata === undefined)) return output;
  return { ...output, ...(!success && { success }), ...(metadata !== undefined && { metadata }) };
}

/** Returns the first limit of the call that the executor does not report as enforced. */
function firstLooseLimit(enforced: ResourceLimits, asked: ResourceLimits): LimitName | undefined {
  for (const name in asked) {
    const limit = name as LimitName;
    if ((enforced[limit] ?? Number.POSITIVE_INFINITY) > (asked[limit] ?? Number.POSITIVE_INFINITY))
      return limit;
  }
  return undefined;
}

function readRemoteOutcome(result: RemoteResult, asked: AskedCall, streamedBytes: number): SandboxOutcome {
  const { error, output, modelText } = result;
  // A failure that the tool returned as content is passed on as an output: the engine here recognises it again.
  const isReturned =
    error?.code === "execution_error" && isJsonObject(output) && Array.isArray(output["content"]);
  if (error !== undefined && !isReturned) {
    const { metadata } = result;
    const failure = readFailure(error, result.receipt.ended !== undefined);
    return failure.status === "failed" && metadata !== undefined ? { ...failure, metadata } : failure;
  }
  const effect = error?.effect ?? "committed";
  const maxBytes = asked.limits.outputBytes ?? Number.POSITIVE_INFINITY;
  const whole = wholeOutput(result);
  const text = JSON.stringify(whole);
  if (whole === output) {
    // `readResultOf` checked and froze it already.
    const outputBytes = Buffer.byteLength(text) + streamedBytes;
    const used = { wallTimeMs: 0, outputBytes };
    if (outputBytes <= maxBytes)
      return { status: "completed", output, effect, used, ...(modelText !== undefined && { modelText }) };
    return { status: "limit_exceeded", limit: "outputBytes", effect, used };
  }
  return outcomeOf(checkOutput(text, maxBytes, { streamedBytes }), effect, NOTHING_USED);
}

/** @param wasStopped Whether the executor ended the call, rather than the tool. */
function readFailure(
  { code, message, effect, userVisible = false, limit }: RemoteError,
  wasStopped: boolean,
): SandboxOutcome {
  const common = { effect, used: NOTHING_USED };
  switch (code) {
    case "timeout":
    case "cancelled":
      // A tool that ran can fail in this way by itself, in its own words.
      if (!wasStopped && effect !== "none")
        return { status: "failed", code, message, userVisible, ...common };
      return { status: code, ...common };
    case "limit_exceeded":
      return limit === undefined
        ? { status: "failed", message, userVisible, ...common }
        : { status: code, limit, ...common };
    // Not for the model: the message lists the executor's tools.
    case "not_found":
      return { status: "unavailable", ...common, detail: message };
    case "validation_error":
    case "permission_denied":
    case "user_denied":
    case "confirmation_timeout":
      // A tool that ran can fail in this way, too.
      if (effect !== "none") return { status: "failed", code, message, userVisible, ...common };
      return { status: "refused", reason: code, message, ...common };
    case "limit_unenforceable":
    case "sandbox_unavailable":
      return { status: "refused", reason: code, message, ...common };
    default:
      return { status: "failed", message, userVisible, ...common };
  }
}

const FIGURES = [
  "waitedMs",
  "memoryBytes",
  "logLines",
  "nestedCalls",
] as const satisfies readonly (keyof ResourceUse)[];

/** Selects the executor's figures that go into the receipt. Duration and network traffic are measured here instead. */
function figuresOf(used: RemoteResult["receipt"]["used"]): Partial<Record<(typeof FIGURES)[number], number>> {
  const figures: Partial<Record<(typeof FIGURES)[number], number>> = {};
  for (const name of FIGURES) {
    const figure = used[name];
    if (typeof figure === "number" && Number.isFinite(figure) && figure >= 0) figures[name] = figure;
  }
  return figures;
}
