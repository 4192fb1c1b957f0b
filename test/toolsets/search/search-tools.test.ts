import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/json/value.ts";
import { ToolsetScene } from "../toolset-scene.ts";

type Scene = ToolsetScene<"search">;
type Contents = Readonly<Record<string, string | Uint8Array>>;

async function open(files: Contents, options: { readonly timeMs?: number } = {}): Promise<Scene> {
  const scene = await ToolsetScene.open("search", {}, options);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(scene.workspace, path)), { recursive: true });
    writeFileSync(join(scene.workspace, path), content);
  }
  return scene;
}

async function output(scene: Scene, tool: string, args: JsonObject): Promise<JsonObject> {
  const { error, output: value } = await scene.call(tool, args);
  expect(error).toBeUndefined();
  return value as JsonObject;
}

describe("search_files", () => {
  const FILES = {
    "a.ts": "",
    "src/b.ts": "",
    "src/c.tsx": "",
    "src/deep/d.ts": "",
    ".hidden.ts": "",
    "e.js": "",
  };

  test.each([
    ["*.ts", [".hidden.ts", "a.ts", "src/b.ts", "src/deep/d.ts"]],
    ["/*.ts", [".hidden.ts", "a.ts"]],
    ["src/*.ts", ["src/b.ts"]],
    ["./src/**/*.ts", ["src/b.ts", "src/deep/d.ts"]],
    ["src/", ["src/b.ts", "src/c.tsx", "src/deep/d.ts"]],
    ["**/deep/**", ["src/deep/d.ts"]],
    ["{a,src/{b,c}}.ts{,x}", ["a.ts", "src/b.ts", "src/c.tsx"]],
    ["[!a-d].??", ["e.js"]],
    ["none", []],
  ])("finds the files of %s", async (pattern, paths) => {
    await using scene = await open(FILES);
    expect(await output(scene, "search_files", { pattern })).toEqual({ paths });
  });

  test("matches below its path, and returns whole paths", async () => {
    await using scene = await open(FILES);
    expect(await output(scene, "search_files", { pattern: "deep/*", path: "src" })).toEqual({
      paths: ["src/deep/d.ts"],
    });
  });

  test("says that there are more files", async () => {
    await using scene = await open(FILES);
    expect(await output(scene, "search_files", { pattern: "*", limit: 2 })).toEqual({
      paths: [".hidden.ts", "a.ts"],
      note: "There are more results after number 2. Narrow the glob or the path, or raise limit to at most 1000, or go on with offset 2.",
    });
  });

  test.each([
    ["[a", "a bracket or an escape in it is not complete"],
    ["{a,b}".repeat(10), "its braces stand for more than 64 texts"],
  ])("refuses the glob %s", async (pattern, reason) => {
    await using scene = await open({});
    const { error } = await scene.call("search_files", { pattern });
    expect(error).toMatchObject({ code: "validation_error" });
    expect(error?.message).toContain(`Invalid glob '${pattern}': ${reason}`);
  });
});

