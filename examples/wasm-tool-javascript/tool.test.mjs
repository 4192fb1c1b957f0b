import assert from "node:assert/strict";
import { test } from "node:test";
import { runTool } from "./run-tool.mjs";

test("parses comma-separated values", () => {
  const { output, log } = runTool("dist/tool.wasm", { text: 'name,age\n"Lovelace, Ada",36' });
  assert.deepEqual(output, [{ name: "Lovelace, Ada", age: "36" }]);
  assert.deepEqual(log, [{ level: "info", message: "records: 1" }]);
});

test("tells the model what is wrong with the text", () => {
  assert.match(runTool("dist/tool.wasm", { text: "a,b\n1" }).error.message, /line 2/);
});
