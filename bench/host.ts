import { Ajv2020 } from "ajv/dist/2020.js";
import {
  type AgentHooks,
  allow,
  type DispatchContext,
  defineTool,
  EventStream,
  openSandboxes,
  type Rule,
  RulePolicy,
  type RuntimePolicy,
  type Sandboxes,
  ToolDispatchEngine,
  ToolRegistry,
} from "sandgate";
import type { Case, Question } from "./measure.ts";
import { INPUT_SCHEMA, INPUT_TEXT, isInput } from "./setting.ts";

const FLOOR = "JSON.parse + ajv + await fn() + JSON.stringify";
const IN_FLIGHT = 64;

const echo = async (input: unknown): Promise<unknown> => input;
const validate = new Ajv2020({ allErrors: true, ownProperties: true }).compile(INPUT_SCHEMA);

const floor: Case = {
  name: FLOOR,
  run: async () => {
    const input: unknown = JSON.parse(INPUT_TEXT);
    if (!validate(input)) throw new Error("invalid");
    return JSON.stringify(await echo(input));
  },
  check: (text) => isInput(JSON.parse(String(text))),
};

/** What does the dispatch of a function in this process cost, and what each part of it, beside doing just its work? */
export async function host(): Promise<Question> {
  const sandboxes = await openSandboxes();
  const rules = rulePolicy({});
  const hooks: AgentHooks = { onToolCall: () => "continue", onToolStart: () => "continue" };
  const cases = [
    dispatchCase("dispatch, a policy of one decision", sandboxes, { policy: onePolicy({}) }),
    dispatchCase("with a RulePolicy of 20 rules", sandboxes, { policy: rules }),
    dispatchCase("with the rules and a hook gate", sandboxes, { policy: rules, hooks }),
    dispatchCase("with the rules and a listener", sandboxes, { policy: rules, events: listened(() => {}) }),
    dispatchCase("with the rules, a hook gate and a listener", sandboxes, {
      policy: rules,
      hooks,
      events: listened(() => {}),
    }),
    dispatchCase("with all of it, and a digest of the arguments", sandboxes, {
      policy: rules,
      hooks,
      events: listened((event) => event.type === "tool.started" && event.canonical.digest),
    }),
    dispatchCase("with the rules and a deadline", sandboxes, { policy: rulePolicy({ wallTimeMs: 30_000 }) }),
  ];
  return { name: "host", floor, cases, close: () => sandboxes.close() };
}

/** The same with many calls under way at once. */
export async function hostLoad(): Promise<Question> {
  const sandboxes = await openSandboxes();
  const ours = dispatchCase("", sandboxes, { policy: rulePolicy({}) });
  return {
    name: "host-load",
    floor: inFlight(`${IN_FLIGHT} at once: ${FLOOR}`, floor),
    cases: [inFlight(`${IN_FLIGHT} at once: dispatch, with a RulePolicy of 20 rules`, ours)],
    close: () => sandboxes.close(),
  };
}

function inFlight(name: string, { run, check }: Case): Case {
  return {
    name,
    run: () => Promise.all(Array.from({ length: IN_FLIGHT }, run)),
    check: (answers) => (answers as unknown[]).forEach(check),
  };
}

function dispatchCase(
  name: string,
  sandboxes: Sandboxes,
  parts: Pick<DispatchContext, "policy" | "hooks" | "events">,
): Case {
  const tool = defineTool({ name: "read", description: "", inputSchema: INPUT_SCHEMA, host: echo });
  const registry = new ToolRegistry().register(tool);
  const ctx: DispatchContext = { registry, sandboxes, sessionId: "bench", ...parts };
  const engine = new ToolDispatchEngine();
  const call = { id: "call", name: "read", arguments: INPUT_TEXT };
  return {
    name,
    run: () => engine.dispatch(call, ctx),
    check: (execution) => isInput((execution as { output?: unknown } | null)?.output),
  };
}

function listened(listener: Parameters<EventStream["on"]>[0]): EventStream {
  const events = new EventStream();
  events.on(listener);
  return events;
}

function onePolicy(limits: { readonly wallTimeMs?: number }): RuntimePolicy {
  const decision = allow({ sandbox: "host", limits });
  return { check: () => decision };
}

/** Twenty rules as a team would write them; four concern the tool, and two of those look at its arguments. */
function rulePolicy(limits: { readonly wallTimeMs?: number }): RulePolicy {
  const others = Array.from(
    { length: 16 },
    (_, i): Rule => ({
      tools: [`other_${i}`, `team_${i}_*`],
      effect: "allow",
      sandboxes: ["host"],
      limits: {},
    }),
  );
  return new RulePolicy({
    rules: [
      ...others,
      { tools: ["*"], effect: "allow", sandboxes: ["host", "quickjs"], limits },
      { tools: ["read"], effect: "allow", when: { "/follow": { equals: false } }, sandboxes: ["host"] },
      { tools: ["read*"], effect: "deny", when: { "/path": { prefix: "/etc/" } } },
      { tools: ["*"], sideEffects: ["destructive"], effect: "ask", when: { "/force": { equals: true } } },
    ],
  });
}