describe("grep", () => {
  const FILES = {
    ".gitignore": "*.log\n",
    "a.txt": "one\r\ntwo\nthree\nfour\nfive",
    "b/c.ts": "const two = 2;\n",
    "b/d.log": "two",
    ".env": "TWO=two\n",
    "image.bin": "two\0",
    "latin.txt": Buffer.from("caf\xe9 two", "latin1"),
  };

  test("finds lines with their numbers, in text files that git does not ignore", async () => {
    await using scene = await open(FILES);
    expect(await output(scene, "grep", { pattern: "t[wx]o" })).toEqual({
      matches: [
        { path: ".env", lines: ["1:TWO=two"] },
        { path: "a.txt", lines: ["2:two"] },
        { path: "latin.txt", lines: ["1:caf\ufffd two"] },
        { path: "b/c.ts", lines: ["1:const two = 2;"] },
      ],
    });
  });

  test("shows lines around matches, each of them once", async () => {
    await using scene = await open(FILES);
    const args = { pattern: "^t", path: "a.txt", context: 1 };
    expect(await output(scene, "grep", args)).toEqual({
      matches: [{ path: "a.txt", lines: ["1-one", "2:two", "3:three", "4-four"] }],
    });
  });

  test("matches each line on its own, without its line end", async () => {
    await using scene = await open(FILES);
    expect(await output(scene, "grep", { pattern: "^one$", path: "a.txt" })).toMatchObject({
      matches: [{ lines: ["1:one"] }],
    });
    expect(await output(scene, "grep", { pattern: "one\\s+two", path: "a.txt" })).toEqual({ matches: [] });
  });

  test.each([
    "image.bin",
    "./utf16.txt",
  ])("says of %s, as the only file, that it is not searched", async (path) => {
    const utf16 = Buffer.from("\ufefftwo", "utf16le");
    await using scene = await open({ "image.bin": "two\0", "utf16.txt": utf16, "a.txt": "one" });
    expect(await output(scene, "grep", { pattern: "two", path })).toEqual({
      matches: [],
      note: `'${path}' was not searched: it is a binary file, or in UTF-16. Have a program convert it, such as iconv.`,
    });
    // Among others, it is passed over, as grep does.
    expect(await output(scene, "grep", { pattern: "two" })).toEqual({ matches: [] });
  });

  test("filters files, ignores case, and returns only paths", async () => {
    await using scene = await open(FILES);
    const args = { pattern: "CONST|TWO", ignoreCase: true, filesOnly: true };
    expect(await output(scene, "grep", args)).toEqual({ paths: [".env", "a.txt", "latin.txt", "b/c.ts"] });
    expect(await output(scene, "grep", { ...args, glob: "*.{ts,js}" })).toEqual({ paths: ["b/c.ts"] });
    expect(await output(scene, "grep", { ...args, limit: 1 })).toMatchObject({
      paths: [".env"],
      note: expect.stringContaining("more results after number 1"),
    });
  });

  test("says that there are more matches than its limit, across files", async () => {
    await using scene = await open({ "a.txt": "x\nx\n", "b.txt": "x\nx\n" });
    const lines = async (limit: number): Promise<JsonObject> =>
      await output(scene, "grep", { pattern: "x", limit });
    expect(await lines(2)).toEqual({
      matches: [{ path: "a.txt", lines: ["1:x", "2:x"] }],
      note: "There are more results after number 2. Narrow the pattern, the glob or the path, or raise limit to at most 1000, or go on with offset 2.",
    });
    expect(await lines(3)).toMatchObject({ matches: [{ path: "a.txt" }, { path: "b.txt", lines: ["1:x"] }] });
    expect(await lines(4)).not.toHaveProperty("note");
  });

  test("shows what is around a match in a huge line", async () => {
    await using scene = await open({ "a.txt": `${"é".repeat(3_000_000)}needle${"😀".repeat(1_000_000)}` });
    const { matches, note } = await output(scene, "grep", { pattern: "needle" });
    const [{ lines = [] } = {}] = matches as readonly { readonly lines?: readonly string[] }[];
    expect(lines[0]).toMatch(/^1:…é+needle(?:😀)+…$/u);
    expect(note).toContain("Lines longer than 500 characters are cut");
  });

  test("searches a very long line only at its beginning for a pattern that is no literal, and says so", async () => {
    await using scene = await open({ "a.txt": `needle ${"x".repeat(1_000_000)} needle 2` });
    expect(await output(scene, "grep", { pattern: "needle \\d" })).toEqual({
      matches: [],
      note: "Very long lines were searched only at their beginning.",
    });
  });

  test("bounds its output", async () => {
    await using scene = await open({ "a.txt": `${"x".repeat(499)}\n`.repeat(1_000) });
    const { matches, note } = await output(scene, "grep", { pattern: "x", limit: 1_000 });
    expect(JSON.stringify(matches).length).toBeLessThan(110_000);
    expect(note).toContain("Only the first 100000 characters");
  });

  test.each([
    "(x+x+)+y",
    "(a|aa)+$",
    "(.*x){100}[yz]",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
  ])("matches %s in linear time", async (pattern) => {
    await using scene = await open({ "a.txt": `${"x".repeat(5_000)}\n${"a".repeat(5_000)}!\n` });
    expect((await scene.call("grep", { pattern })).success).toBe(true);
  });

  test.each([
    ["(", "not a valid regular expression"],
    ["(?<=a)b", "look-around"],
    ["(a)\\1", "back-references"],
  ])("refuses the pattern %s", async (pattern, reason) => {
    await using scene = await open({});
    const { error } = await scene.call("grep", { pattern });
    expect(error).toMatchObject({ code: "validation_error", message: expect.stringContaining(reason) });
  });

  test("finds a long literal in a huge line in a short time", async () => {
    const pattern = `ab${"a".repeat(1_000)}`;
    await using scene = await open({ "a.txt": "a".repeat(8 << 20), "b.txt": pattern });
    // With the product of both lengths, it would take many times its time, in one turn of the event loop.
    const found = await output(scene, "grep", { pattern, filesOnly: true });
    expect(found).toEqual({ paths: ["b.txt"] });
    const other = `${pattern.slice(0, 500)}b`;
    expect(await output(scene, "grep", { pattern: other })).toEqual({ matches: [] });
  });

  test("ends with what it has found when its time is up", async () => {
    await using scene = await open({ "a.txt": "x" }, { timeMs: 0.000_1 });
    expect(await output(scene, "grep", { pattern: "x" })).toEqual({
      matches: [],
      note: expect.stringContaining("before all files were searched. Narrow it to a directory or a glob."),
    });
  });

  test("does not wait for FIFOs, and follows no links", async () => {
    await using scene = await open({ "a.txt": "x" });
    execFileSync("mkfifo", [join(scene.workspace, "pipe")]);
    symlinkSync(".", join(scene.workspace, "loop"));
    symlinkSync("a.txt", join(scene.workspace, "link"));
    symlinkSync("/dev/zero", join(scene.workspace, "zero"));
    expect(await output(scene, "grep", { pattern: "x" })).toEqual({
      matches: [{ path: "a.txt", lines: ["1:x"] }],
    });
  });

  test("stops when the call is cancelled", async () => {
    await using scene = await open({ "a.txt": "x\n".repeat(2_000_000) });
    const controller = new AbortController();
    setImmediate(() => controller.abort());
    const { error } = await scene.call("grep", { pattern: "[yz]" }, { signal: controller.signal });
    expect(error?.code).toBe("cancelled");
  });
});

