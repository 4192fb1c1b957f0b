import { describe, expect, test } from "vitest";
import { answerProblem, checkQuestion, copyAnswer, type Question } from "../../../src/tool/question.ts";

describe("A question", () => {
  test("is copied and frozen, without halves of characters", () => {
    const choices = ["a", "b\ud800"];
    const question = checkQuestion({ question: "which?\udfff", choices, multiple: true, timeoutMs: 5 });
    choices.push("c");
    expect(question).toEqual({
      question: "which?\ufffd",
      choices: ["a", "b\ufffd"],
      multiple: true,
      timeoutMs: 5,
    });
    expect(Object.isFrozen(question) && Object.isFrozen(question.choices)).toBe(true);
  });

  test.each<[string, unknown, string]>([
    ["nothing", undefined, "the question must be a text of 1 to 4000 characters"],
    ["an empty text", { question: "" }, "the question must be"],
    ["a text of 4,001 characters", { question: "x".repeat(4_001) }, "the question must be"],
    ["no choices", { question: "?", choices: [] }, "1 to 100 choices"],
    ["101 choices", { question: "?", choices: Array.from({ length: 101 }, String) }, "1 to 100 choices"],
    ["the same choice twice", { question: "?", choices: ["a", "a"] }, "all different"],
    [
      "choices that look the same once they can be sent",
      { question: "?", choices: ["\ud800", "\udbff"] },
      "all",
    ],
    ["a choice that is no text", { question: "?", choices: [1] }, "a choice must be a text"],
    ["choices that are no list", { question: "?", choices: "ab" }, "a list of texts"],
    ["several answers without choices", { question: "?", multiple: true }, "needs choices"],
    ["multiple that is neither", { question: "?", multiple: 1 }, "true or false"],
    ["no time", { question: "?", timeoutMs: 0 }, "timeoutMs must be"],
    ["more time than a timer has", { question: "?", timeoutMs: 2 ** 31 }, "timeoutMs must be"],
    ["time that is not a number", { question: "?", timeoutMs: Number.NaN }, "timeoutMs must be"],
  ])("is refused with %s", (_, question, message) => {
    expect(() => checkQuestion(question as Question)).toThrow(new RegExp(message));
  });
});

test("An answer is one of the choices only as it was written", () => {
  expect(answerProblem({ choices: ["é"] }, "e\u0301")).toBe("the answer must be one of the choices");
  expect(answerProblem({ choices: ["é"] }, "é")).toBeUndefined();
});

test("An answer of another length than the choices is copied only as far as it is checked", () => {
  // A list that says it is as long as this would take gigabytes.
  const list = new Proxy(["a"], {
    get: (target, name) => (name === "length" ? 1e9 : Reflect.get(target, name)),
  });
  const copy = copyAnswer(list);
  expect(copy).toHaveLength(101);
  expect(answerProblem({ choices: ["a"], multiple: true }, copy)).toMatch(/^the answer must be a list/);
});

test("An answer with a hole is not one of the choices", () => {
  // biome-ignore lint/suspicious/noSparseArray: a hole is what is tested.
  expect(answerProblem({ choices: ["a"], multiple: true }, copyAnswer([, "a"]))).toMatch(/^the answer must/);
});
