import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DuplicateToolError } from "../../../src/engine/registered-tool.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { registerBasicTools } from "../../../src/toolsets/toolsets.ts";
import { ToolsetScene } from "../toolset-scene.ts";

test("Echo returns its text", async () => {
  await using scene = await ToolsetScene.open("basic");
  expect(await scene.call("Echo", { text: "hello" })).toMatchObject({ output: { text: "hello" } });
});

test("Write writes a file, and Read reads it", async () => {
  await using scene = await ToolsetScene.open("basic");
  expect(await scene.call("Write", { path: "a.txt", content: "héllo" })).toMatchObject({
    output: { size: 6 },
  });
  expect(readFileSync(join(scene.workspace, "a.txt"), "utf8")).toBe("héllo");
  expect(await scene.call("Read", { path: "a.txt" })).toMatchObject({
    output: { content: "héllo", size: 6 },
  });
});

test("Read is denied if no files are granted", async () => {
  await using scene = await ToolsetScene.open("basic", { fs: [] });
  expect(await scene.call("Read", { path: "a.txt" })).toMatchObject({
    success: false,
    error: {
      code: "permission_denied",
      message: "Permission denied: no files are granted to this tool",
      effect: "none",
    },
  });
});

test("Read is denied a path that leads out of the workspace", async () => {
  await using scene = await ToolsetScene.open("basic");
  expect(await scene.call("Read", { path: "../../etc/passwd" })).toMatchObject({
    error: { code: "permission_denied", message: "Path escapes workspace boundary" },
  });
});

test("registerBasicTools replaces tools of the same names only if it is asked to, and registers all or none", () => {
  const registry = new ToolRegistry();
  const own = {
    name: "Read",
    description: "Another one.",
    inputSchema: { type: "object" },
    host: () => null,
  };
  registry.register(own);
  expect(() => registerBasicTools(registry)).toThrow(DuplicateToolError);
  expect(registry.names).toEqual(["Read"]);
  registerBasicTools(registry, { replace: true });
  expect(registry.names.toSorted()).toEqual(["Echo", "Read", "Write"]);
  expect(registry.get("Read").description).not.toBe("Another one.");
});
