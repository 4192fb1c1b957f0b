import { expect, test } from "vitest";
// Inside: matches one path with one rule after the other, without files for each.
import { Pace } from "../../../src/toolsets/files/pace.ts";
import { bytesOf, IgnoreRules } from "../../../src/toolsets/files/walk.ts";

async function verdict(rules: string, path: string): Promise<string | undefined> {
  const pace = new Pace(new AbortController().signal, 60_000);
  const isDirectory = path.endsWith("/");
  const bytes = bytesOf(isDirectory ? path.slice(0, -1) : path);
  const parsed = await IgnoreRules.parse(Buffer.from(rules).toString("latin1"), pace);
  return await parsed.verdictOn(bytes, isDirectory, pace);
}

// From gitignore(5).
test.each([
  ["hello.*", "hello.txt", true],
  ["hello.*", "a/hello.java", true],
  ["/hello.*", "hello.c", true],
  ["/hello.*", "a/hello.java", false],
  ["doc/frotz/", "doc/frotz/", true],
  ["doc/frotz/", "a/doc/frotz/", false],
  ["frotz/", "a/frotz/", true],
  ["frotz/", "a/frotz", false],
  ["foo/*", "foo/test.json", true],
  ["foo/*", "foo/bar/hello.c", false],
  ["**/foo", "foo", true],
  ["**/foo", "a/b/foo", true],
  ["**/foo/bar", "a/foo/bar", true],
  ["**/foo/bar", "foo/a/bar", false],
  ["abc/**", "abc/a/b", true],
  ["abc/**", "abc", false],
  ["a/**/b", "a/b", true],
  ["a/**/b", "a/x/y/b", true],
  ["a/**/b", "a/xb", false],
  ["\\#x", "#x", true],
  ["#x", "#x", false],
  ["\\!x", "!x", true],
  ["x  ", "x", true],
  ["x\\ ", "x ", true],
  ["x\\ ", "x", false],
  ["x\r\ny", "x", true],
  ["[a-c]x", "bx", true],
  ["[!a-c]x", "bx", false],
  ["a?c", "a/c", false],
  ["?", "é", false],
  ["??", "é", true],
  ["[", "[", false],
  ["x\\", "x", false],
])("the rule %j ignores %j: %j", async (rule, path, isIgnored) => {
  expect(await verdict(rule, path)).toBe(isIgnored ? "ignored" : undefined);
});

test("the last rule that matches decides, however it is written", async () => {
  const rules = ["a*.o", "!*.o", "ab.o", "!/ab.o", "a?.o"];
  for (let count = 1; count <= rules.length; count++) {
    expect(await verdict(rules.slice(0, count).join("\n"), "ab.o")).toBe(
      count % 2 === 1 ? "ignored" : "included",
    );
  }
});

test("a pattern that a matcher with backtracking would take forever for takes a moment", async () => {
  const pattern = `${"a*".repeat(100)}b`;
  const deep = `${"**/a".repeat(50).replaceAll("a*", "a/*")}/b`;
  expect(await verdict(pattern, "a".repeat(250))).toBeUndefined();
  expect(await verdict(deep, `${"a/".repeat(120)}c`)).toBeUndefined();
});

test("thousands of patterns that nearly match leave room for other events, and end with the time", async () => {
  const rules = Array.from({ length: 4_000 }, (_, index) => `${"*f".repeat(120)}${index}`).join("\n");
  const controller = new AbortController();
  const parsed = await IgnoreRules.parse(rules, new Pace(controller.signal, 60_000));
  setImmediate(() => setImmediate(() => controller.abort(new Error("cancelled"))));
  const pace = new Pace(controller.signal, 60_000);
  await expect(parsed.verdictOn("f".repeat(250), false, pace)).rejects.toThrow("cancelled");
});
