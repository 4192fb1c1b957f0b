import {
  type AgentHooks,
  allow,
  type DispatchContext,
  defineTool,
  EventStream,
  type GrantOptions,
  type JsonObject,
  openSandboxes,
  type PolicyRule,
  RulePolicy,
  type RuntimePolicy,
  ToolDispatchEngine,
  ToolRegistry,
} from "sandgate";
import type { OpenCase } from "../harness/case.ts";
import { INPUT_SCHEMA, INPUT_TEXT, isEcho } from "../setting.ts";

/** Parts of the dispatch context that a case can replace. */
export type ContextParts = Partial<Omit<DispatchContext, "sandboxes" | "sessionId">>;

/** Both hooks, which let every call continue. */
export const HOOKS: AgentHooks = { onToolCall: () => "continue", onToolStart: () => "continue" };

/** Opens a case that dispatches a host function that echoes. By default, the policy always returns one decision. */
export async function openDispatch(parts: ContextParts = {}, text: string = INPUT_TEXT): Promise<OpenCase> {
  const sandboxes = await openSandboxes();
  const registry = new ToolRegistry().register(readTool());
  const policy = onePolicy({ sandbox: "host" });
  const ctx: DispatchContext = { registry, policy, sandboxes, sessionId: "bench", ...parts };
  const engine = new ToolDispatchEngine();
  const call = { id: "call", name: "read", arguments: text };
  return { run: () => engine.dispatch(call, ctx), check: isEcho, close: () => sandboxes.close() };
}

/** Returns the tool that is called. */
export function readTool(
  name = "read",
  inputSchema: JsonObject = INPUT_SCHEMA,
): ReturnType<typeof defineTool> {
  return defineTool({ name, description: "", inputSchema, host: async (input: unknown) => input });
}

/** A policy that always returns the same decision. */
export function onePolicy(grant: GrantOptions): RuntimePolicy {
  const decision = allow(grant);
  return { check: () => decision };
}

/** Returns an event stream with a listener. */
export function listened(listener: Parameters<EventStream["on"]>[0]): EventStream {
  const events = new EventStream();
  events.on(listener);
  return events;
}

/** Returns a policy of which half the rules deny one value of an argument each, whatever the tool. */
export function valuesPolicy(count: number): RulePolicy {
  const denials = Array.from(
    { length: count },
    (_, i): PolicyRule => ({ tools: ["*"], effect: "deny", when: { "/path": { equals: `/secret/${i}` } } }),
  );
  return new RulePolicy({ rules: [...denials, ...rulesFor(count)] });
}

/** Returns a policy with realistic rules. Four of them apply to the tool, and two of those have conditions. */
export function rulePolicy(count = 20, limits: GrantOptions["limits"] = {}): RulePolicy {
  return new RulePolicy({ rules: rulesFor(count, limits) });
}

function rulesFor(count: number, limits: GrantOptions["limits"] = {}): readonly PolicyRule[] {
  const own: readonly PolicyRule[] = [
    { tools: ["*"], effect: "allow", sandboxes: ["host", "quickjs"], limits },
    { tools: ["read"], effect: "allow", when: { "/follow": { equals: false } }, sandboxes: ["host"] },
    { tools: ["read*"], effect: "deny", when: { "/path": { prefix: "/etc/" } } },
    { tools: ["*"], sideEffects: ["destructive"], effect: "ask", when: { "/force": { equals: true } } },
  ];
  const others = Array.from(
    { length: Math.max(0, count - own.length) },
    (_, i): PolicyRule => ({ tools: [`other_${i}`, `team_${i}_*`], effect: "allow", sandboxes: ["host"] }),
  );
  return count < own.length ? own.slice(0, count) : [...others, ...own];
}
