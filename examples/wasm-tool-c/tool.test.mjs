import assert from "node:assert/strict";
import { test } from "node:test";
import { runTool } from "./run-tool.mjs";

test("evaluates an expression", () => {
  const { output } = runTool("dist/tool.wasm", { expression: "2 * (3 + 4)" });
  assert.equal(output, 14);
});

test("tells the model what is wrong with an expression", () => {
  const { error } = runTool("dist/tool.wasm", { expression: "2 *" });
  assert.match(error.message, /position 4/);
});
