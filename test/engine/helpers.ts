import type { DispatchContext } from "../../src/engine/call/context.ts";
import { type DispatchEvent, EventStream } from "../../src/engine/call/events.ts";
import type { ToolExecution } from "../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Tool } from "../../src/engine/tool.ts";
import type { JsonObject } from "../../src/json/value.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import type { HostFunction } from "../../src/tool/implementations/implementations.ts";

/** Creates a host tool named `tool` that accepts any object. */
export function hostTool(host: HostFunction<JsonObject>, more: Partial<Tool> = {}): Tool {
  return { name: "tool", description: "A tool.", inputSchema: { type: "object" }, ...more, host };
}

/**
 * Creates a context with these tools, whose policy runs every call on the host. What tools throw can be read: tests of
 * `unhandledErrors` set it.
 */
export async function contextFor(
  tools: readonly Tool[],
  more: Partial<DispatchContext> = {},
): Promise<DispatchContext> {
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  return {
    registry,
    policy: new HostPolicy(),
    sandboxes: await openSandboxes(),
    sessionId: "session",
    unhandledErrors: "message",
    ...more,
  };
}

/** Dispatches one call of `tool`, which no hook may abort. */
export async function dispatchTool(ctx: DispatchContext, input: unknown = {}): Promise<ToolExecution> {
  const call = { id: "call", name: "tool", arguments: input as JsonObject };
  const execution = await new ToolDispatchEngine().dispatch(call, ctx);
  if (execution === null) throw new Error("the call was aborted");
  return execution;
}

/** Creates an event stream and a list of the events that it emits, except the decisions of the policy. */
export function recordEvents(): { events: EventStream; seen: DispatchEvent[] } {
  const events = new EventStream();
  const seen: DispatchEvent[] = [];
  events.on((event) => {
    if (event.type !== "tool.decided") seen.push(event);
  });
  return { events, seen };
}
