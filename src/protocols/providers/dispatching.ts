import type { DispatchContext } from "../../engine/call/context.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import type { ToolCall } from "../../engine/call.ts";
import { ToolDispatchEngine } from "../../engine/engine.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import type { ResultBudget } from "../../engine/result-budget.ts";
import { parseJson } from "../../json/parse.ts";
import { ARGUMENT_BOUNDS } from "../../json/refusal.ts";
import type { ProviderProtocol, ToolSetOptions } from "../protocol.ts";

/** A turn of a session, as `session.turn()` of `sandgate/sessions` returns it. */
export interface ToolSetTurn {
  /** The tools that the session can see. */
  readonly registry: ToolRegistry;
  readonly resultBudget?: ResultBudget | undefined;
  dispatch(call: ToolCall): Promise<ToolExecution | null>;
  cancel(): Promise<void>;
}

/** Dispatches the calls of a framework's tools. */
export interface ToolSetCaller {
  readonly registry: ToolRegistry<never>;
  readonly resultBudget: ResultBudget | undefined;
  /** @param signal The framework's signal, which cancels the call or the turn. */
  dispatch(call: ToolCall, signal?: AbortSignal): Promise<ToolExecution | null>;
}

/**
 * Returns a caller for a context or a turn.
 *
 * @throws {TypeError} if an engine is given along with a turn, whose session has its own.
 */
export function toolSetCaller<Embedder>(
  of: DispatchContext<Embedder> | ToolSetTurn,
  engine: ToolSetOptions["engine"],
  protocol: Pick<ProviderProtocol, "toAlias">,
): ToolSetCaller {
  if (!isTurn(of)) {
    const ctx = withAliases(of, protocol) as DispatchContext;
    const dispatcher = engine ?? new ToolDispatchEngine();
    return {
      registry: ctx.registry,
      resultBudget: ctx.resultBudget,
      dispatch: (call, signal) => dispatcher.dispatch(call, withSignal(ctx, signal)),
    };
  }
  if (engine !== undefined)
    throw new TypeError("a turn has no option 'engine': its session dispatches the calls");
  return {
    registry: of.registry,
    resultBudget: of.resultBudget,
    dispatch: (call, signal) => inTurn(of, call, signal),
  };
}

function isTurn(of: object): of is ToolSetTurn {
  return "dispatch" in of && typeof of.dispatch === "function";
}

/** A framework aborts all calls of a generation at once, so the turn is cancelled. */
async function inTurn(
  turn: ToolSetTurn,
  call: ToolCall,
  signal: AbortSignal | undefined,
): Promise<ToolExecution | null> {
  const cancel = (): void => void turn.cancel();
  if (signal?.aborted) cancel();
  else signal?.addEventListener("abort", cancel, { once: true });
  try {
    return await turn.dispatch(call);
  } finally {
    signal?.removeEventListener("abort", cancel);
  }
}

/** Adds the names under which an SDK offers the tools to a context that has none. */
function withAliases<Embedder>(
  ctx: DispatchContext<Embedder>,
  { toAlias }: Pick<ProviderProtocol, "toAlias">,
): DispatchContext<Embedder> {
  return ctx.toolAlias === undefined ? { ...ctx, toolAlias: toAlias } : ctx;
}

/** Adds the abort signal of an SDK to a context. */
function withSignal(ctx: DispatchContext, signal: AbortSignal | undefined): DispatchContext {
  if (signal === undefined) return ctx;
  return { ...ctx, signal: ctx.signal === undefined ? signal : AbortSignal.any([ctx.signal, signal]) };
}

/** Returns a call that an SDK has refused with a problem, so that it fails in the engine even if the engine would accept it. */
export function asRefused(call: ToolCall, registry: ToolRegistry<never>): ToolCall {
  const { name, arguments: args, problem } = call;
  const takesJson = registry.has(name) && registry.get(name).freeform !== true;
  const isRefused =
    !registry.has(name) ||
    problem !== undefined ||
    (takesJson && typeof args === "string" && !("value" in parseJson(args, ARGUMENT_BOUNDS, "last")));
  return isRefused ? call : { ...call, problem: "Invalid tool call: the SDK refused it" };
}
