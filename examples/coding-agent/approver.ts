import type { CallConfirmation, Confirmation, PersonAnswer, Sessions } from "sandgate/sessions";

type Arguments = Readonly<Record<string, unknown>>;

/** What the person lets the agent do. What is not here is denied, such as pushing, or writing new files. */
const ALLOWED: Readonly<Record<string, (args: Arguments) => boolean>> = {
  run_tests: () => true,
  run_command: ({ command }) => command === "sh shipping.sh 50",
  edit_file: ({ path }) => path === "shipping.sh",
  patch_file: ({ path }) => path === "shipping.sh",
  delete_file: ({ path }) => String(path).endsWith(".orig"),
  git_branch: ({ name }) => String(name).startsWith("agent/"),
  git_stage: () => true,
  git_commit: () => true,
  memory_add: () => true,
};

/** What the person answers to the agent's questions. */
const ANSWERS: Readonly<Record<string, string>> = {
  "Is the shipping of an order of exactly 50 free?": "yes",
};

/** Stands for a person at a terminal: answers every confirmation of the sessions by rules, and prints both. */
export function answerByRule(sessions: Sessions, print: (line: string) => void): void {
  sessions.onConfirmation((event) => {
    if (event.type !== "requested") return;
    const { confirmation } = event;
    const answer = answerTo(confirmation);
    print(`  ? ${textOf(confirmation)} -> ${answer.answer ?? answer.decision}`);
    // The digest says what the person has seen.
    void sessions.answer(confirmation.id, { ...answer, digest: confirmation.digest, by: "ann" });
  });
}

function answerTo(confirmation: Confirmation): Pick<PersonAnswer, "decision" | "answer"> {
  if (confirmation.kind !== "question") return { decision: isAllowed(confirmation) ? "allow" : "deny" };
  const answer = ANSWERS[confirmation.shown.question];
  return answer === undefined ? { decision: "deny" } : { decision: "answer", answer };
}

function isAllowed({ shown }: CallConfirmation): boolean {
  return ALLOWED[shown.toolName]?.(JSON.parse(shown.arguments)) ?? false;
}

function textOf({ kind, shown }: Confirmation): string {
  return kind === "question" ? shown.questionSummary.text : `${shown.question} ${shown.inputSummary.text}`;
}
