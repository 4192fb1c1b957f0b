import { describe, expect, test } from "vitest";
import type { AskUser, QuestionRequest } from "../../../src/engine/call/confirmation.ts";
import { ToolsetScene } from "../toolset-scene.ts";

describe("ask_user", () => {
  test("returns what a person answers", async () => {
    await using scene = await ToolsetScene.open("ask");
    const requests: QuestionRequest[] = [];
    const ask: AskUser = async (request) => {
      requests.push(request);
      return { decision: "answer", by: "ann", answer: request.choices?.[1] ?? "Zoë" };
    };
    expect((await scene.call("ask_user", { question: "Which name?" }, { ask })).output).toEqual({
      answer: "Zoë",
    });
    const choosing = { question: "Which colour?", options: ["red", "green"] };
    expect((await scene.call("ask_user", choosing, { ask })).output).toEqual({ answer: "green" });
    expect(requests).toMatchObject([
      { question: "Which name?", multiple: false },
      { question: "Which colour?", choices: ["red", "green"], multiple: false },
    ]);
    expect(requests[0]).not.toHaveProperty("choices");
  });

  test("takes every text that its schema accepts, which counts code points", async () => {
    await using scene = await ToolsetScene.open("ask");
    const [question, option] = ["\u{1f600}".repeat(4_000), "\u{1f600}".repeat(500)];
    const answers: AskUser = async () => ({ decision: "answer", by: "ann", answer: option });
    expect((await scene.call("ask_user", { question, options: [option] }, { ask: answers })).output).toEqual({
      answer: option,
    });
  });

  test("fails without an effect if nobody can be asked", async () => {
    await using scene = await ToolsetScene.open("ask");
    expect((await scene.call("ask_user", { question: "?" })).error).toMatchObject({
      code: "permission_denied",
      effect: "none",
      message: "Permission denied: nobody is available to answer the question",
    });
  });

  test.each([
    [{ question: "" }],
    [{ question: "?", options: [] }],
    [{ question: "?", options: ["a", "a"] }],
    [{ question: "x".repeat(4_001) }],
  ])("refuses %j", async (args) => {
    await using scene = await ToolsetScene.open("ask");
    expect((await scene.call("ask_user", args)).error?.code).toBe("validation_error");
  });
});
