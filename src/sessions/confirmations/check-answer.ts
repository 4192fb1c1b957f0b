import { MAX_REASON_CHARS } from "../../engine/failure/errors.ts";
import { copyJson } from "../../json/copy.ts";
import { JsonValueError } from "../../json/value.ts";
import { answerProblem, copyAnswer } from "../../tool/questions/check-question.ts";
import { checkScope } from "../approvals/scope.ts";
import type { InquiryAnswer } from "./answer.ts";
import type { CallInquiry, Inquiry, QuestionInquiry } from "./inquiry.ts";
import type { CheckArguments, OpenInquiry } from "./open-inquiry.ts";

/** An answer that can be accepted, copied; or why it cannot. */
type Checked = { readonly answer: InquiryAnswer } | { readonly problem: string };

/** Checks that an inquiry accepts the decision of an answer, and what the answer adds to it. */
export function checkAnswer(
  { inquiry, checkArguments }: OpenInquiry,
  given: InquiryAnswer,
): Checked | Promise<Checked> {
  const choices: readonly string[] = inquiry.choices;
  if (!choices.includes(given.decision)) {
    return { problem: `the decision must be one of ${choices.join(", ")}` };
  }
  if (given.reason !== undefined) {
    const problem = reasonProblem(inquiry, given);
    if (problem !== undefined) return { problem };
  }
  return inquiry.kind === "question"
    ? checkReply(inquiry, given)
    : checkDecision(inquiry, given, checkArguments);
}

function reasonProblem({ kind }: Inquiry, { decision, reason }: InquiryAnswer): string | undefined {
  if (decision !== "deny" || kind === "question") return "only the denial of a call can have a reason";
  return typeof reason === "string" && reason.length <= MAX_REASON_CHARS
    ? undefined
    : `the reason must be a text of at most ${MAX_REASON_CHARS} characters`;
}

/** An answer to a question approves nothing. */
function checkReply({ shown }: QuestionInquiry, given: InquiryAnswer): Checked {
  const { decision, answer, arguments: edited, approval } = given;
  if (edited !== undefined || approval !== undefined) {
    return { problem: "an answer to a question has neither arguments nor an approval" };
  }
  if (decision === "deny") {
    return answer === undefined
      ? { answer: given }
      : { problem: "a refusal to answer cannot have an answer" };
  }
  const { options: choices, multiple } = shown;
  const copy = copyAnswer(answer);
  const problem = answerProblem({ ...(choices && { choices }), multiple }, copy);
  return problem === undefined ? { answer: { ...given, answer: copy } } : { problem };
}

async function checkDecision(
  { shown }: CallInquiry,
  given: InquiryAnswer,
  checkArguments: CheckArguments | undefined,
): Promise<Checked> {
  const { decision } = given;
  if (given.answer !== undefined) return { problem: "only a question of a tool can have an answer" };
  let answer = given;
  if (given.approval !== undefined) {
    if (decision !== "always") return { problem: "only the decision 'always' can have an approval" };
    try {
      answer = { ...answer, approval: checkScope(given.approval, shown.toolName) };
    } catch (error) {
      if (error instanceof TypeError) return { problem: error.message };
      throw error;
    }
  }
  if (given.arguments === undefined) return { answer };
  if (decision === "deny") return { problem: "a denial cannot have arguments" };
  if (checkArguments === undefined) return { problem: "the arguments cannot be changed" };
  try {
    answer = { ...answer, arguments: copyJson(given.arguments) };
  } catch (error) {
    if (error instanceof JsonValueError) return { problem: `the arguments must be JSON: ${error.message}` };
    throw error;
  }
  const problem = await checkArguments(answer.arguments as NonNullable<typeof answer.arguments>);
  return problem === undefined ? { answer } : { problem };
}
