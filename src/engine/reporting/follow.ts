import { adopt, isThenable } from "../../base/promises.ts";
import type { TraceHeaders } from "../../base/trace-headers.ts";
import type { ReceivedCall } from "../call/call.ts";
import type { DispatchContext } from "../call/context.ts";
import type { CallTrace, CallTracer } from "../call/trace.ts";

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

/** Tells a trace something. Never throws. */
export function follow(trace: CallTrace, tell: (trace: CallTrace) => unknown): void {
  try {
    const told = tell(trace);
    // An unhandled rejection would end the process.
    if (isThenable(told)) adopt(told).catch(() => {});
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
