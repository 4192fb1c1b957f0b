import assert from "node:assert/strict";
import { test } from "node:test";
import { runTool } from "./run-tool.mjs";

test("converts a time to seconds", () => {
  assert.deepEqual(runTool("tool.ts", { time: "1:02:03" }).output, { seconds: 3723 });
});

test("tells the model what is wrong with a time", () => {
  const { success, error } = runTool("tool.ts", { time: "1:99" });
  assert.equal(success, false);
  assert.match(error.message, /'1:99' is not a time/);
});
