import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DispatchContext } from "../../../src/engine/call/context.ts";
import { toToolResult } from "../../../src/engine/call/messages.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import { contentText } from "../../../src/tool/content.ts";
import { ToolsetScene } from "../toolset-scene.ts";

type Scene = ToolsetScene<"fs">;

async function open(files: Readonly<Record<string, string | Uint8Array>> = {}): Promise<Scene> {
  const scene = await ToolsetScene.open("fs");
  for (const [path, content] of Object.entries(files)) writeFileSync(join(scene.workspace, path), content);
  return scene;
}

const textOf = ({ workspace }: Scene, path: string): string => readFileSync(join(workspace, path), "utf8");

async function output(
  scene: Scene,
  tool: string,
  args: JsonObject,
  more: Partial<DispatchContext> = {},
): Promise<JsonObject> {
  const { success, output: value, error } = await scene.call(tool, args, more);
  expect(error).toBeUndefined();
  expect(success).toBe(true);
  return value as JsonObject;
}

async function failure(scene: Scene, tool: string, args: JsonObject): Promise<string> {
  const { success, error } = await scene.call(tool, args);
  expect(success).toBe(false);
  return error?.message ?? "";
}

describe("read_file", () => {
  test.each([
    28_000, 300_000,
  ])("pages within what the model reads of a result, at %i characters", async (length) => {
    const line = `const text = "a\\tb"; // ${"x".repeat(40)}\n`;
    const content = line.repeat(Math.ceil(length / line.length));
    await using scene = await open({ "a.ts": content });
    let read = "";
    for (let offset = 1; read.length < content.length; ) {
      const execution = await scene.call("read_file", { path: "a.ts", offset });
      const { truncated, content: shown } = toToolResult(execution);
      expect(truncated).toBeUndefined();
      const lines = contentText(shown).split("\n");
      const note = lines.at(-1)?.startsWith("[") ? lines.pop() : undefined;
      for (const numbered of lines) {
        expect(numbered.slice(0, 7)).toBe(`${String(offset).padStart(6)}\t`);
        read += `${numbered.slice(7)}\n`;
        offset++;
      }
      expect(content.startsWith(read)).toBe(true);
      // What is left out is said, and how to read it.
      if (read.length === content.length) expect(note).toBeUndefined();
      else expect(note).toContain(`Call read_file with offset ${offset} for the next ones.`);
    }
    expect(read).toBe(content);
  });

  test("says how much of a line is shown that is longer than what the model reads", async () => {
    await using scene = await open({ "a.txt": '"'.repeat(50_000) });
    const result = toToolResult(await scene.call("read_file", { path: "a.txt" }));
    expect(result.truncated).toBeUndefined();
    const [line = "", note] = contentText(result.content).split("\n");
    expect(line.length).toBeGreaterThan(25_000);
    expect(note).toContain(
      `Line 1 has 50000 characters, of which only the first ${line.length - "     1\t".length} are shown`,
    );
  });

  test("returns a file exactly as it is, whatever it says", async () => {
    const content = "\ufeffone\r\n[200 lines left out]\n\u2028é\tend";
    await using scene = await open({ "a.txt": content });
    expect(await output(scene, "read_file", { path: "a.txt" })).toEqual({
      content,
      firstLine: 1,
      lastLine: 3,
      totalLines: 3,
    });
  });

  test("returns some of the lines, and says how to read on", async () => {
    await using scene = await open({ "a.txt": "1\n2\n3\n4\n5\n" });
    expect(await output(scene, "read_file", { path: "a.txt", offset: 2, limit: 2 })).toEqual({
      content: "2\n3\n",
      firstLine: 2,
      lastLine: 3,
      totalLines: 5,
      note: "Lines 2 to 3 of 5 are shown. Call read_file with offset 4 for the next ones.",
    });
    expect(await output(scene, "read_file", { path: "a.txt", offset: 6 })).toMatchObject({
      content: "",
      note: "The file has only 5 lines.",
    });
  });

  test("reads any file in pieces that make up the whole file", async () => {
    await using scene = await open();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("a", "\n", "\r\n", "é", "long line "), { maxLength: 40 }),
        fc.integer({ min: 1, max: 5 }),
        async (pieces, limit) => {
          writeFileSync(join(scene.workspace, "a.txt"), pieces.join(""));
          let whole = "";
          for (let offset = 1, total = 1; offset <= total; ) {
            const part = await output(scene, "read_file", { path: "a.txt", offset, limit });
            whole += part["content"];
            offset = Number(part["lastLine"]) + 1;
            total = Number(part["totalLines"]);
          }
          expect(whole).toBe(pieces.join(""));
        },
      ),
      { numRuns: 50 },
    );
  });

  test("bounds what it returns of many lines and of one huge line", async () => {
    const lines = `${"x".repeat(999)}\n`.repeat(500);
    await using scene = await open({ "lines.txt": lines, "line.txt": "é".repeat(5_000_000) });
    const some = await output(
      scene,
      "read_file",
      { path: "lines.txt" },
      { resultBudget: { chars: 1_000_000 } },
    );
    expect(some).toMatchObject({ lastLine: 100, totalLines: 500 });
    expect(some["note"]).toContain("offset 101");
    const beginning = await output(
      scene,
      "read_file",
      { path: "line.txt" },
      { resultBudget: { chars: 1_000_000 } },
    );
    expect(String(beginning["content"])).toHaveLength(100_000);
    expect(beginning["note"]).toContain("Line 1 has 5000000 characters");
  });

  test("reads a large file only as far as necessary", async () => {
    const line = (number: number): string => `${number} ${"é".repeat(500)}\n`;
    const text = Array.from({ length: 20_000 }, (_, index) => line(index + 1)).join("");
    await using scene = await open({ "a.txt": `${text}\0` });
    const read = (offset: number): Promise<JsonObject> =>
      output(scene, "read_file", { path: "a.txt", offset, limit: 2 });
    for (const offset of [1, 1_040, 5_000]) {
      expect(await read(offset)).toEqual({
        content: line(offset) + line(offset + 1),
        firstLine: offset,
        lastLine: offset + 1,
        note: `Lines ${offset} to ${offset + 1} are shown. Call read_file with offset ${offset + 2} for the next ones.`,
      });
    }
    expect(await failure(scene, "read_file", { path: "a.txt", offset: 19_000 })).toContain(
      "that is more than 16 MiB",
    );
  });

  test("tells the number of all lines of a large file that was read to its end", async () => {
    await using scene = await open({ "a.txt": "line\n".repeat(500_000) });
    expect(await output(scene, "read_file", { path: "a.txt", offset: 499_999 })).toEqual({
      content: "line\nline\n",
      firstLine: 499_999,
      lastLine: 500_000,
      totalLines: 500_000,
    });
  });

  test.each([
    ["bytes that are not UTF-8", Uint8Array.of(0xff, 0xfe, 0x41)],
    ["a NUL", "a\0b"],
  ])("fails for a file with %s", async (_, content) => {
    await using scene = await open({ "a.bin": content });
    expect(await failure(scene, "read_file", { path: "a.bin" })).toBe(
      "Cannot read 'a.bin' as text: it is a binary file, or not in UTF-8, of 3 B. Read another file, or have a program convert this one.",
    );
  });

  test("does not wait for a FIFO, and does not leave the workspace", async () => {
    await using scene = await open();
    execFileSync("mkfifo", [join(scene.workspace, "pipe")]);
    symlinkSync("/etc", join(scene.workspace, "etc"));
    expect(await failure(scene, "read_file", { path: "pipe" })).toContain(
      "a named pipe, which is never opened",
    );
    expect(await failure(scene, "read_file", { path: "etc/passwd" })).toBe("Path escapes workspace boundary");
  });
});

