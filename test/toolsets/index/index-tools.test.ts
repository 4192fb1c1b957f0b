import { mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { DispatchContext } from "../../../src/engine/call/context.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import { ToolsetScene } from "../toolset-scene.ts";

type Scene = ToolsetScene<"index">;

function write(scene: Scene, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(scene.workspace, path)), { recursive: true });
    writeFileSync(join(scene.workspace, path), content);
  }
}

async function search(
  scene: Scene,
  query: string,
  limit = 20,
  context: Partial<DispatchContext> = {},
): Promise<{ readonly found: readonly string[]; readonly note: unknown }> {
  const { error, output } = await scene.call("project_knowledge_search", { query, limit }, context);
  expect(error).toBeUndefined();
  const { symbols, note } = output as JsonObject;
  return {
    found: (symbols as readonly JsonObject[]).map(({ name, path, line }) => `${path}:${line} ${name}`),
    note,
  };
}

test("ranks symbols by how well their names fit, then by kind and place", async () => {
  await using scene = await ToolsetScene.open("index");
  write(scene, {
    "test/load.test.ts": "function load() {}\n",
    "src/a.ts":
      "export const preload = 1;\nexport class FileLoader {\n  load() {}\n}\nexport function load() {}\n",
    "src/b.py": "class Loader:\n    def loads(self): pass\nLOAD = 1\n",
    "src/c.rs": "fn load() {}\n",
    ".gitignore": "out\n",
    "out/d.ts": "function load() {}\n",
  });
  expect(await search(scene, "load")).toEqual({
    found: [
      "src/a.ts:5 load",
      "src/a.ts:3 load",
      "test/load.test.ts:1 load",
      "src/b.py:3 LOAD",
      "src/b.py:1 Loader",
      "src/b.py:2 loads",
      "src/a.ts:2 FileLoader",
      "src/a.ts:1 preload",
    ],
    note: undefined,
  });
  expect((await search(scene, "FileLoader load")).found).toEqual([
    "src/a.ts:2 FileLoader",
    "src/a.ts:3 load",
  ]);
  expect((await search(scene, "load", 1)).note).toBe("The best 1 of 8 symbols are shown.");
  expect((await search(scene, "nowhere")).note).toContain("No symbol fits. Use fewer or shorter words");
});

test("notices files that were changed, moved, deleted and created", async () => {
  await using scene = await ToolsetScene.open("index");
  const at = (path: string): string => join(scene.workspace, path);
  write(scene, { "a.ts": "class One {}\n", "b.ts": "class Two {}\n", "c.ts": "class Three {}\n" });
  expect((await search(scene, "one")).found).toEqual(["a.ts:1 One"]);
  write(scene, { "a.ts": "\nclass One1 {}\n", "e.ts": "class OneMore {}\n" });
  utimesSync(at("a.ts"), 1, 1);
  renameSync(at("b.ts"), at("d.ts"));
  rmSync(at("c.ts"));
  expect((await search(scene, "one")).found).toEqual(["a.ts:2 One1", "e.ts:1 OneMore"]);
  expect((await search(scene, "two")).found).toEqual(["d.ts:1 Two"]);
  expect((await search(scene, "three")).found).toEqual([]);
});

test("does not read a file again whose time and size are the same, but only for the same session and caller", async () => {
  await using scene = await ToolsetScene.open("index");
  const replace = (text: string): void => {
    write(scene, { "a.ts": text });
    utimesSync(join(scene.workspace, "a.ts"), 1_000, 1_000);
  };
  replace("class One {}\n");
  expect((await search(scene, "e")).found).toEqual(["a.ts:1 One"]);
  replace("class Hue {}\n");
  expect((await search(scene, "e")).found).toEqual(["a.ts:1 One"]);
  expect((await search(scene, "e", 20, { sessionId: "other" })).found).toEqual(["a.ts:1 Hue"]);
  const principal = { id: "ann", kind: "user" } as const;
  expect((await search(scene, "e", 20, { principal })).found).toEqual(["a.ts:1 Hue"]);
});

test("skips files that are too large, and says so", async () => {
  await using scene = await ToolsetScene.open("index");
  write(scene, { "a.ts": `class One {}\n//${"x".repeat(600_000)}` });
  expect(await search(scene, "one")).toEqual({
    found: [],
    note: "Files larger than 512 KiB were not searched. No symbol fits. Use fewer or shorter words, or search the text of the files instead.",
  });
});
