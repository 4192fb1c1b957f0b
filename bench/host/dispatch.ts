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

/** What a dispatch has beside its call. */
export type ContextParts = Partial<Pick<DispatchContext, "registry" | "policy" | "hooks" | "events">>;

/** Both gates, which let everything go on. */
export const HOOKS: AgentHooks = { onToolCall: () => "continue", onToolStart: () => "continue" };

/** Opens the dispatch of a host function that echoes; the policy is one decision unless it is given. */
export async function openDispatch(parts: ContextParts = {}, text: string = INPUT_TEXT): Promise<OpenCase> {
  const sandboxes = await openSandboxes();
  const registry = new ToolRegistry().register(readTool());
  const policy = onePolicy({ sandbox: "host" });
  const ctx: DispatchContext = { registry, policy, sandboxes, sessionId: "bench", ...parts };
  const engine = new ToolDispatchEngine();
  const call = { id: "call", name: "read", arguments: text };
  return { run: () => engine.dispatch(call, ctx), check: isEcho, close: () => sandboxes.close() };
}

/** The tool that is called. */
export function readTool(
  name = "read",
  inputSchema: JsonObject = INPUT_SCHEMA,
): ReturnType<typeof defineTool> {
  return defineTool({ name, description: "", inputSchema, host: async (input: unknown) => input });
}

/** A policy that always decides the same. */
export function onePolicy(grant: GrantOptions): RuntimePolicy {
  const decision = allow(grant);
  return { check: () => decision };
}

/** Events that somebody listens to. */
export function listened(listener: Parameters<EventStream["on"]>[0]): EventStream {
  const events = new EventStream();
  events.on(listener);
  return events;
}

/** As many rules as asked, as a team would write them; four concern the tool, two of those look at arguments. */
export function rulePolicy(count = 20, limits: GrantOptions["limits"] = {}): RulePolicy {
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
  return new RulePolicy({ rules: count < own.length ? own.slice(0, count) : [...others, ...own] });
}