describe("write_file", () => {
  test("creates a file with the directories above it, and replaces it", async () => {
    await using scene = await open();
    expect(await output(scene, "write_file", { path: "a/b/c.txt", content: "é" })).toEqual({ size: 2 });
    await output(scene, "write_file", { path: "a/b/c.txt", content: "new" });
    expect(textOf(scene, "a/b/c.txt")).toBe("new");
  });

  test("creates nothing outside of the workspace", async () => {
    await using scene = await open();
    for (const path of ["../x/y.txt", "a/../../x/y.txt", "/tmp/nowhere/y.txt"]) {
      expect(await failure(scene, "write_file", { path, content: "" })).not.toBe("");
    }
    expect(existsSync(join(scene.workspace, "a"))).toBe(false);
  });
});

describe("edit_file", () => {
  test("applies all edits, one after another, and takes texts as they are", async () => {
    await using scene = await open({ "a.txt": "one two two three" });
    const edits = [
      { old: "one", new: "$& $1 $$" },
      { old: "two", new: "2", replaceAll: true },
      { old: "$1", new: "three" },
      { old: "2 2 three", new: "" },
    ];
    expect(await output(scene, "edit_file", { path: "a.txt", edits })).toMatchObject({
      replacements: 5,
    });
    expect(textOf(scene, "a.txt")).toBe("$& three $$ ");
  });

  test.each([
    ["none", "edit 2 of 2 fails, and nothing was changed: the text does not occur. Read the file again"],
    ["two", "edit 2 of 2 fails, and nothing was changed: the text occurs 2 times. Give more of the text"],
  ])("applies no edit if one of them is for the text %s", async (old, message) => {
    await using scene = await open({ "a.txt": "one two two" });
    const edits = [
      { old: "one", new: "1" },
      { old, new: "" },
    ];
    expect(await failure(scene, "edit_file", { path: "a.txt", edits })).toContain(message);
    expect(textOf(scene, "a.txt")).toBe("one two two");
  });

  test("says that line ends differ", async () => {
    await using scene = await open({ "a.txt": "one\r\ntwo\r\n" });
    const edits = [{ old: "one\ntwo", new: "" }];
    expect(await failure(scene, "edit_file", { path: "a.txt", edits })).toContain("end with \\r\\n");
    expect(await failure(scene, "patch_file", { path: "a.txt", ...edits[0] })).toBe(
      "Cannot patch 'a.txt': the text does not occur, as the lines of the file end with \\r\\n. Give the text with these line ends.",
    );
  });

  test("refuses to make a file of more than 16 MiB", async () => {
    await using scene = await open({ "a.txt": "a".repeat(10_000) });
    const edits = [{ old: "a", new: "b".repeat(10_000), replaceAll: true }];
    expect(await failure(scene, "edit_file", { path: "a.txt", edits })).toContain("larger than 16 MiB");
    expect(textOf(scene, "a.txt")).toBe("a".repeat(10_000));
  });

  test("refuses a text that overlaps itself, and replaces what does not overlap if it is to replace all", async () => {
    await using scene = await open({ "a.txt": "aaaaa" });
    const edits = [{ old: "aaa", new: "b" }];
    expect(await failure(scene, "edit_file", { path: "a.txt", edits })).toContain("the text occurs 3 times");
    await output(scene, "edit_file", { path: "a.txt", edits: [{ old: "aa", new: "b", replaceAll: true }] });
    expect(textOf(scene, "a.txt")).toBe("bba");
  });

  test("edits a large file in a short time, whatever is to be replaced", async () => {
    await using scene = await open({ "a.txt": "a".repeat(8 << 20) });
    // A search with the product of both lengths would take hours, and 100 edits of everything minutes.
    const old = `ab${"a".repeat(500_000)}`;
    expect(await failure(scene, "edit_file", { path: "a.txt", edits: [{ old, new: "" }] })).toContain(
      "the text does not occur",
    );
    const edits = Array.from({ length: 100 }, (_, index) => ({
      old: "ab"[index % 2] as string,
      new: "ba"[index % 2] as string,
      replaceAll: true,
    }));
    expect(await failure(scene, "edit_file", { path: "a.txt", edits })).toContain(
      "the text occurs more than 1000000 times. Give more of the text around it.",
    );
    expect(await failure(scene, "edit_file", { path: "a.txt", edits: [{ old: "a", new: "" }] })).toContain(
      "the text occurs more than 1000 times.",
    );
  });

  test("loses no edit of calls that run at once", async () => {
    await using scene = await open({
      "a.txt": Array.from({ length: 20 }, (_, index) => `<${index}>`).join(""),
    });
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0
          ? output(scene, "edit_file", { path: "a.txt", edits: [{ old: `<${index}>`, new: "." }] })
          : output(scene, "patch_file", { path: "a.txt", old: `<${index}>`, new: "." }),
      ),
    );
    expect(textOf(scene, "a.txt")).toBe(".".repeat(20));
  });
});

