import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildToolResultMessages, type ToolResult } from "../../../src/engine/call/messages.ts";
import { withinBudget } from "../../../src/engine/result-budget.ts";
import type { ContentBlock } from "../../../src/tool/content.ts";
import { contextFor, dispatchTool, hostTool } from "../helpers.ts";

async function resultOf(output: unknown, more: object = {}): Promise<ToolResult> {
  const execution = await dispatchTool(await contextFor([hostTool(() => output)], more));
  expect(execution.output).toEqual(output);
  const call = { id: "call", name: "tool", arguments: {} };
  const [, { results }] = buildToolResultMessages([call], [execution]);
  return results[0] as ToolResult;
}

const textOf = ({ content }: { readonly content: readonly ContentBlock[] }): string =>
  content.map((block) => (block.type === "text" ? block.text : "")).join("");

describe("The result that a model reads", () => {
  test("is whole up to 30,000 characters", async () => {
    const result = await resultOf("x".repeat(30_000));
    expect(textOf(result)).toHaveLength(30_000);
    expect(result).not.toHaveProperty("truncated");
  });

  test("is beginning and end of a longer text, while the execution's output stays whole", async () => {
    const result = await resultOf(`${"a".repeat(25_000)}${"b".repeat(25_000)}`);
    const [, head = "", count, tail = ""] =
      /^(a+)\n\[… ([\d,]+) characters left out …\]\n(b+)$/.exec(textOf(result)) ?? [];
    expect(head.length / (head.length + tail.length)).toBeCloseTo(0.6, 2);
    expect(count).toBe((50_000 - head.length - tail.length).toLocaleString("en-US"));
    expect(result.truncated).toEqual({ from: 50_000, to: textOf(result).length });
    expect(textOf(result).length).toBeLessThanOrEqual(30_000);
  });

  test("has the length that the context sets", async () => {
    const result = await resultOf("x".repeat(1_000), { resultBudget: { chars: 100, head: 0.5 } });
    expect(textOf(result)).toBe(`${"x".repeat(34)}\n[… 933 characters left out …]\n${"x".repeat(33)}`);
    const whole = await resultOf("x".repeat(50_000), { resultBudget: { chars: 100_000 } });
    expect(textOf(whole)).toHaveLength(50_000);
  });

  test("has of each text block its share, and images whole", async () => {
    const image = { type: "image", data: "AAAA", mimeType: "image/png" };
    const content = [
      { type: "text", text: "a".repeat(3_000) },
      image,
      { type: "text", text: "b".repeat(1_000) },
    ];
    const result = await resultOf({ content }, { resultBudget: { chars: 1_000 } });
    const lengths = result.content.map((block) => (block.type === "text" ? block.text.length : block.data));
    expect(lengths).toEqual([expect.closeTo(750, -1), "AAAA", expect.closeTo(250, -1)]);
  });
});

describe("Text blocks whose shares are too small for a note are shortened together", () => {
  const texts = (...all: string[]): readonly ContentBlock[] =>
    all.map((text) => ({ type: "text" as const, text }));

  test("so that a short block after a long one is not lost", () => {
    const { content, truncated } = withinBudget(texts("x".repeat(100_000), "exit code: 1"));
    expect(content).toHaveLength(1);
    expect(textOf({ content })).toMatch(/^x+\n\[… [\d,]+ characters left out …\]\nx+\nexit code: 1$/);
    expect(truncated).toEqual({ from: 100_012, to: textOf({ content }).length });
  });

  test("so that the model reads how much of many blocks it does not see, besides the images", () => {
    const image = { type: "image", data: "AAAA", mimeType: "image/png" } as const;
    const lines = Array.from({ length: 40_000 }, (_, line) => `${line}`);
    const { content } = withinBudget([...texts(...lines), image]);
    expect(content).toEqual([{ type: "text", text: expect.stringMatching(/^0\n1\n/) }, image]);
    expect(textOf({ content })).toMatch(/\n\[… [\d,]+ characters left out …\]\n/);
    expect(textOf({ content })).toMatch(/\n39998\n39999$/);
  });
});

test("A budget is never exceeded, and no surrogate pair is split", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 200 });
  const budget = fc.record({
    chars: fc.integer({ min: 1, max: 300 }),
    head: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(text, { maxLength: 5 }), budget, (texts, given) => {
      const content = texts.map((each) => ({ type: "text" as const, text: each }));
      const shown = withinBudget(content, given);
      const all = textOf(shown);
      expect(all.length).toBeLessThanOrEqual(Math.max(given.chars, 0));
      expect(shown.content.every((block) => block.type === "text" && block.text.isWellFormed())).toBe(true);
      if (shown.truncated === undefined) expect(all).toBe(texts.join(""));
      else expect(shown.truncated).toEqual({ from: texts.join("").length, to: all.length });
    }),
  );
});
