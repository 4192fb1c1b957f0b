import type { CallInquiry, Inquiry, InquiryAnswer, Sessions } from "sandgate/sessions";

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

/** Stands for a person at a terminal: answers every inquiry of the sessions by rules, and prints both. */
export function answerByRule(sessions: Sessions, print: (line: string) => void): void {
  sessions.onInquiry((event) => {
    if (event.type !== "requested") return;
    const { inquiry } = event;
    const answer = answerTo(inquiry);
    print(`  ? ${textOf(inquiry)} -> ${answer.answer ?? answer.decision}`);
    // The digest says what the person has seen.
    void sessions.answer(inquiry.id, { ...answer, digest: inquiry.digest, by: "ann" });
  });
}

function answerTo(inquiry: Inquiry): Pick<InquiryAnswer, "decision" | "answer"> {
  if (inquiry.kind !== "question") return { decision: isAllowed(inquiry) ? "allow" : "deny" };
  const answer = ANSWERS[inquiry.shown.question];
  return answer === undefined ? { decision: "deny" } : { decision: "answer", answer };
}

function isAllowed({ shown }: CallInquiry): boolean {
  return ALLOWED[shown.toolName]?.(JSON.parse(shown.arguments)) ?? false;
}

function textOf({ kind, shown }: Inquiry): string {
  return kind === "question" ? shown.questionSummary.text : `${shown.question} ${shown.inputSummary.text}`;
}