describe("patch_file", () => {
  test("replaces a text that occurs once, and takes the new one as it is", async () => {
    await using scene = await open({ "a.txt": "one two" });
    expect(await output(scene, "patch_file", { path: "a.txt", old: "one", new: "$&" })).toMatchObject({
      replacements: 1,
    });
    expect(textOf(scene, "a.txt")).toBe("$& two");
  });

  test.each([
    ["x", "Cannot patch 'a.txt': the text does not occur. Read the file again"],
    ["a", "Cannot patch 'a.txt': the text occurs 3 times. Give more of the text around it."],
  ])("changes nothing for the text %s", async (old, message) => {
    await using scene = await open({ "a.txt": "a a a" });
    expect(await failure(scene, "patch_file", { path: "a.txt", old, new: "b" })).toContain(message);
    expect(textOf(scene, "a.txt")).toBe("a a a");
  });

  test("changes nothing if the text overlaps itself", async () => {
    await using scene = await open({ "a.txt": "}\n}\n}\n" });
    expect(await failure(scene, "patch_file", { path: "a.txt", old: "}\n}\n", new: "" })).toContain(
      "the text occurs 2 times.",
    );
    expect(textOf(scene, "a.txt")).toBe("}\n}\n}\n");
  });

  test("finds a long text in a long file in a short time", async () => {
    await using scene = await open({ "a.txt": "a".repeat(8 << 20) });
    const old = `ab${"a".repeat(500_000)}`;
    expect(await failure(scene, "patch_file", { path: "a.txt", old, new: "" })).toContain(
      "the text does not occur",
    );
    expect(await failure(scene, "patch_file", { path: "a.txt", old: "a", new: "" })).toContain(
      "the text occurs more than 1000 times.",
    );
  });
});

