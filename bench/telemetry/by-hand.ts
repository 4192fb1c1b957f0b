import { type Context, context, type Histogram, SpanKind, type Tracer, trace } from "@opentelemetry/api";
import type { DispatchContext, ToolCall, ToolDispatchEngine, ToolExecution } from "sandgate";

/** Dispatches a call in a span made by hand, with the attributes that `instrument` sets for the same call. */
export async function dispatchByHand(
  engine: ToolDispatchEngine,
  call: ToolCall,
  ctx: DispatchContext,
  { tracer, duration }: { readonly tracer: Tracer; readonly duration: Histogram },
): Promise<ToolExecution | null> {
  const above = context.active();
  const attributes = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": call.name,
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.id": call.id,
    "gen_ai.conversation.id": ctx.sessionId,
  };
  const span = tracer.startSpan(`execute_tool ${call.name}`, { kind: SpanKind.INTERNAL, attributes }, above);
  const own: Context = trace.setSpan(above, span);
  const execution = (await context.with(own, () => engine.dispatch(call, ctx))) as ToolExecution;
  duration.record(
    execution.durationMs / 1_000,
    { "gen_ai.tool.name": call.name, "gen_ai.tool.type": "function" },
    own,
  );
  span.setAttribute("sandgate.policy.decision", "allow");
  span.setAttribute("sandgate.policy.duration", execution.durationMs / 1_000);
  span.setAttribute("sandgate.policy.rules", ["all"]);
  span.setAttribute("sandgate.sandbox", execution.sandbox ?? "");
  span.setAttribute("sandgate.receipt.used.wall_time_ms", execution.receipt.used.wallTimeMs);
  span.setAttribute("sandgate.receipt.used.output_bytes", execution.receipt.used.outputBytes ?? 0);
  span.end();
  return execution;
}
