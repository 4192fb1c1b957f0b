import { loadPolicyFile, openSandboxes } from "sandgate";
import { openSessions } from "sandgate/sessions";
import { CALLS } from "./agent.ts";
import { registerTools } from "./tools.ts";

/**
 * Lets the agent work under a policy. Returns what ran, what a person was asked, and what was sent in the
 * end.
 */
export async function run(policyFile: string): Promise<readonly string[]> {
  const lines: string[] = [];
  const sent: unknown[] = [];
  const { policy } = await loadPolicyFile(policyFile);
  await using sandboxes = await openSandboxes();
  await using sessions = await openSessions({
    registry: registerTools(sent),
    policy,
    sandboxes,
    // The policy decides who is asked, whatever the class of a tool.
    confirmations: { default: { network: "auto" } },
  });
  sessions.onConfirmation((event) => {
    if (event.type !== "requested") return;
    const { id, digest, shown } = event.confirmation;
    lines.push(`  asked: ${shown.question}`);
    // Nobody wants this. A real approver shows `shown` to a person, and sends the answer.
    void sessions.answer(id, { decision: "deny", digest, by: "ann" });
  });
  const session = await sessions.open();
  const turn = session.turn({ userText: "When does Rosa want to meet? Please tell Ben." });
  for (const call of CALLS) {
    lines.push(`${call.name} ${JSON.stringify(call.arguments)}`);
    const execution = await turn.dispatch(call);
    lines.push(`  ${execution?.success ? "ran" : execution?.error?.message}`);
  }
  return [...lines, `sent in all: ${JSON.stringify(sent)}`];
}
