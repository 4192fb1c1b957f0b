import { expect, test } from "vitest";
import { readListedTools } from "../../src/mcp/import/listed-tool.ts";
import { isShort, longestTurn } from "./turn-meter.ts";

test.each<[string, (index: number) => string]>([
  ["different tools", (index) => `tool-${index}`],
  ["tools of the same name", () => "tool"],
])("the main thread is not stalled by an MCP server that lists 20,000 %s", async (_title, nameOf) => {
  const listed = Array.from({ length: 20_000 }, (_, index) => ({
    name: nameOf(index),
    inputSchema: { type: "object" },
  }));
  let problems: readonly string[] = [];
  const turnMs = await longestTurn(async () => {
    problems = readListedTools("server", listed).problems;
  });
  expect(isShort(turnMs), `${turnMs} ms`).toBe(true);
  expect(problems.join("").length).toBeLessThan(500);
});
