import { MAX_REASON_CHARS } from "../../engine/errors.ts";
import { copyJson } from "../../json/copy.ts";
import {
  equalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  JsonValueError,
} from "../../json/value.ts";
import { compileNamePattern } from "../../policy/match/name-pattern.ts";
import type { RuleConditions } from "../../policy/rule/rule.ts";
import { checkOptions } from "../../policy/rule/rule-shape.ts";
import { answerProblem, copyAnswer, type QuestionAnswer } from "../../tool/question.ts";
import type {
  ApprovalScope,
  CallConfirmation,
  Choice,
  Confirmation,
  Resolution,
  ToolQuestion,
} from "./confirmation.ts";
import type { CheckArguments, OpenConfirmation } from "./open-confirmations.ts";

/** A person's answer to a confirmation. */
export interface PersonAnswer {
  readonly decision: Choice;
  /** The digest of the confirmation that the person saw. */
  readonly digest: string;
  /** The person who answers, as authenticated. */
  readonly by: string;
  /** What the person answers to the question of a tool; only and always with `answer`. */
  readonly answer?: QuestionAnswer;
  /** Other arguments, under which the call is to run; only with `allow` and `always`. Default: those that were shown. */
  readonly arguments?: JsonValue;
  /** What is remembered, only with `always`. Default: the tool, in this session. */
  readonly approval?: ApprovalScope;
  /** Why the call is denied, which the model reads; only with `deny`, at most 1,000 characters. Default: no reason. */
  readonly reason?: string;
  /** The session in which the person looked for the confirmation; one of another session is unknown. Default: any. */
  readonly sessionId?: string;
  /** Likewise the turn. Default: any. */
  readonly turnId?: string;
  /** Aborted when the person may not answer any more: what is still being checked then counts for nothing. Default: never. */
  readonly signal?: AbortSignal;
}

/** How a person resolved a confirmation. */
type PersonResolution = Resolution & {
  readonly decision: "allow" | "answer" | "deny";
  readonly by: string;
};

/** The outcome of an answer. */
export type AnswerOutcome =
  /** The confirmation was resolved by this answer, or earlier by the same one. */
  | { readonly outcome: "resolved"; readonly resolution: PersonResolution }
  /** Another answer was first. */
  | { readonly outcome: "lost"; readonly resolution: Resolution }
  /** The confirmation timed out or was cancelled. */
  | { readonly outcome: "gone" }
  /** There is no such confirmation, or not in this session and turn. */
  | { readonly outcome: "unknown" }
  /** The person saw something else. The confirmation stays open. */
  | { readonly outcome: "other-digest" }
  /** The answer cannot be accepted, for the reason in `problem`. The confirmation stays open. */
  | { readonly outcome: "invalid"; readonly problem: string };

/** Returns the resolution that an answer makes, frozen. */
export function resolutionOf({ decision, by, ...answer }: PersonAnswer, at: number): Resolution {
  return Object.freeze({
    decision: decision === "always" ? "allow" : decision,
    choice: decision,
    by,
    at,
    ...(answer.answer !== undefined && { answer: answer.answer }),
    ...(answer.arguments !== undefined && { arguments: answer.arguments }),
    ...(answer.approval !== undefined && { approval: answer.approval }),
    ...(answer.reason !== undefined && { reason: answer.reason }),
  });
}

/** Returns the outcome of an answer to a confirmation that is resolved. */
export function outcomeOf(resolution: Resolution, answer: PersonAnswer, digest: string): AnswerOutcome {
  if (!isByPerson(resolution)) return { outcome: "gone" };
  const isSame =
    resolution.by === answer.by &&
    resolution.choice === answer.decision &&
    digest === answer.digest &&
    resolution.reason === answer.reason &&
    equalOptional(resolution.answer as JsonValue | undefined, answer.answer as JsonValue | undefined) &&
    equalOptional(resolution.arguments, answer.arguments) &&
    equalOptional(resolution.approval as JsonValue | undefined, answer.approval as JsonValue | undefined);
  return { outcome: isSame ? "resolved" : "lost", resolution };
}

function isByPerson(resolution: Resolution): resolution is PersonResolution {
  return resolution.choice !== undefined;
}

