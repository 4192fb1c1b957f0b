import type { DispatchContext } from "../engine/call/context.ts";
import type { CallTracer } from "../engine/call/events.ts";
import type { ToolExecution } from "../engine/call/execution.ts";
import type { AssistantMessage, ToolMessage } from "../engine/call/messages.ts";
import type { ToolCall } from "../engine/call.ts";
import type {
  DispatchAllOptions,
  DispatchableTurn,
  DispatchTurnOptions,
  ToolDispatchEngine,
} from "../engine/engine.ts";
import { callTracer } from "./call-tracer.ts";
import type { TelemetryOptions } from "./instruments.ts";

type Results = Promise<(ToolExecution | null)[]>;

/** An engine whose contexts have a tracer. */
class TracedEngine implements ToolDispatchEngine {
  readonly #engine: ToolDispatchEngine;
  readonly #tracer: CallTracer;

  constructor(engine: ToolDispatchEngine, tracer: CallTracer) {
    this.#engine = engine;
    this.#tracer = tracer;
  }

  dispatch<Embedder = unknown>(
    call: ToolCall,
    ctx: DispatchContext<Embedder>,
  ): Promise<ToolExecution | null> {
    return this.#engine.dispatch(call, this.#traced(ctx));
  }

  async dispatchAll<Embedder = unknown>(
    calls: readonly ToolCall[],
    ctx: DispatchContext<Embedder>,
    options?: DispatchAllOptions,
  ): Results {
    return this.#engine.dispatchAll(calls, this.#traced(ctx), options);
  }

  async dispatchTurn<Embedder = unknown>(
    turn: DispatchableTurn,
    ctx: DispatchContext<Embedder>,
    options?: DispatchTurnOptions,
  ): Results {
    return this.#engine.dispatchTurn(turn, this.#traced(ctx), options);
  }

  buildToolResultMessages(
    calls: readonly ToolCall[],
    executions: readonly (ToolExecution | null)[],
    turn?: { readonly text?: string },
  ): [AssistantMessage, ToolMessage] {
    return this.#engine.buildToolResultMessages(calls, executions, turn);
  }

  /** Adds the tracer, unless the context has one: a call has only one span. */
  #traced<Embedder>(ctx: DispatchContext<Embedder>): DispatchContext<Embedder> {
    return ctx.tracer === undefined ? { ...ctx, tracer: this.#tracer } : ctx;
  }
}

/**
 * Wraps an engine. Every call that it dispatches has a span, including refused and nested ones,
 * and counts in the histogram `gen_ai.execute_tool.duration`. The `tracer` of a context is not replaced.
 *
 * @param engine An engine, or an object with its methods.
 */
export function instrument(engine: ToolDispatchEngine, options: TelemetryOptions = {}): ToolDispatchEngine {
  return new TracedEngine(engine, callTracer(options));
}
