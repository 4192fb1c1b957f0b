import { join } from "node:path";
import {
  EventStream,
  type Isolation,
  loadPolicyFile,
  MemoryKeyValue,
  type Sandboxes,
  type ToolExecution,
  ToolPreparationError,
} from "sandgate";
import { openSessions } from "sandgate/sessions";
import { runAgent } from "./agent.ts";
import { answerByRule } from "./approver.ts";
import { findProblems } from "./expectations.ts";
import { Repository } from "./repository.ts";
import { registerTools } from "./toolsets.ts";

/**
 * Lets the agent work in a repository of its own, if programs can be confined on this machine.
 *
 * @param print Gets the transcript, the commit and what is wrong, line by line.
 * @returns the exit code: 1 if anything is not as it should be.
 */
export async function run(sandboxes: Sandboxes, print: (line: string) => void): Promise<0 | 1> {
  let isolation: Isolation | undefined;
  try {
    isolation = (await sandboxes.route("process"))?.isolation;
  } catch (error) {
    if (!(error instanceof ToolPreparationError)) throw error;
    print(`skipped: no program can be confined on this machine: ${error.message}`);
    return 0;
  }
  await using repository = await Repository.create();
  const roles = isolation === undefined ? [] : [isolation];
  const executions = await work(repository, sandboxes, roles, print);
  print(await repository.git("log", "-1", "--stat"));
  const isolations = new Set(executions.flatMap(({ receipt }) => receipt.isolation ?? []));
  print(`The programs were confined by: ${[...isolations].join(", ")}`);
  const problems = await findProblems(executions, repository);
  for (const problem of problems) print(`not as it should be: ${problem}`);
  return problems.length === 0 ? 0 : 1;
}

/** Lets the agent work in a session of its own. Returns how its calls ended. */
async function work(
  repository: Repository,
  sandboxes: Sandboxes,
  roles: readonly string[],
  print: (line: string) => void,
): Promise<readonly ToolExecution[]> {
  const registry = registerTools(new MemoryKeyValue());
  // The rules are checked against the tools: a misspelt name is a warning, a sandbox in which a tool cannot run an error.
  const { policy, warnings } = await loadPolicyFile(
    join(import.meta.dirname, "policy.yaml"),
    registry.subjects,
  );
  for (const { line, message } of warnings)
    print(`not as it should be: line ${line} of the policy: ${message}`);
  const events = new EventStream();
  events.on((event) => {
    // A client would draw it. Foreign text: only as text.
    if (event.type === "tool.display")
      print(`  ! a diagram (${event.format}): ${JSON.stringify(event.source)}`);
  });
  await using sessions = await openSessions({ registry, policy, sandboxes, events });
  answerByRule(sessions, print);
  const session = await sessions.open({
    principal: { id: "coding-agent", kind: "agent", roles },
    workspace: repository.path,
  });
  return await runAgent(session, print);
}
