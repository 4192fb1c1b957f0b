import { hasAtMost } from "../../base/text.ts";
import { MAX_DELAY_MS } from "../../base/timers/deadline-timer.ts";
import { toWellFormed } from "../../json/well-formed.ts";
import type { Question, QuestionAnswer } from "./question.ts";

/** The most characters of a question. */
export const MAX_QUESTION_CHARS = 4_000;
/** The most choices of a question. */
export const MAX_CHOICES = 100;
/** The most characters of a choice. */
export const MAX_CHOICE_CHARS = 500;
/** The most characters of an answer in the person's own words. */
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
