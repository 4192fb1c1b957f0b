import assert from "node:assert/strict";
import { test } from "node:test";
import { runTool } from "./run-tool.mjs";

test("writes a title as part of a URL", () => {
  const { output, log } = runTool("dist/tool.wasm", { title: "  Hello, World 2! " });
  assert.equal(output, "hello-world-2");
  assert.deepEqual(log, [{ level: "info", message: "characters: 13" }]);
});

test("tells the model that nothing is left of a title", () => {
  assert.match(runTool("dist/tool.wasm", { title: "¡!" }).error.message, /no letters/);
});
