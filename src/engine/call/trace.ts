import type { TraceHeaders } from "../../base/trace-headers.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import type { TaskTrace } from "../../sandboxes/contract/task.ts";
import type { DispatchEventBody } from "./events.ts";
import type { ToolExecution } from "./execution.ts";

/** Follows calls as they are dispatched. `callTracer` of `sandgate/opentelemetry` makes one that writes spans. */
export interface CallTracer {
  /** Called when a call arrives, before anything is checked. A call whose tracer throws is not followed. */
  begin(call: TracedCall): CallTrace;
  /** Returns a tracer whose calls belong to the trace of a request. */
  continue(headers: TraceHeaders): CallTracer;
}

/** A call that has arrived. Its id and its name are what the model sent, of any length. */
export interface TracedCall {
  readonly callId: string;
  readonly toolName: string;
  readonly sessionId: string;
  /** Of the tool; `undefined` if no tool has this name. */
  readonly description: string | undefined;
  /** The call whose tool makes this one; `undefined` for a call of the model. */
  readonly parent: CallTrace | undefined;
  /** The redaction of the context. */
  readonly redaction: Redaction | undefined;
}

/** Follows one call until {@link CallTrace.ended}. Errors that its methods throw are ignored. */
export interface CallTrace extends TaskTrace {
  /** A policy decided on the call: called again after a person has confirmed it. */
  decided(decision: TracedDecision): void;
  /** Runs the call's work, such that what the work traces belongs to the call. Returns what `work` returns. The work runs once, also if this method does not run it. */
  run<Result>(work: () => Result): Result;
  /** The last call: the call has its result. */
  ended(end: TracedEnd): void;
}

/** The event `tool.decided`, not redacted. */
export type TracedDecision = Extract<DispatchEventBody, { readonly type: "tool.decided" }>;

/** The result of a call, not redacted except as the context says. */
export interface TracedEnd {
  /** `null` if a hook aborted the call. */
  readonly execution: ToolExecution | null;
  /** Why the call failed, for operators: a stack, a path or a rule. */
  readonly detail?: string | undefined;
  /** The reference that the model reads in place of what the tool threw. */
  readonly reference?: string | undefined;
}
