import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/json/value.ts";
import { allow } from "../../../src/policy/policy.ts";
import type { SandboxMode } from "../../../src/tool/sandbox-mode.ts";
import { unavailable } from "../../sandboxes/process/availability.ts";
import { ToolsetScene } from "../toolset-scene.ts";

const reason = unavailable ?? (existsSync("/usr/bin/rg") ? undefined : "there is no /usr/bin/rg");
if (reason !== undefined) console.warn(`Skipped: grep with ripgrep: ${reason}`);

let scene: ToolsetScene<"search">;
let base: string;
let directories = 0;

beforeAll(async () => {
  scene = await ToolsetScene.open("search");
  base = realpathSync(mkdtempSync(join(tmpdir(), "ripgrep-")));
});

afterAll(async () => {
  await scene[Symbol.asyncDispose]();
  rmSync(base, { recursive: true, force: true });
});

type Contents = Readonly<Record<string, string | Uint8Array>>;

/** Creates a directory with files. */
function tree(contents: Contents): string {
  const root = join(base, `${directories++}`);
  mkdirSync(root);
  for (const [path, content] of Object.entries(contents)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

/** Returns the output or the error of `grep` in a sandbox. */
async function grep(sandbox: SandboxMode, workspace: string, args: JsonObject): Promise<JsonObject> {
  const decision = allow({ sandbox, capabilities: { fs: [{ directory: workspace }] } });
  const execution = await scene.call("grep", args, { workspace, policy: { check: () => decision } });
  const { success, output, error } = execution;
  return success ? (output as JsonObject) : { code: error?.code ?? "", message: error?.message ?? "" };
}

/** Has both sandboxes search, and expects the same of them. Returns what they found. */
async function both(workspace: string, args: JsonObject): Promise<JsonObject> {
  const [found, walked] = [await grep("process", workspace, args), await grep("host", workspace, args)];
  if ("code" in walked) expect(found["code"]).toBe(walked["code"]);
  else expect(found).toEqual(walked);
  return found;
}

const FILES: Contents = {
  ".gitignore": "*.log\n/build/\n!keep.log\nsub/*.tmp\n",
  "a.txt": "one\r\ntwo\nthree\nfour\nfive",
  "b/c.ts": "const two = 2;\n",
  "b/d.log": "two",
  "b/keep.log": "two",
  "b/build/e.txt": "two",
  "build/f.txt": "two",
  "sub/g.tmp": "two",
  "sub/.gitignore": "h.txt\n",
  "sub/h.txt": "two",
  "sub/i/h.txt": "two",
  "sub/z.txt": "two",
  ".env": "TWO=two\n",
  ".git/config": "two",
  ".ignore": "a.txt\n",
  "-x": "two",
  "new\nline": "two",
  "image.bin": "two\0",
  "late.bin": `two\n${"x".repeat(200_000)}\0`,
  "latin.txt": Buffer.from("caf\xe9 two\nx\xe2\x82 two\n", "latin1"),
  "utf16.txt": Buffer.from("\ufefftwo", "utf16le"),
  "bom.txt": "\ufefftwo\n",
  "empty.txt": "",
  "s &:/x.txt": "two",
};

describe.skipIf(reason !== undefined)("grep with ripgrep", () => {
  test.each([
    "\\s+$",
    "[^\\w;]$",
    "[^a-z;]$",
    "\\s",
  ])("finds what %s matches after many lines that only end in a carriage return", async (pattern) => {
    const lines = `${"line;\r\n".repeat(1_000)}line; \r\nmore;\r\n`;
    const found = await both(tree({ "a.txt": lines, "b.txt": "line \n" }), { pattern });
    expect(JSON.stringify(found)).toContain("1001:line; ");
    expect(JSON.stringify(await both(tree({ "a.txt": lines }), { pattern, filesOnly: true }))).toContain(
      "a.txt",
    );
  });

  test.each<JsonObject>([
    { pattern: "two" },
    { pattern: "t[wx]o" },
    { pattern: "^two$" },
    { pattern: "^one$" },
    { pattern: "one." },
    { pattern: "caf. two" },
    { pattern: "x. two$" },
    { pattern: "x[^a] two" },
    { pattern: "\ufffd" },
    { pattern: "TWO" },
    { pattern: "TWO", ignoreCase: true },
    { pattern: "[^\\W]wo", ignoreCase: true },
    { pattern: "one\\s+two" },
    { pattern: "two|\\n" },
    { pattern: "[\\n]" },
    { pattern: "" },
    { pattern: "x*" },
    { pattern: "t", context: 1 },
    { pattern: "two", path: "b" },
    { pattern: "two", path: "./sub/" },
    { pattern: "two", path: "build" },
    { pattern: "two", path: "s &:" },
    { pattern: "two", path: "new\nline" },
    { pattern: "two", path: "b/d.log" },
    { pattern: "two", path: "b/../sub" },
    { pattern: "two", path: "-x" },
    { pattern: "two", path: "none" },
    { pattern: "two", path: "image.bin" },
    { pattern: "two", path: "./image.bin" },
    { pattern: "two", path: "image.bin", glob: "*.txt" },
    { pattern: "two", path: "late.bin" },
    { pattern: "two", path: "utf16.txt", filesOnly: true },
    { pattern: "two", glob: "*.{ts,txt}" },
    { pattern: "two", glob: "/*.txt" },
    { pattern: "two", glob: "**/i/**" },
    { pattern: "two", glob: "sub/" },
    { pattern: "two", glob: "[!a-y]*" },
    { pattern: "two", glob: "?.ts", path: "b" },
    { pattern: "two", filesOnly: true },
    { pattern: "two", filesOnly: true, limit: 2 },
    { pattern: "two", limit: 3 },
    { pattern: "t", limit: 2, context: 3 },
    { pattern: "(" },
    { pattern: "(a)\\1" },
    { pattern: "two", glob: "[a" },
  ])("finds what the walk finds for %j", async (args) => {
    await both(tree(FILES), args);
  });

  test("finds nothing outside, follows no links, and does not wait for FIFOs", async () => {
    const root = tree({ "a.txt": "x" });
    execFileSync("mkfifo", [join(root, "pipe")]);
    symlinkSync(".", join(root, "loop"));
    symlinkSync("a.txt", join(root, "link"));
    symlinkSync("/etc", join(root, "etc"));
    expect(await both(root, { pattern: "x|root" })).toEqual({ matches: [{ path: "a.txt", lines: ["1:x"] }] });
    expect(await grep("process", root, { pattern: "root", path: "etc" })).toMatchObject({
      code: "permission_denied",
    });
    expect(await grep("process", root, { pattern: "x", path: "pipe" })).toMatchObject({
      code: "execution_error",
    });
  });

  test("shows what is around a match in a long line, and searches a very long one at its beginning", async () => {
    const root = tree({
      "a.txt": `${"é".repeat(20_000)}needle${"😀".repeat(1_000)}\n`,
      "b.txt": `needle ${"x".repeat(100_000)} needle 2`,
    });
    await both(root, { pattern: "needle" });
    expect(await grep("process", root, { pattern: "needle \\d" })).toEqual({ matches: [] });
  });

  test("bounds what it returns, and says so", async () => {
    const contents: Record<string, string> = {};
    for (let index = 0; index < 300; index++) contents[`d${index % 7}/${index}.txt`] = "line\n".repeat(300);
    const root = tree(contents);
    await both(root, { pattern: "line" });
    await both(root, { pattern: "line", limit: 1_000, context: 2 });
    await both(root, { pattern: "line", filesOnly: true, limit: 299 });
    const wide = tree({ "a.txt": `${"x".repeat(499)}\n`.repeat(1_000) });
    await both(wide, { pattern: "x", limit: 1_000 });
  });

  test("refuses a pattern that is too large for ripgrep", async () => {
    const args = { pattern: "[\\p{L}\\p{N}]{1000}[\\p{L}\\p{N}]{900}" };
    expect(await grep("process", tree({ "a.txt": "x" }), args)).toEqual({
      code: "validation_error",
      message: expect.stringContaining("too large for ripgrep"),
    });
  });

  test("says that a .gitignore has rules that ripgrep may read otherwise", async () => {
    const root = tree({ ".gitignore": "*.{js,ts}\n", "a.js": "x", "b.txt": "x" });
    expect(await grep("process", root, { pattern: "x" })).toMatchObject({
      note: expect.stringContaining("differently from Git"),
    });
  });

  test("ends with what it has found when its time is up", async () => {
    await using hasty = await ToolsetScene.open("search", {}, { timeMs: 1 });
    const contents: Record<string, string> = {};
    for (let index = 0; index < 3_000; index++) contents[`d${index % 50}/${index}.txt`] = "x\n".repeat(200);
    const root = tree(contents);
    const decision = allow({ sandbox: "process", capabilities: { fs: [{ directory: root }] } });
    const { output } = await hasty.call(
      "grep",
      { pattern: "y" },
      { workspace: root, policy: { check: () => decision } },
    );
    expect(output).toEqual({ matches: [], note: expect.stringContaining("before all files were searched") });
  });

  const name = fc.constantFrom("a", "b", "c.ts", "d.log", ".e", "é", "f g", "h-i", "J");
  const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join("/"));
  const line = fc.array(
    fc.constantFrom("foo", "Bar", "x", "1", " ", "é", "ſ", "K", "\t", "\\", "😀", "_", "\r", "\ufffd"),
    {
      maxLength: 5,
    },
  );
  const text = fc
    .array(
      line.map((pieces) => pieces.join("")),
      { maxLength: 8 },
    )
    .map((lines) => lines.join("\n"));
  const bytes = fc
    .array(fc.constantFrom(0x66, 0x6f, 0x0a, 0xe2, 0x82, 0xff, 0xc3), { maxLength: 12 })
    .map((each) => Uint8Array.from(each));
  const rules = fc.array(
    fc
      .tuple(
        fc.constantFrom("", "!"),
        fc.constantFrom("", "/", "**/"),
        path,
        fc.constantFrom("", "/", "*", "/**"),
      )
      .map((parts) => parts.join("")),
    { maxLength: 4 },
  );
  const atom = fc.constantFrom(
    "foo",
    "x",
    ".",
    "\\d",
    "\\w",
    "\\s",
    "\\S",
    "\\W",
    "[a-k]",
    "[^f]",
    "[^\\s]",
    "é",
    "\\b",
    "\\B",
    "K",
    "s",
    "\\p{Lu}",
    "\\u{1f600}",
    "\\\\",
    "\\t",
    "\\r",
    "[\\w\\s]",
    "\ufffd",
  );
  const pattern = fc
    .array(fc.tuple(atom, fc.constantFrom("", "", "*", "+", "?", "{2}")), { minLength: 1, maxLength: 4 })
    .chain((pieces) =>
      fc.tuple(fc.constantFrom("", "^"), fc.constantFrom("", "$", "|x")).map(([start, end]) => {
        const inside = pieces.map(([each, times]) => (/^\\[bB]$/.test(each) ? each : each + times)).join("");
        return start + inside + end;
      }),
    );

  test("finds what the walk finds in any tree, for any pattern", { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(path, fc.oneof(text, bytes), { minKeys: 1, maxKeys: 8 }),
        fc.dictionary(fc.constantFrom(".gitignore", "a/.gitignore", "b/.gitignore"), rules),
        pattern,
        fc.record({
          ignoreCase: fc.boolean(),
          context: fc.integer({ min: 0, max: 2 }),
          limit: fc.integer({ min: 1, max: 5 }),
          filesOnly: fc.boolean(),
          path: fc.constantFrom(".", "a", "b/a"),
          glob: fc.constantFrom("*", "*.ts", "a/**", "{a,b}*", "**/c.*"),
        }),
        async (files, ignored, searched, options) => {
          // A name cannot be that of a file and that of a directory.
          const paths = Object.keys(files).filter(
            (each) => !Object.keys(files).some((other) => other.startsWith(`${each}/`)),
          );
          const contents: Record<string, string | Uint8Array> = {};
          for (const each of paths) contents[each] = files[each] ?? "";
          for (const [each, lines] of Object.entries(ignored)) {
            if (!paths.includes(dirname(each))) contents[each] = lines.join("\n");
          }
          await both(tree(contents), { pattern: searched, ...options });
        },
      ),
      { numRuns: Number(process.env["RIPGREP_RUNS"] ?? 60) },
    );
  });
});
