import assert from "node:assert/strict";
import { test } from "node:test";
import { runTool } from "./run-tool.mjs";

test("counts lines, words and characters", () => {
  const { output, log } = runTool("dist/tool.wasm", { text: 'Zwölf\n"Boxkämpfer" 🥊' });
  assert.deepEqual(output, { lines: 2, words: 3, characters: 20 });
  assert.deepEqual(log, [{ level: "info", message: "lines: 2" }]);
});

test("refuses an input that does not match the schema", () => {
  assert.equal(runTool("dist/tool.wasm", { texts: [] }).error.code, "validation_error");
});
