import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { askOnce } from "../../examples/quickstart/ask.ts";

test("in examples/quickstart, a person is asked once over HTTP, and README shows what happens", async () => {
  const [, shown = ""] = /^```text\n(asked: .*?)\n```$/ms.exec(readFileSync("README.md", "utf8")) ?? [];
  const lines = await askOnce();
  expect(lines).toHaveLength(3);
  expect(lines.join("\n")).toBe(shown);
});
