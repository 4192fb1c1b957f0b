import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { programTools } from "../../../src/programs/program-tools.ts";
import type { SessionsOptions } from "../../../src/sessions/options.ts";
import { type TestSessions, testSessions } from "../../sessions/harness.ts";

/** Lets `run_program` call every tool, and the tools of these tests run on the host. */
export const PROGRAM_POLICY: RulePolicy = new RulePolicy({
  rules: [
    {
      tools: ["run_program"],
      effect: "allow",
      sandboxes: ["quickjs"],
      capabilities: { tools: ["*"] },
      limits: { nestedCalls: 64 },
    },
    { tools: ["denied_*"], effect: "deny" },
    {
      tools: ["look", "change", "note", "pay", "search_tools", "describe_tools"],
      effect: "allow",
      sandboxes: ["host"],
    },
  ],
});

/** Opens sessions in which a program runs without a question; its calls do what the options say. */
export function programSessions(
  tools: readonly Tool[],
  { confirmations = {}, ...more }: Partial<SessionsOptions> = {},
): Promise<TestSessions> {
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  return testSessions([...tools, ...programTools(registry)], {
    policy: PROGRAM_POLICY,
    confirmations: { ...confirmations, tools: { run_program: "auto", ...confirmations.tools } },
    ...more,
  });
}

/** The call of the model that runs a program. */
export function programCall(code: string): {
  readonly id: string;
  readonly name: string;
  readonly arguments: { readonly code: string };
} {
  return { id: "p", name: "run_program", arguments: { code } };
}
