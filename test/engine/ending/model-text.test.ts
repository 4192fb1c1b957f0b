import { describe, expect, test } from "vitest";
import { toToolResult } from "../../../src/engine/call/messages.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import { contentText } from "../../../src/tool/content.ts";
import { contextFor, dispatchTool, hostTool } from "../helpers.ts";

const LIST = { names: ["a", "b"] };

async function read(modelText: NonNullable<Tool["modelText"]>, budget?: { readonly chars: number }) {
  const ctx = await contextFor([hostTool(() => LIST, { modelText })], {
    ...(budget && { resultBudget: budget }),
  });
  const execution = await dispatchTool(ctx, { from: 1 });
  return { execution, text: contentText(toToolResult(execution).content) };
}

describe("the text that a tool writes for the model", () => {
  test("is read in place of JSON, and the output stays for code", async () => {
    const { execution, text } = await read(({ names }: typeof LIST) => names.join("\n"));
    expect(text).toBe("a\nb");
    expect(execution.output).toEqual(LIST);
  });

  test("is written for the characters that the model reads, and cut if it is longer", async () => {
    const { text } = await read((_: unknown, reader) => JSON.stringify(reader), { chars: 200 });
    expect(JSON.parse(text)).toEqual({ chars: 200, input: { from: 1 }, toolName: "tool" });
    const long = await read(() => "x".repeat(1_000), { chars: 200 });
    expect(long.text).toMatch(/^x+\n\[… \d+ characters left out …\]\nx+$/);
  });

  test.each<[string, NonNullable<Tool["modelText"]>]>([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["returns no text", () => 5 as never],
  ])("gives way to JSON if the function %s", async (_, modelText) => {
    const { execution, text } = await read(modelText);
    expect([execution.success, text]).toEqual([true, JSON.stringify(LIST)]);
  });

  test("is written of what redaction leaves", async () => {
    const tool = hostTool(() => "token=ghp_abcdefghijklmnopqrstuvwxyz0123456789", {
      modelText: (output: string) => `It says ${output}`,
    });
    const { Redaction } = await import("../../../src/redaction/redaction.ts");
    const ctx = await contextFor([tool], { redaction: new Redaction({ results: true }) });
    expect(contentText(toToolResult(await dispatchTool(ctx)).content)).not.toContain("ghp_");
  });
});
