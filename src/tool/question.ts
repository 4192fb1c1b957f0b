import { hasAtMost } from "../base/text.ts";
import { MAX_DELAY_MS } from "../base/timers.ts";
import { formatMinutes } from "../base/units.ts";
import { toWellFormed } from "../json/canonical.ts";
import { ToolFailure } from "./tool-failure.ts";

/** A question of a tool to a person. */
export interface Question {
  /** 1 to 4,000 characters. People see it as the words of the tool, never as those of Sandgate. */
  readonly question: string;
  /** The answers to choose from: 1 to 100 different texts of 1 to 500 characters. Default: the answer is any text. */
  readonly choices?: readonly string[];
  /** Whether several choices can be given, at least one. Default: `false`. */
  readonly multiple?: boolean;
  /** Milliseconds for which the question waits for its answer. Never longer than the session waits. Default: as long. */
  readonly timeoutMs?: number;
}

/** A text of 1 to 16,000 characters; or, of a question with `choices`, one of them; with `multiple`, several. */
export type QuestionAnswer = string | readonly string[];

/**
 * Asks a person, and waits for the answer. While a person is asked, the wall time of the call stands still. An answer is
 * only information: it approves nothing.
 *
 * Rejects with a `ToolFailure`: `permission_denied` if nobody can be asked, `user_denied` if the person declines to answer,
 * `confirmation_timeout`, and `cancelled`. Rejects with a `TypeError` if the question is invalid.
 */
export interface Ask {
  (question: Question & { readonly multiple: true }): Promise<readonly string[]>;
  (question: Question & { readonly multiple?: false }): Promise<string>;
}

/** What the failure of a question says of the call that asked: `none` only if its tool changes nothing. */
type Effect = "none" | "unknown";

/** Maximum number of characters of a question. */
export const MAX_QUESTION_CHARS = 4_000;
/** Maximum number of choices of a question. */
export const MAX_CHOICES = 100;
/** Maximum number of characters of a choice. */
export const MAX_CHOICE_CHARS = 500;
/** Maximum number of characters of an answer in the person's own words. */
export const MAX_ANSWER_CHARS = 16_000;

/** Returns a frozen copy of a question, whose members it reads once. @throws {TypeError} if the question is invalid. */
export function checkQuestion(given: Question): Question {
  const { question, choices, multiple = false, timeoutMs } = (given ?? {}) as Partial<Question>;
  checkText(question, MAX_QUESTION_CHARS, "the question");
  if (typeof multiple !== "boolean") throw new TypeError("multiple must be true or false");
  if (multiple && choices === undefined) throw new TypeError("a question with multiple needs choices");
  if (timeoutMs !== undefined && !(timeoutMs >= 1 && timeoutMs <= MAX_DELAY_MS)) {
    throw new TypeError(`timeoutMs must be a number from 1 to ${MAX_DELAY_MS}, not ${String(timeoutMs)}`);
  }
  return Object.freeze({
    question: toWellFormed(question),
    ...(choices !== undefined && { choices: checkChoices(choices) }),
    ...(multiple && { multiple }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
}

function checkChoices(given: readonly string[]): readonly string[] {
  if (!Array.isArray(given)) throw new TypeError("the choices must be a list of texts");
  const choices = Array.from(given as readonly unknown[], (choice) => {
    checkText(choice, MAX_CHOICE_CHARS, "a choice");
    return toWellFormed(choice);
  });
  if (choices.length < 1 || choices.length > MAX_CHOICES || new Set(choices).size < choices.length) {
    throw new TypeError(`there must be 1 to ${MAX_CHOICES} choices, all different`);
  }
  return Object.freeze(choices);
}

function checkText(given: unknown, most: number, what: string): asserts given is string {
  if (typeof given === "string" && given !== "" && hasAtMost(given, most)) return;
  throw new TypeError(`${what} must be a text of 1 to ${most} characters`);
}

/** Why a value is no answer to a question, for the person who gave it; `undefined` if it is one. */
export function answerProblem(
  { choices, multiple = false }: Pick<Question, "choices" | "multiple">,
  answer: unknown,
): string | undefined {
  if (choices === undefined) {
    if (typeof answer === "string" && isText(answer)) return undefined;
    return `the answer must be a text of 1 to ${MAX_ANSWER_CHARS} characters`;
  }
  const isChoice = (each: unknown): boolean => choices.includes(each as string);
  if (!multiple) return isChoice(answer) ? undefined : "the answer must be one of the choices";
  const isSome = Array.isArray(answer) && answer.length > 0 && answer.every(isChoice);
  if (isSome && new Set(answer).size === answer.length) return undefined;
  return "the answer must be a list of one or more of the choices, each at most once";
}

function isText(answer: string): boolean {
  return answer !== "" && hasAtMost(answer, MAX_ANSWER_CHARS) && answer.isWellFormed();
}

/** Returns a frozen copy of a value that is an answer. Of a list that is too long, it copies as much as is too long. */
export function copyAnswer(answer: unknown): QuestionAnswer {
  if (!Array.isArray(answer)) return answer as string;
  const list: readonly unknown[] = answer;
  const length = Math.min(list.length, MAX_CHOICES + 1);
  return Object.freeze(Array.from({ length }, (_, index) => list[index] as string));
}

/** Nobody can be asked. */
export function nobodyToAsk(effect: Effect): ToolFailure {
  const message = "Permission denied: nobody is available to answer the question";
  return new ToolFailure("permission_denied", message, { effect });
}

/** The person declined to answer. */
export function declinedToAnswer(effect: Effect): ToolFailure {
  return new ToolFailure("user_denied", "User declined to answer the question.", { effect });
}

/** @param afterMs Milliseconds for which the question waited; anything but a number if that is not known. */
export function nobodyAnswered(afterMs: unknown, effect: Effect): ToolFailure {
  const time = Number.isFinite(afterMs) ? `within ${formatMinutes(afterMs as number)}` : "in time";
  return new ToolFailure("confirmation_timeout", `Nobody answered ${time}`, { effect });
}

/** The call was cancelled, or has ended without waiting for the answer. */
export function questionCancelled(effect: Effect): ToolFailure {
  return new ToolFailure("cancelled", "The question was cancelled", { effect });
}
