import type { DispatchContext } from "../../engine/call/context.ts";
import type { ToolCall } from "../../engine/call.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import { parseJson } from "../../json/parse.ts";
import { ARGUMENT_BOUNDS } from "../../json/refusal.ts";
import type { ProviderProtocol } from "../protocol.ts";

/** Adds the names under which an SDK offers the tools to a context that has none. */
export function withAliases<Embedder>(
  ctx: DispatchContext<Embedder>,
  { toAlias }: Pick<ProviderProtocol, "toAlias">,
): DispatchContext<Embedder> {
  return ctx.toolAlias === undefined ? { ...ctx, toolAlias: toAlias } : ctx;
}

/** Adds the abort signal of an SDK to a context. */
export function withSignal(ctx: DispatchContext, signal: AbortSignal | undefined): DispatchContext {
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
