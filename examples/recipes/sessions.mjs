import { createInterface } from "node:readline/promises";
import { openSessions } from "sandgate/sessions";
import { context, registry, sandboxes } from "./tools.mjs";

/** The session of these recipes. A person at the terminal is asked about each call of `add`. */
const sessions = await openSessions({
  registry,
  sandboxes,
  policy: context.policy,
  confirmations: { tools: { add: "prompt" } },
});
sessions.onConfirmation(async (event) => {
  if (event.type !== "requested" || event.confirmation.kind === "question") return;
  const { id, digest, shown } = event.confirmation;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${shown.question} ${shown.inputSummary.text} [y/N] `);
  terminal.close();
  await sessions.answer(id, { decision: answer === "y" ? "allow" : "deny", digest, by: "you" });
});
export const session = await sessions.open({ name: "recipe" });

export async function close() {
  await sessions.close();
  await sandboxes.close();
}
