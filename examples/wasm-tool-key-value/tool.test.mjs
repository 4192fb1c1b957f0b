import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runTool } from "./run-tool.mjs";

const folder = mkdtempSync(join(tmpdir(), "notes-"));
after(() => rmSync(folder, { recursive: true }));

test("keeps a note until the next call", () => {
  const note = (input) => runTool("dist/tool.wasm", input, ["--store", join(folder, "store.json")]).output;
  assert.equal(note({ title: "shopping", text: "pencils" }), null);
  assert.equal(note({ title: "shopping", text: "paper" }), "pencils");
  assert.equal(note({ title: "shopping" }), "paper");
});

test("keeps nothing without a store that is kept", () => {
  assert.equal(runTool("dist/tool.wasm", { title: "shopping" }).output, null);
});
