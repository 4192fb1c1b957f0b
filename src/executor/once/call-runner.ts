import { plainText } from "../../base/text.ts";
import type { DispatchContext } from "../../engine/call/context.ts";
import { EventStream } from "../../engine/call/events.ts";
import { NOTHING_RAN, type ToolExecution } from "../../engine/call/execution.ts";
import { elapsedMs } from "../../engine/call.ts";
import { ToolDispatchEngine } from "../../engine/engine.ts";
import { abortedByHookText, CANCELLED_TEXT } from "../../engine/errors.ts";
import { continueTrace } from "../../engine/reporting/reporter.ts";
import { sealExecution } from "../../engine/result.ts";
import { shorten } from "../../engine/result-budget.ts";
import { type DispatchRequest, MAX_MODEL_TEXT } from "../../remote-protocol/shapes.ts";
import type { ExecutorMetrics } from "../metrics.ts";
import type { DispatchedCall } from "./dispatched-call.ts";

/** The parts of an executor's dispatch context: its own tools, policy, sandboxes and hooks. */
export type ExecutorContext<Embedder = unknown> = Omit<
  DispatchContext<Embedder>,
  "sessionId" | "principal" | "signal" | "waitedMs" | "turn" | "upperBound" | "resultBudget" | "toolAlias"
>;

/** The text for later requests of a call that was cancelled because all its clients disconnected. */
const ABANDONED_TEXT = `${CANCELLED_TEXT}: the client disconnected before it finished`;

/** Runs calls in the engine, with their callers' grants as upper bounds. */
export class CallRunner {
  #context: ExecutorContext;
  readonly #maxMs: number;
  readonly #metrics: ExecutorMetrics;
  readonly #engine = new ToolDispatchEngine();

  /** @param maxMs Maximum wall time of any call, in ms. */
  constructor(context: ExecutorContext, maxMs: number, metrics: ExecutorMetrics) {
    this.#context = context;
    this.#maxMs = maxMs;
    this.#metrics = metrics;
  }

  get context(): ExecutorContext {
    return this.#context;
  }

  /** Replaces the context for calls that start later. */
  set context(context: ExecutorContext) {
    this.#context = context;
  }

  /**
   * Runs a call.
   *
   * @param leftMs Remaining milliseconds for which the caller waits.
   * @returns the execution as JSON text; `undefined` if the call was cancelled because all its clients
   *   disconnected, and had no effect.
   */
  run(call: DispatchedCall, leftMs: number): Promise<string | undefined> {
    const { request, principal, trace, signal } = call;
    const { limits, capabilities } = request.grant;
    // The caller's timeout is treated as a limit of the wall time, which saves a second timer.
    const least = Math.min(leftMs, this.#maxMs, limits.wallTimeMs ?? Number.POSITIVE_INFINITY);
    const upperBound = { limits: { ...limits, wallTimeMs: Math.ceil(least) }, capabilities };
    const known = principal === undefined ? {} : { principal };
    const { tracer } = this.#context;
    const traced = tracer && trace ? { tracer: continueTrace(tracer, trace) } : {};
    const waitedMs = performance.now() - call.arrivedAt;
    const own = { sessionId: request.session, ...known, ...traced, signal, waitedMs, turn: call, upperBound };
    const silent = { ...this.#context, ...own };
    const ctx = call.isStreamed ? { ...silent, events: this.#eventsOf(call) } : silent;
    return this.#engine.dispatch(request.call, ctx).then((execution) => this.#conclude(call, execution));
  }

  #conclude(call: DispatchedCall, dispatched: ToolExecution | null): string | undefined {
    const { request, arrivedAt, isAbandoned, principal } = call;
    const execution = dispatched ?? abortedExecution(request, arrivedAt);
    const { error, sandbox } = execution;
    const { name: tool } = request.call;
    const outcome = error?.code ?? "ok";
    this.#metrics.executed(
      { tool, sandbox, caller: principal?.id, outcome, durationMs: performance.now() - arrivedAt },
      this.#context.registry.has(tool),
    );
    if (!isAbandoned || error?.code !== "cancelled") return JSON.stringify(reportedExecution(execution));
    if (error.effect === "none") return undefined;
    // Later requests get this execution, although their clients did not cancel the call.
    return JSON.stringify({ ...reportedExecution(execution), error: { ...error, message: ABANDONED_TEXT } });
  }

  /**
   * Creates an event stream that passes the events of a call to its waiters and to the executor's listeners.
   */
  #eventsOf(call: DispatchedCall): EventStream {
    const events = new EventStream();
    const { events: own } = this.#context;
    events.on((event) => {
      if (own?.listening) own.emit(event);
      // Nested calls have other ids. Their output is not output of this call.
      const isOwn = event.callId === call.request.call.id;
      if (isOwn && (event.type === "tool.output" || event.type === "tool.log")) call.sendEvent(event);
    });
    return events;
  }
}

/**
 * An execution without the members that are not part of the protocol: who confirmed the call and answered its
 * questions is for this executor's own journal, and streamed output has been reported already. The text for
 * the model is bounded.
 */
function reportedExecution(execution: ToolExecution): ToolExecution {
  const { confirmation, questions, partialOutput, work, modelText, ...reported } = execution;
  if (modelText !== undefined) {
    // The client does not know that a program wrote it.
    const isOfProgram = reported.sandbox === "process" || reported.sandbox === "microvm";
    const text = isOfProgram ? plainText(modelText) : modelText;
    return { ...reported, modelText: shorten(text, MAX_MODEL_TEXT, 0.6) };
  }
  return confirmation === undefined &&
    questions === undefined &&
    partialOutput === undefined &&
    work === undefined
    ? execution
    : reported;
}

/** A call that a hook aborts has no execution, but the protocol requires one. */
function abortedExecution({ call }: DispatchRequest, startedAt: number): ToolExecution {
  const { id: callId, name: toolName, arguments: args } = call;
  const result = {
    callId,
    toolName,
    arguments: args,
    success: false,
    output: null,
    durationMs: elapsedMs(startedAt),
    sandbox: null,
    receipt: NOTHING_RAN,
  };
  const error = {
    code: "permission_denied",
    message: abortedByHookText(),
    effect: "none",
    userVisible: true,
  } as const;
  return sealExecution(result, { error });
}
