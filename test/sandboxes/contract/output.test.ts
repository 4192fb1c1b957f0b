import { describe, expect, test } from "vitest";
import { checkOutput, checkReturned } from "../../../src/sandboxes/contract/output.ts";

const OVERFLOWED =
  /^Tool returned an invalid output: a number that is too large for a double at position \d+$/;

describe("an output with a number that no double can hold", () => {
  test.each([
    "1e999",
    "-1e999",
    '{"a":[1e400]}',
  ])("the output %s is refused, since no double can hold its number", (text) => {
    expect(checkOutput(text, undefined)).toEqual({
      status: "failed",
      message: expect.stringMatching(OVERFLOWED),
      outputBytes: text.length,
    });
  });

  test.each([
    ["Infinity at /0", [Number.POSITIVE_INFINITY]],
    ["NaN at /a/b", { a: { b: Number.NaN } }],
    ["a Map", new Map([["a", 1]])],
    ["a Set at /tags", { tags: new Set(["a"]) }],
    ["a Promise at /0", [Promise.resolve(1)]],
    ["an Error at /cause", { cause: new Error("x") }],
    ["a RegExp at /pattern", { pattern: /x/ }],
    ["a Response", new Response("text")],
    ["a Headers at /headers", { headers: new Headers({ a: "1" }) }],
    ["a URLSearchParams", new URLSearchParams("a=1")],
    ["an AbortSignal at /0", [AbortSignal.abort()]],
    ["a Map Iterator at /keys", { keys: new Map([["a", 1]]).keys() }],
    ["a Set Iterator", new Set([1]).values()],
    ["an Array Iterator", ["a"].values()],
    ["a RegExp String Iterator", "aa".matchAll(/a/g)],
    ["an AsyncGenerator", (async function* () {})()],
    ["NaN at /0", [new Number(Number.NaN)]],
  ])("a returned value that holds %s is refused, not emptied in silence", (what, value) => {
    expect(checkReturned(value, undefined, 0)).toEqual({
      status: "failed",
      message: expect.stringMatching(`^Tool returned ${what}, which is not JSON-serialisable(: return .*)?$`),
      outputBytes: 0,
    });
  });

  test("the model reads what to return in place of a Map, a Set and an Error", () => {
    const messageOf = (value: unknown): unknown => Reflect.get(checkReturned(value, undefined, 0), "message");
    expect(messageOf(new Map())).toMatch(/: return Object\.fromEntries\(map\), or a list of its entries$/);
    expect(messageOf([new Set()])).toMatch(/: return Array\.from\(set\)$/);
    expect(messageOf(new TypeError("x"))).toMatch(/: return its message$/);
  });

  test("a returned object with its own toJSON decides how it is written", () => {
    const value = Object.assign(new Map(), { toJSON: () => ({ written: true }) });
    expect(checkReturned({ value, at: new Date(0) }, undefined, 0)).toMatchObject({
      output: { value: { written: true }, at: "1970-01-01T00:00:00.000Z" },
    });
  });

  test("values whose members JSON can have are written, even if there are none", () => {
    class Page {
      readonly [Symbol.toStringTag] = "Page";
      readonly title = "Home";
    }
    const value = [new Page(), new (class Empty {})(), Object.create(null), new Boolean(true)];
    expect(checkReturned(value, undefined, 0)).toMatchObject({
      output: [{ title: "Home" }, {}, {}, true],
    });
  });

  test("a number that no double can hold is refused in raw JSON too", () => {
    // TypeScript does not declare JSON.rawJSON yet.
    const { rawJSON } = JSON as unknown as { rawJSON(text: string): object };
    expect(checkReturned({ n: rawJSON("1e999") }, undefined, 0)).toMatchObject({
      message: expect.stringMatching(OVERFLOWED),
    });
  });
});

describe("an output with half a surrogate pair", () => {
  const broken = { "k\ud800": ["a\udc00b", "\ud83d\ude00"], long: `${"x".repeat(100)}\ud800` };
  const mended = { "k\ufffd": ["a\ufffdb", "\ud83d\ude00"], long: `${"x".repeat(100)}\ufffd` };

  test("gets the replacement character in its place, as a value or as text", () => {
    expect(checkReturned(broken, undefined, 0)).toMatchObject({ status: "completed", output: mended });
    expect(checkOutput(JSON.stringify(broken), undefined)).toMatchObject({ output: mended });
    expect(checkOutput('"\\ud800"', undefined)).toMatchObject({ output: "\ufffd" });
  });
});

describe("a number in an answer that a double cannot hold", () => {
  test.each([
    ["9007199254740993", "an integer that a double cannot hold exactly (send it as a string) at position 0"],
    [
      '{"id":12345678901234567890}',
      "an integer that a double cannot hold exactly (send it as a string) at position 6",
    ],
    ["[1e-999]", "a number that is too small for a double at position 1"],
  ])("is refused: %s", (text, why) => {
    expect(checkOutput(text, undefined)).toMatchObject({
      status: "failed",
      message: `Tool returned an invalid output: ${why}`,
    });
  });

  test("is given as a string of its digits where the tool says so, and other numbers stay numbers", () => {
    const text = '{"id":9007199254740993,"list":[1,-0,2.5,1e999,9007199254740992],"text":"9007199254740993"}';
    const checked = checkOutput(text, undefined, { bigNumbers: "string" });
    expect(checked).toMatchObject({
      output: {
        id: "9007199254740993",
        list: [1, 0, 2.5, "1e999", 9007199254740992],
        text: "9007199254740993",
      },
    });
  });

  test("does not concern numbers as ECMAScript writes them", () => {
    expect(checkOutput("[1e+21,12345678901234567000,0.1]", undefined)).toMatchObject({
      output: [1e21, 12345678901234567000, 0.1],
    });
  });
});