describe("list_directory", () => {
  test("lists the workspace or a directory, sorted by name", async () => {
    await using scene = await open({ "b.txt": "", ".hidden": "" });
    mkdirSync(join(scene.workspace, "a"));
    symlinkSync("b.txt", join(scene.workspace, "c"));
    expect(await output(scene, "list_directory", {})).toEqual({
      entries: [
        { name: ".hidden", kind: "file" },
        { name: "a", kind: "directory" },
        { name: "b.txt", kind: "file" },
        { name: "c", kind: "other" },
      ],
    });
    expect(await output(scene, "list_directory", { path: "a" })).toEqual({ entries: [] });
  });

  test("lists a large directory in pieces", async () => {
    await using scene = await open(
      Object.fromEntries(Array.from({ length: 1_100 }, (_, n) => [`${n + 1_000}`, ""])),
    );
    const first = await output(scene, "list_directory", {});
    expect(first["note"]).toBe(
      "Entries 1 to 1000 of 1100 are shown. Call list_directory with offset 1000 for the next ones.",
    );
    const rest = await output(scene, "list_directory", { offset: 1_000 });
    expect(rest["note"]).toBeUndefined();
    expect(rest["entries"]).toHaveLength(100);
  });
});

describe("delete_file", () => {
  test("deletes a file, an empty directory, and a link but not what it leads to", async () => {
    await using scene = await open({ "a.txt": "" });
    mkdirSync(join(scene.workspace, "empty"));
    symlinkSync("a.txt", join(scene.workspace, "link"));
    for (const path of ["link", "empty"]) await output(scene, "delete_file", { path });
    expect(existsSync(join(scene.workspace, "a.txt"))).toBe(true);
    await output(scene, "delete_file", { path: "a.txt" });
    expect(existsSync(join(scene.workspace, "a.txt"))).toBe(false);
  });

  test("deletes no directory with files", async () => {
    await using scene = await open();
    await output(scene, "write_file", { path: "a/b.txt", content: "" });
    expect(await failure(scene, "delete_file", { path: "a" })).toContain("the directory is not empty");
  });
});
