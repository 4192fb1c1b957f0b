import type { DispatchContext } from "../../engine/call/context.ts";
import { abortedByHookText, CANCELLED_TEXT } from "../../engine/call/errors.ts";
import { EventStream } from "../../engine/call/events.ts";
import { NOTHING_RAN, sealExecution, type ToolExecution } from "../../engine/call/execution.ts";
import { ToolDispatchEngine } from "../../engine/engine.ts";
import type { DispatchRequest } from "../../remote-protocol/messages.ts";
import type { ExecutorMetrics } from "../load/metrics.ts";
import type { DispatchedCall } from "./dispatched-call.ts";

/** What an executor dispatches with: its own tools, policy, sandboxes and hooks. */
export type ExecutorContext = Pick<
  DispatchContext,
  "registry" | "policy" | "sandboxes" | "hooks" | "events" | "decisionTimeoutMs" | "embedder"
>;

/** What the model reads of a call whose callers left, when it comes again. */
const ABANDONED_TEXT = `${CANCELLED_TEXT}: whoever waited for it left before it ended`;

/** Runs calls through the engine, under their callers' grants. */
export class CallRunner {
  readonly #context: ExecutorContext;
  readonly #maxMs: number;
  readonly #metrics: ExecutorMetrics;
  readonly #engine = new ToolDispatchEngine();

  /** @param maxMs The longest wall time that any call gets. */
  constructor(context: ExecutorContext, maxMs: number, metrics: ExecutorMetrics) {
    this.#context = context;
    this.#maxMs = maxMs;
    this.#metrics = metrics;
  }

  /**
   * Runs a call.
   *
   * @param leftMs How long its caller still waits.
   * @returns its execution as JSON text; `undefined` when it was cancelled since nobody waited for it, and had no
   *   effect.
   */
  run(call: DispatchedCall, leftMs: number): Promise<string | undefined> {
    const { request, signal } = call;
    const { limits, capabilities } = request.grant;
    // The caller's patience is one more limit on the wall time, so that no second timer is needed.
    const least = Math.min(leftMs, this.#maxMs, limits.wallTimeMs ?? Number.POSITIVE_INFINITY);
    const upperBound = { limits: { ...limits, wallTimeMs: Math.ceil(least) }, capabilities };
    const silent = { ...this.#context, sessionId: request.session, signal, upperBound };
    const ctx = call.isStreamed ? { ...silent, events: this.#eventsOf(call) } : silent;
    return this.#engine.dispatch(request.call, ctx).then((execution) => this.#conclude(call, execution));
  }

  #conclude(call: DispatchedCall, dispatched: ToolExecution | null): string | undefined {
    const { request, arrivedAt, isAbandoned } = call;
    const execution = dispatched ?? abortedExecution(request, arrivedAt);
    const { error } = execution;
    this.#metrics.executed(error?.code ?? "ok", performance.now() - arrivedAt);
    if (!isAbandoned || error?.code !== "cancelled") return JSON.stringify(execution);
    if (error.effect === "none") return undefined;
    // Whoever asks again did not cancel it.
    return JSON.stringify({ ...execution, error: { ...error, message: ABANDONED_TEXT } });
  }

  /** A stream of one call: its listeners hear it, and the executor's own. */
  #eventsOf(call: DispatchedCall): EventStream {
    const events = new EventStream();
    const { events: own } = this.#context;
    events.on((event) => {
      if (own?.listening) own.emit(event);
      // A nested call's id is its own: what it prints is none of its caller's output.
      const isOwn = event.callId === call.request.call.id;
      if (isOwn && (event.type === "tool.output" || event.type === "tool.log")) call.tell(event);
    });
    return events;
  }
}

/** A hook's abort has no execution, but a caller has one result for each call. */
function abortedExecution({ call }: DispatchRequest, startedAt: number): ToolExecution {
  const { id: callId, name: toolName, arguments: args } = call;
  return sealExecution(
    { callId, toolName, arguments: args, output: null, sandbox: null, receipt: NOTHING_RAN },
    startedAt,
    { code: "permission_denied", message: abortedByHookText(), effect: "none" },
    undefined,
  );
}
