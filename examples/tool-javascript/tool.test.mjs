import assert from "node:assert/strict";
import { test } from "node:test";
import { runTool } from "./run-tool.mjs";

test("counts words, the most frequent first", () => {
  const { output, log } = runTool("tool.js", { text: "To be, or not to be", top: 2 });
  assert.deepEqual(output, [
    { word: "be", count: 2 },
    { word: "to", count: 2 },
  ]);
  assert.deepEqual(log, [{ level: "info", message: "4 different words" }]);
});
