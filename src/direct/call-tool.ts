import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import type { DispatchContext } from "../engine/call/context.ts";
import type { ToolExecution } from "../engine/call/execution.ts";
import type { ToolCall } from "../engine/call.ts";
import { ToolDispatchEngine } from "../engine/engine.ts";
import { ToolRegistry } from "../engine/registry.ts";
import type { Tool } from "../engine/tool.ts";
import type { JsonValue } from "../json/value.ts";
import { HostPolicy } from "../policy/policy.ts";
import { openSandboxes } from "../sandboxes/open-sandboxes.ts";

const NAMES: OptionNames<CallToolOptions> = { context: true, signal: true };
const CONTEXT_NAMES: OptionNames<CallToolContext> = {
  sessionId: true,
  turnId: true,
  workspace: true,
  principal: true,
  embedder: true,
};

/** Options of {@link callTool}. */
export interface CallToolOptions<Embedder = unknown> {
  /** What the tool reads of its `HostContext`. Default: the session `direct`, and nothing else. */
  readonly context?: CallToolContext<Embedder>;
  /** Cancels the call. */
  readonly signal?: AbortSignal;
}

/** The members of a tool's `HostContext` that {@link callTool} can set. */
export type CallToolContext<Embedder = unknown> = Partial<
  Pick<DispatchContext<Embedder>, "sessionId" | "turnId" | "workspace" | "principal" | "embedder">
>;

/**
 * Validates arguments and runs a tool's host implementation, without a policy, hooks, limits or events. For tests and
 * scripts of a tool's author; calls of a model belong to `ToolDispatchEngine.dispatch`.
 *
 * @param args The arguments, as JSON text or as a JSON value.
 * @returns The result, as `dispatch` returns it. The promise never rejects: whatever the tool throws and whatever the
 *   arguments are, there is an execution.
 * @throws {ToolRegistrationError} synchronously, if the tool could not be registered either, and a `TypeError` for an unknown option.
 */
export function callTool<Embedder = unknown>(
  tool: Tool<never, Embedder>,
  args: JsonValue,
  options: CallToolOptions<Embedder> = {},
): Promise<ToolExecution> {
  refuseUnknown(options, NAMES, "callTool");
  if (options.context !== undefined) refuseUnknown(options.context, CONTEXT_NAMES, "context of callTool");
  const registry = new ToolRegistry<Embedder>().register(tool);
  return dispatchOnce(registry, { id: "direct", name: tool.name, arguments: args }, options);
}

async function dispatchOnce<Embedder>(
  registry: ToolRegistry<Embedder>,
  call: ToolCall,
  { context = {}, signal }: CallToolOptions<Embedder>,
): Promise<ToolExecution> {
  await using sandboxes = await openSandboxes();
  const policy = new HostPolicy();
  const { sessionId = "direct", turnId, workspace, principal, embedder } = context;
  const ctx = {
    registry,
    policy,
    sandboxes,
    sessionId,
    turnId,
    workspace,
    principal,
    embedder,
    signal,
    // The author of the tool reads what it throws, and no model does.
    timeouts: "none",
    unhandledErrors: "message",
  } as DispatchContext<Embedder>;
  const execution = await new ToolDispatchEngine().dispatch(call, ctx);
  // Only a hook can abort a call, and there are no hooks.
  return execution as ToolExecution;
}
