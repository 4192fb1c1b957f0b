import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { toToolResult } from "../../src/engine/call/messages.ts";
import type { JsonObject } from "../../src/json/value.ts";
import { contentText } from "../../src/tool/content.ts";
import type { ToolsetName } from "../../src/toolsets/toolsets.ts";
import { unavailable } from "../sandboxes/process/availability.ts";
import { ToolsetScene } from "./toolset-scene.ts";

async function open(name: ToolsetName, files: Readonly<Record<string, string>> = {}) {
  const scene = await ToolsetScene.open(name);
  onTestFinished(() => scene[Symbol.asyncDispose]());
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(scene.workspace, path)), { recursive: true });
    writeFileSync(join(scene.workspace, path), content);
  }
  /** What the model reads of a call. */
  return async (tool: string, args: JsonObject, chars?: number): Promise<string> => {
    const more = chars === undefined ? {} : { resultBudget: { chars } };
    const { truncated, content } = toToolResult(await scene.call(tool, args, more));
    // The tool itself writes what fits.
    expect(truncated).toBeUndefined();
    return contentText(content);
  };
}

describe("models read plain text", () => {
  test("of files with the numbers of lines, and of edits the lines as they are now", async () => {
    const files = {
      "a.txt": "one\ntwo\nthree\nfour\n",
      "dos.txt": "a\r\nb\r\n",
      "mixed.txt": "one\r\ntwo\n",
    };
    const read = await open("fs", files);
    expect(await read("read_file", { path: "a.txt", offset: 2, limit: 2 })).toBe(
      "     2\ttwo\n     3\tthree\n" +
        "[Lines 2 to 3 of 4 are shown. Call read_file with offset 4 for the next ones.]",
    );
    expect(await read("read_file", { path: "dos.txt" })).toContain("[The lines end with \\r\\n.]");
    expect(await read("read_file", { path: "mixed.txt" })).toContain(
      "[Some of these lines end with \\r\\n, the",
    );
    const edits = [{ old: "two\n", new: "2\n2b\n" }];
    expect(await read("edit_file", { path: "a.txt", edits })).toBe(
      "1 text was replaced. The file now has here:\n     1\tone\n     2\t2\n     3\t2b\n     4\tthree\n     5\tfour",
    );
    expect(await read("patch_file", { path: "a.txt", old: "four\n", new: "" })).toContain("     4\tthree");
  });

  test("of directories and of what was found, one on a line", async () => {
    const files = { "src/a.ts": "export function foo() {}\n\n\nfoo();\n", "b.ts": "foo\n" };
    const list = await open("fs", files);
    expect(await list("list_directory", {})).toBe("b.ts\nsrc/");
    const search = await open("search", files);
    expect(await search("search_files", { pattern: "*.ts" })).toBe("b.ts\nsrc/a.ts");
    expect(await search("grep", { pattern: "foo", path: "src", context: 1 })).toBe(
      "src/a.ts:1:export function foo() {}\nsrc/a.ts-2-\nsrc/a.ts-3-\nsrc/a.ts:4:foo();",
    );
    expect(await search("grep", { pattern: "bar" })).toBe("No lines match.");
    expect(await search("find_references", { symbol: "foo" })).toBe(
      "Definitions:\nsrc/a.ts:1:export function foo() {}\nReferences:\nb.ts:1:foo\nsrc/a.ts:4:foo();",
    );
  });

  test("of matches page by page within their budget, without losing one", async () => {
    const lines = Array.from({ length: 150 }, (_, index) => `needle ${index} ${"x".repeat(30)}`);
    const read = await open("search", { "a.txt": lines.join("\n"), "b.txt": lines.join("\n") });
    const seen: string[] = [];
    for (let offset = 0; ; ) {
      const page = (await read("grep", { pattern: "needle", limit: 120, offset }, 3_000)).split("\n");
      const note = page.at(-1)?.startsWith("[") ? page.pop() : undefined;
      seen.push(...page);
      offset += page.length;
      if (note === undefined) break;
      expect(note).toContain(`offset ${offset}`);
    }
    expect(seen).toEqual(
      ["a", "b"].flatMap((name) => lines.map((line, at) => `${name}.txt:${at + 1}:${line}`)),
    );
  });

  test("of edits that fail where the text occurs, or that its white space differs", async () => {
    const read = await open("fs", { "a.txt": "one\n\ttwo\none\n" });
    const edit = (old: string) => read("edit_file", { path: "a.txt", edits: [{ old, new: "x" }] });
    expect(await edit("one")).toContain(
      "occurs 2 times, first in the lines 1, 3. Give more of the text around it",
    );
    expect(await edit("one\n  two")).toContain("does not occur as it is, but with other white space");
    expect(await edit("one two three")).toContain("the text does not occur. Read the file again");
    expect(await read("read_file", { path: "." })).toBe(
      "Cannot read '.': the path is a directory: list what is in it instead",
    );
  });

  test("and get no line numbers into a file", async () => {
    const read = await open("fs", { "a.txt": "one\ntwo\n", "numbered.txt": "     1\tone\n" });
    const edit = (path: string, old: string, text: string) =>
      read("edit_file", { path, edits: [{ old, new: text }] });
    expect(await edit("a.txt", "     1\tone\n     2\ttwo", "x")).toContain(
      "it has the line numbers that read_file shows",
    );
    expect(await edit("a.txt", "one", "     1\tuno")).toContain(
      "Leave the numbers out, with the tab after each",
    );
    expect(await read("patch_file", { path: "a.txt", old: "one", new: "     1\tuno" })).toContain(
      "Leave the numbers out",
    );
    expect(await read("write_file", { path: "a.txt", content: "     1\tuno\n     2\tdue\n" })).toContain(
      "Leave the numbers out",
    );
    expect(await read("read_file", { path: "a.txt" })).toBe("     1\tone\n     2\ttwo");
    // A file that has numbers itself can be edited, and a table with numbers be written.
    expect(await edit("numbered.txt", "     1\tone", "     1\tuno")).toContain("1 text was replaced");
    expect(await read("write_file", { path: "t.tsv", content: "1\tuno\n2\tdue\n" })).toContain("was written");
  });
});

describe.skipIf(unavailable)("models read of commands", () => {
  test("what a terminal would show, and how they ended", async () => {
    const read = await open("shell");
    expect(
      await read("run_command", {
        command: "printf '\\033[31mred\\033[0m\\n1%%\\r2%%\\n'; echo no >&2; exit 3",
      }),
    ).toBe("red\n2%\nStandard error:\nno\nExit code: 3");
    expect(await read("run_command", { command: "true" })).toBe("The command wrote nothing.\nExit code: 0");
  });

  test("whole lines of the beginning and the end, and what to do about the rest", async () => {
    const read = await open("shell");
    const text = await read("run_command", { command: "seq 1 20000; seq 1 20000 >&2" });
    expect(text).toMatch(
      /^1\n2\n[\s\S]*characters are left out here\. To read them, [\s\S]*\n20000\nStandard error:\n1\n/,
    );
    expect(text).toMatch(/\n20000\nExit code: 0$/);
    for (const line of text.split("\n").filter((each) => /^\d/.test(each)))
      expect(Number(line)).toBeLessThan(20_001);
  });
});