/** Whether a confirmation is in the session and the turn in which the person looked for it. */
export function isIn(confirmation: Confirmation, { sessionId, turnId }: PersonAnswer): boolean {
  return (
    (sessionId === undefined || sessionId === confirmation.sessionId) &&
    (turnId === undefined || turnId === confirmation.turnId)
  );
}

function equalOptional(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  return one === undefined || other === undefined ? one === other : equalJson(one, other);
}

/** An answer that can be accepted, copied; or why it cannot. */
type Checked = { readonly answer: PersonAnswer } | { readonly problem: string };

/** Checks that a confirmation accepts the decision of an answer, and what the answer adds to it. */
export function checkAnswer(
  { confirmation, checkArguments }: OpenConfirmation,
  given: PersonAnswer,
): Checked | Promise<Checked> {
  const choices: readonly string[] = confirmation.choices;
  if (!choices.includes(given.decision)) {
    return { problem: `the decision must be one of ${choices.join(", ")}` };
  }
  if (given.reason !== undefined) {
    const problem = reasonProblem(confirmation, given);
    if (problem !== undefined) return { problem };
  }
  return confirmation.kind === "question"
    ? checkReply(confirmation, given)
    : checkDecision(confirmation, given, checkArguments);
}

function reasonProblem({ kind }: Confirmation, { decision, reason }: PersonAnswer): string | undefined {
  if (decision !== "deny" || kind === "question") return "only the denial of a call can have a reason";
  return typeof reason === "string" && reason.length <= MAX_REASON_CHARS
    ? undefined
    : `the reason must be a text of at most ${MAX_REASON_CHARS} characters`;
}

/** An answer to a question approves nothing. */
function checkReply({ shown }: ToolQuestion, given: PersonAnswer): Checked {
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
  { shown }: CallConfirmation,
  given: PersonAnswer,
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

/** The longest time that an approval can last: a year, in ms. */
const MAX_DURATION_MS = 366 * 24 * 3_600_000;

/**
 * Checks the scope of an approval, of which nothing is known, and returns a deeply frozen copy.
 *
 * @param toolName The tool about which the person was asked: the scope must name it.
 * @throws {TypeError} that says what is wrong.
 */
export function checkScope(scope: unknown, toolName: string): ApprovalScope {
  const { tools, when, for: span, calls, ...unknown } = copyScope(scope);
  for (const key of Object.keys(unknown)) throw new TypeError(`unknown member '${key}' in an approval`);
  checkMatch({ tools, when });
  const patterns = tools as readonly string[];
  if (!patterns.some((pattern) => compileNamePattern(pattern).matches(toolName))) {
    throw new TypeError("an approval must name the tool that was asked about");
  }
  if (span !== "session" && span !== "workspace" && !isAmount(span, MAX_DURATION_MS)) {
    throw new TypeError(
      `an approval is for 'session', 'workspace' or 1 to ${MAX_DURATION_MS} milliseconds, not ${JSON.stringify(span)}`,
    );
  }
  if (calls !== undefined && !isAmount(calls, Number.MAX_SAFE_INTEGER)) {
    throw new TypeError("the calls of an approval must be a whole number above 0");
  }
  return Object.freeze({
    tools: patterns,
    ...(when !== undefined && { when: when as unknown as RuleConditions }),
    for: span,
    ...(calls !== undefined && { calls }),
  });
}

function copyScope(scope: unknown): JsonObject {
  try {
    const copy = copyJson(scope);
    if (isJsonObject(copy)) return copy;
  } catch (error) {
    if (!(error instanceof JsonValueError)) throw error;
    throw new TypeError(`an approval must be JSON: ${error.message}`);
  }
  throw new TypeError("an approval must be an object");
}

/** Tools and conditions are those of a policy's rule. */
function checkMatch(match: JsonObject): void {
  try {
    checkOptions({ rules: [{ ...match, effect: "deny", tools: match["tools"] ?? [] } as never] });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new TypeError(`in an approval, ${error.message.replaceAll(/\brule 1: /g, "")}`);
  }
}

function isAmount(value: unknown, max: number): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= max;
}
