import { adopt, isThenable } from "../../base/promises.ts";
import { describeThrown } from "../../base/thrown.ts";
import type { TraceHeaders } from "../../base/trace-headers.ts";
import type { CanonicalJson } from "../../json/canonical.ts";
import type { ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import type { PolicyDecision } from "../../policy/policy.ts";
import type { Principal } from "../../policy/principal.ts";
import type { TaskObserver } from "../../sandboxes/contract/sandbox.ts";
import type { SideEffects } from "../../tool/side-effects.ts";
import type { Display, LogLevel } from "../../tool/streamed.ts";
import type { DispatchContext } from "../call/context.ts";
import type {
  CallTrace,
  CallTracer,
  DispatchEvent,
  DispatchEventBody,
  EventStream,
  TracedDecision,
} from "../call/events.ts";
import type { ToolExecution } from "../call/execution.ts";
import type { ReceivedCall, ToolCall } from "../call.ts";
import type { DispatchFailure } from "../errors.ts";
import { type CallProgress, linkProgress } from "./progress.ts";
import { redactEvent } from "./redacted.ts";

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/**
 * Emits the events of one call until it has its result; later output and log lines are dropped. An event is created
 * only if there is a listener. The decision on the call and its end also go to its trace.
 */
export class Reporter implements TaskObserver {
  readonly #callId: string;
  readonly #toolName: string;
  readonly #principal: Principal | undefined;
  readonly #parent: string | undefined;
  readonly #ctx: Pick<DispatchContext, "events" | "redaction" | "sessionId">;
  readonly #trace: CallTrace | undefined;
  readonly #progress: CallProgress | undefined;
  #closed = false;

  /** Returns the reporter of a call. Calls without an event stream and a trace share one. */
  static of(
    call: Pick<ToolCall, "id" | "name">,
    ctx: DispatchContext,
    principal: Principal | undefined,
    parent: string | undefined,
    followed: Followed,
  ): Reporter {
    if (ctx.events === undefined && followed.trace === undefined) return SILENT;
    return new Reporter(call, ctx, principal, parent, followed);
  }

  constructor(
    { id, name }: Pick<ToolCall, "id" | "name">,
    ctx: Pick<DispatchContext, "events" | "redaction" | "sessionId">,
    principal: Principal | undefined,
    parent?: string,
    { trace, progress }: Followed = NOT_FOLLOWED,
  ) {
    this.#progress = progress;
    this.#parent = parent;
    this.#callId = id;
    this.#toolName = name;
    this.#principal = principal;
    this.#ctx = ctx;
    this.#trace = trace;
  }

  /** Whether {@link decided} does anything. */
  get reportsDecisions(): boolean {
    return this.#trace !== undefined || this.listening;
  }

  get listening(): boolean {
    return this.#stream() !== undefined;
  }

  /** Reports the decision of a policy: `tool.decided`. */
  decided(
    decision: PolicyDecision,
    policyRevision: string | undefined,
    confirmedBy: string | undefined,
    durationMs: number,
  ): void {
    if (!this.reportsDecisions) return;
    const { rules = NO_RULES } = decision;
    const reason = reasonOf(decision);
    const decided: TracedDecision = {
      type: "tool.decided",
      decision: decision.decision,
      rules,
      ...(reason !== undefined && { reason: describeThrown(reason).detail }),
      ...(decision.decision === "deny" && decision.near !== undefined && { near: decision.near }),
      ...(policyRevision !== undefined && { policyRevision }),
      ...(confirmedBy !== undefined && { confirmedBy }),
      durationMs,
    };
    if (this.#trace !== undefined) follow(this.#trace, (trace) => trace.decided(decided));
    this.#emit(decided);
  }

  /** Emits `tool.started`. Called right before the call runs. */
  started(
    grant: ExecutionGrant,
    sideEffects: SideEffects,
    canonical: CanonicalJson,
    rules: readonly string[] | undefined,
    policyRevision: string | undefined,
  ): void {
    const events = this.#stream();
    if (events === undefined) return;
    const { sessionId } = this.#ctx;
    const event: Writable<Extract<DispatchEvent, { readonly type: "tool.started" }>> = {
      callId: this.#callId,
      sessionId,
      toolName: this.#toolName,
      at: Date.now(),
      type: "tool.started",
      grant,
      sideEffects,
      canonical,
      rules: rules ?? NO_RULES,
    };
    if (policyRevision !== undefined) event.policyRevision = policyRevision;
    this.#send(events, event);
  }

  output(chunk: string): void {
    if (!this.#closed) this.#emit({ type: "tool.output", chunk });
  }

  log(level: LogLevel, message: string): void {
    if (!this.#closed) this.#emit({ type: "tool.log", level, message });
  }

  display({ format, source }: Display): void {
    if (!this.#closed) this.#emit({ type: "tool.display", format, source });
  }

  /** Reports that a hook aborted the call: `tool.aborted`, its last event. */
  aborted(): void {
    this.#closed = true;
    if (this.#trace !== undefined) follow(this.#trace, (trace) => trace.ended({ execution: null }));
    this.#emit({ type: "tool.aborted" });
  }

  /** Reports the result of the call: `tool.completed` or `tool.failed`, its last event. */
  ended(
    execution: ToolExecution,
    failure: DispatchFailure | undefined,
    rules: readonly string[] = NO_RULES,
  ): void {
    this.#closed = true;
    if (this.#trace !== undefined) {
      const { detail, reference } = failure ?? {};
      follow(this.#trace, (trace) => trace.ended({ execution, detail, reference }));
    }
    if (failure !== undefined) {
      const { detail, problems, reference } = failure;
      this.#emit({
        type: "tool.failed",
        execution,
        rules,
        ...(detail !== undefined && { detail }),
        ...(problems !== undefined && { problems: Object.freeze(problems) }),
        ...(reference !== undefined && { reference, level: "error" }),
      });
      return;
    }
    const events = this.#stream();
    if (events === undefined) return;
    const { sessionId } = this.#ctx;
    this.#send(events, {
      callId: this.#callId,
      sessionId,
      toolName: this.#toolName,
      at: Date.now(),
      type: "tool.completed",
      execution,
      rules,
    });
  }

  /** Emits an event with the principal and the parent of the call. */
  #send(events: EventStream, event: Writable<DispatchEvent>): void {
    if (this.#principal !== undefined) event.principal = this.#principal;
    if (this.#parent !== undefined) event.parent = this.#parent;
    const { redaction } = this.#ctx;
    if (this.#progress !== undefined) linkProgress(event, this.#progress);
    try {
      events.emit(
        redaction === undefined ? (event as DispatchEvent) : redactEvent(event as DispatchEvent, redaction),
      );
    } catch {
      // A stream of the embedder's own must not affect the call.
    }
  }

  /** The stream, if it has a listener. */
  #stream(): EventStream | undefined {
    const { events } = this.#ctx;
    return events?.listening ? events : undefined;
  }

  /** The events of successful calls are written out above: the spread costs more than everything else here. */
  #emit(body: DispatchEventBody): void {
    const { sessionId } = this.#ctx;
    const events = this.#stream();
    if (events === undefined) return;
    this.#send(events, {
      callId: this.#callId,
      sessionId,
      toolName: this.#toolName,
      at: Date.now(),
      ...body,
    });
  }
}

/** A policy of the embedder may give anything as its text. */
function reasonOf(decision: PolicyDecision): unknown {
  if (decision.decision === "allow") return undefined;
  return decision.decision === "ask" ? decision.question : decision.reason;
}

/** What observes a call besides its listeners. */
interface Followed {
  readonly trace: CallTrace | undefined;
  readonly progress: CallProgress | undefined;
}

const NOT_FOLLOWED: Followed = { trace: undefined, progress: undefined };

const NO_RULES: readonly string[] = Object.freeze([]);

const SILENT = new Reporter({ id: "", name: "" }, { sessionId: "" }, undefined);

/** Begins the trace of a call. Returns `undefined` if the tracer fails. */
export function beginTrace(
  tracer: CallTracer,
  { id: callId, name: toolName }: ReceivedCall,
  { registry, sessionId, redaction }: DispatchContext,
  parent: CallTrace | undefined,
): CallTrace | undefined {
  try {
    const description = registry.find(toolName)?.tool.description;
    return tracer.begin({ callId, toolName, sessionId, description, parent, redaction });
  } catch {
    // Tracing must not affect the call.
    return undefined;
  }
}

/** Continues the trace of a request. A tracer that fails begins a trace of its own for each call. */
export function continueTrace(tracer: CallTracer, headers: TraceHeaders): CallTracer {
  try {
    return tracer.continue(headers);
  } catch {
    // Tracing must not affect the call.
    return tracer;
  }
}

/** Notifies a trace. Never throws. */
function follow(trace: CallTrace, notify: (trace: CallTrace) => unknown): void {
  try {
    const notified = notify(trace);
    // An unhandled rejection would end the process.
    if (isThenable(notified)) adopt(notified).catch(() => {});
  } catch {
    // Tracing must not affect the call.
  }
}

/**
 * Runs a call's work as a part of its trace: once, whatever the trace does. What the work returns later belongs to the trace,
 * too.
 *
 * @throws what the work throws.
 */
export function runTraced<Result>(trace: CallTrace, work: () => Result): Result {
  let end: { readonly result: Result } | { readonly thrown: unknown } | undefined;
  const runOnce = (): Result => {
    if (end === undefined) {
      try {
        end = { result: work() };
      } catch (thrown) {
        end = { thrown };
      }
    }
    if ("thrown" in end) throw end.thrown;
    return end.result;
  };
  follow(trace, () => {
    const returned = trace.run(runOnce);
    return end !== undefined && "result" in end && returned === end.result ? undefined : returned;
  });
  return runOnce();
}
