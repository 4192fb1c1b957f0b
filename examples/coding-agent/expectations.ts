import type { JsonValue, ToolExecution } from "sandgate";
import type { ToolsetName } from "sandgate/toolsets";
import type { Repository } from "./repository.ts";

/**
 * A tool of each toolset, of which a call must succeed. The tools of `basic5` are those of `fs` and `shell`, and the agent
 * works in a mode that awaits no plan; those of `guard` are for other agents. Programs have an example of their own in docs/code-mode.md.
 */
const USED: Readonly<Record<Exclude<ToolsetName, "basic5" | "guard" | "plan" | "programs">, string>> = {
  ask: "ask_user",
  basic: "Echo",
  diagnostics: "get_diagnostics",
  fs: "edit_file",
  git: "git_commit",
  index: "project_knowledge_search",
  memory: "memory_add",
  search: "grep",
  settings: "get_setting",
  shell: "run_command",
  system: "system_monitor",
  web: "display_diagram",
};

/** What must fail, by the workspace, by the policy and by the person. */
const REFUSALS: readonly string[] = [
  "read_file: Path escapes workspace boundary",
  "web_fetch: Permission denied: tool 'web_fetch' is disabled by policy",
  "run_command: User denied this operation.",
];

/** Returns what is not as it should be after the agent's work. */
export async function findProblems(
  executions: readonly ToolExecution[],
  repository: Repository,
): Promise<readonly string[]> {
  const problems: string[] = [];
  const expect = (what: string, actual: unknown, expected: unknown): void => {
    const [is, should] = [JSON.stringify(actual), JSON.stringify(expected)];
    if (is !== should) problems.push(`${what}: ${is}, not ${should}`);
  };
  for (const [set, tool] of Object.entries(USED)) {
    const succeeded = executions.some(({ toolName, success }) => toolName === tool && success);
    if (!succeeded) problems.push(`no call of ${tool}, of the toolset ${set}, succeeded`);
  }
  const outputs = (tool: string): readonly JsonValue[] =>
    executions.filter(({ toolName, success }) => toolName === tool && success).map(({ output }) => output);

  const failed = executions.filter(({ success }) => !success);
  const refusals = failed.map(({ toolName, error }) => `${toolName}: ${error?.message}`);
  expect("what was refused", refusals, REFUSALS);
  const codes = outputs("run_tests").map((output) => (output as { exitCode: number }).exitCode);
  expect("the exit codes of the tests", codes, [1, 0, 0]);
  const found = outputs("get_diagnostics").map(
    (output) => (output as { diagnostics: [] }).diagnostics.length,
  );
  expect("the number of diagnostics", found, [1, 0]);
  expect("what the user answered", outputs("ask_user"), [{ answer: "yes" }]);
  expect("the branch", await repository.git("branch", "--show-current"), "agent/free-from-50");
  expect("what is not committed", await repository.git("status", "--porcelain"), "");
  const trailers = await repository.git("log", "-1", "--format=%an%n%(trailers:only)");
  expect("who committed", trailers.trimEnd(), "Agent\nX-AI-Model: claude-sonnet-5-5");
  const files = await repository.git("diff", "--name-status", "main", "HEAD");
  expect("what the commit changed", files, "M\tshipping.sh\nD\tshipping.sh.orig");
  return problems;
}