describe("find_references", () => {
  test("finds whole words, lines that look like a definition first", async () => {
    await using scene = await open({
      "a.ts": "import { load } from './b';\nload();\nreload(); loads(); $load; loadé; obj.load;\n",
      "b.ts": "// load it\nexport async function load(): void {}\n",
      "c.ts": "class Store {\n  async load(path: string) {\n  }\n}\n",
      "d.py": "def load(path):\n",
      "e.go": "func (s *Store) load(path string) error {\n",
    });
    const { references } = await output(scene, "find_references", { symbol: "load" });
    const list = references as readonly JsonObject[];
    expect(list.map(({ path, line, definition = false }) => `${path}:${line} ${definition}`)).toEqual([
      "b.ts:2 true",
      "c.ts:2 true",
      "d.py:1 true",
      "e.go:1 true",
      "a.ts:1 false",
      "a.ts:2 false",
      "a.ts:3 false",
      "b.ts:1 false",
    ]);
  });

  test("passes over a huge word that begins with the symbol", async () => {
    const symbol = "a".repeat(1_000);
    await using scene = await open({ "a.txt": `${"a".repeat(8 << 20)} ${symbol}` });
    const { references } = await output(scene, "find_references", { symbol });
    expect(references).toMatchObject([{ path: "a.txt", line: 1 }]);
  });

  test("finds a definition behind more references than its limit", async () => {
    await using scene = await open({ "a.ts": "x();\n".repeat(50), "b.ts": "const x = 1;\n" });
    const { references, note } = await output(scene, "find_references", { symbol: "x", limit: 3 });
    expect(references).toMatchObject([
      { path: "b.ts", definition: true },
      { path: "a.ts" },
      { path: "a.ts" },
    ]);
    expect(note).toContain("more results after number 3");
  });
});
