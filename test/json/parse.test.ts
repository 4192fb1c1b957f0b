import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJson } from "../../src/json/parse.ts";
import { ARGUMENT_BOUNDS } from "../../src/json/refusal.ts";
import { MAX_DEPTH } from "../../src/json/value.ts";

const UNPAIRED = "an unpaired surrogate";
const TOO_LARGE = "a number that is too large for a double";
const TOO_SMALL = "a number that is too small for a double";
const INEXACT = "an integer that a double cannot hold exactly (send it as a string)";
const REPEATED = "a member name that the object already has";
const PROTO = "a member named '__proto__' is not allowed";

describe("parseJson refuses, with the position, a text", () => {
  test.each<[string, string, string, number]>([
    ["with a number beyond a double", '{"n": 1e999}', TOO_LARGE, 6],
    ["with a negative number beyond a double", "[-1e999]", TOO_LARGE, 1],
    ["with a number that would become zero", "[0, 1e-999]", TOO_SMALL, 4],
    ["with such a number without an exponent", `[0.${"0".repeat(400)}1]`, TOO_SMALL, 1],
    ["with an integer that would become its neighbour", '["é😀", 9007199254740993]', INEXACT, 8],
    ["with an unpaired surrogate", '"ab\ud800c"', UNPAIRED, 3],
    ["with an escaped unpaired surrogate", '{"a":"\\\\\\ud800"}', UNPAIRED, 8],
    ["with a pair in the wrong order", '"\\udc00\\ud800"', UNPAIRED, 1],
    ["with an unpaired surrogate in a name", '{"\\ud800":1}', UNPAIRED, 2],
    ["with a repeated name", '{"a":1,"b":2,"a":3}', REPEATED, 13],
    ["with a repeated name, once escaped", '[{"a":":","\\u0061":3}]', REPEATED, 10],
    ["with a repeated empty name in a nested object", '{"a":{"":[],"":{}}}', REPEATED, 12],
    ["with a member named __proto__", '{"a":[{"__proto__":1}]}', PROTO, 7],
    ["with a member named __proto__, escaped", '{"\\u005f_proto_\\u005f":1}', PROTO, 1],
  ])("%s", (_case, text, reason, position) => {
    expect(parseJson(text)).toEqual({ kind: "refused", reason, position });
  });

  test("that is too long, too deep or has too many values, before parsing it", () => {
    const { length, values, members } = ARGUMENT_BOUNDS;
    const refused = (reason: string, position: number): object => ({ kind: "refused", reason, position });
    expect(parseJson(`"${"x".repeat(length)}"`)).toEqual(refused(`longer than ${length} characters`, length));
    expect(parseJson("[".repeat(1_000_000))).toEqual(
      refused(`nested deeper than ${MAX_DEPTH} levels`, MAX_DEPTH),
    );
    expect(parseJson(`[${"0,".repeat(values)}0]`)).toMatchObject(
      refused(`more than ${values} values`, 199_998),
    );
    const object = `{${Array.from({ length: members + 1 }, (_, i) => `"k${i}":1`).join(",")}}`;
    expect(parseJson(object)).toMatchObject({ reason: `more than ${members} members` });
  });

  test("that is small and too deep", () => {
    const deep = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
    expect(parseJson(deep(MAX_DEPTH))).toHaveProperty("value");
    expect(parseJson(deep(MAX_DEPTH + 1))).toMatchObject({ position: MAX_DEPTH });
  });

  test("that is not JSON", () => {
    expect(parseJson(`{"a":1,}`)).toEqual({ kind: "syntax", reason: "unexpected token", position: 7 });
  });
});

describe("parseJson accepts a text", () => {
  test.each<[string, string, unknown]>([
    [
      "with equal names in different objects",
      '{"a":{"a":[{"a":1},{"a":2}]}}',
      { a: { a: [{ a: 1 }, { a: 2 }] } },
    ],
    ["with colons in names and values", '{"a:":"b:c","d":":\\":"}', { "a:": "b:c", d: ':":' }],
    ["with an escaped NUL", '"\\u0000"', "\0"],
    ["with escaped surrogate pairs", '"\\ud83d\\ude00"', "😀"],
    ["with an escaped backslash that looks like a surrogate", '"\\\\ud800"', "\\ud800"],
    [
      "with large integers that a double holds",
      "[9007199254740992, 1152921504606847000, 1e22]",
      [2 ** 53, 2 ** 60, 1e22],
    ],
    ["with fractions, which are rounded", "0.1000000000000000055511151231257827", 0.1],
    ["with zeros of every kind", "[0, 0.0, 0e5, 0e-5]", [0, 0, 0, 0]],
    [
      "with names that are dangerous in careless code only",
      '{"constructor":{"prototype":1}}',
      { constructor: { prototype: 1 } },
    ],
    ["with __proto__ as a value", '"__proto__"', "__proto__"],
  ])("%s", (_case, text, value) => {
    expect(parseJson(text)).toEqual({ value });
  });

  test("with minus zero, which becomes zero as in the canonical form", () => {
    const parsed = parseJson('[-0, {"a": -0.0}]') as { value: [number, { a: number }] };
    expect(Object.is(parsed.value[0], 0)).toBe(true);
    expect(Object.is(parsed.value[1].a, 0)).toBe(true);
  });

  test("with repeated names if they are allowed: the last one counts", () => {
    const text = '{"a":1,"b":{"c":1,"c":2},"a":3}';
    expect(parseJson(text, ARGUMENT_BOUNDS, "last")).toEqual({ value: { a: 3, b: { c: 2 } } });
  });

  test("only if no object repeats a name, whatever the text looks like", () => {
    // No name ends with a backslash: `JSON.parse` of V8 14.6 misreads other names with escapes after it has seen one.
    const name = fc.constantFrom("a", ":", '"', "\\x", "b,", "{");
    const { tree } = fc.letrec<{ tree: Written }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(...['":"', "1", "null"].map((text) => ({ text, repeats: false }))),
        fc.array(tie("tree"), { maxLength: 3 }).map((items) => ({
          text: `[${items.map(({ text }) => text).join(", ")}]`,
          repeats: items.some(({ repeats }) => repeats),
        })),
        fc.array(fc.tuple(name, fc.boolean(), tie("tree")), { maxLength: 3 }).map((members) => ({
          text: `{${members.map(([key, isEscaped, { text }]) => `${quoted(key, isEscaped)} : ${text}`).join(",")}}`,
          repeats:
            new Set(members.map(([key]) => key)).size < members.length ||
            members.some(([, , { repeats }]) => repeats),
        })),
      ),
    }));
    fc.assert(
      fc.property(tree, ({ text, repeats }) => {
        const parsed = parseJson(text);
        if (!repeats) expect(parsed).toEqual({ value: JSON.parse(text) });
        else expect(parsed).toMatchObject({ kind: "refused", reason: REPEATED });
      }),
    );
  });

  test("like JSON.parse, with a deeply frozen result", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = JSON.stringify(value);
        fc.pre(text.isWellFormed() && !text.includes("__proto__") && !/\\ud[89a-f]/.test(text));
        const parsed = parseJson(text);
        expect(parsed).toEqual({ value: JSON.parse(text) });
        expect(Object.isFrozen((parsed as { value: unknown }).value)).toBe(true);
      }),
    );
  });
});

/** A JSON text, and whether one of its objects repeats a name. */
interface Written {
  readonly text: string;
  readonly repeats: boolean;
}

/** Writes a name as a JSON string, with an escape for each character if `isEscaped`. */
function quoted(name: string, isEscaped: boolean): string {
  if (!isEscaped) return JSON.stringify(name);
  const units = Array.from(name, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `"${units.join("")}"`;
}

describe("parseJson, where no digit may be lost,", () => {
  const EXACT = { ...ARGUMENT_BOUNDS, decimals: "exact" } as const;
  const LOST = "a number with more digits than a double holds (send it as a string)";

  test.each([
    "3.14159265358979323846264338327950288",
    "-1.000000000000000000001",
    "0.12345678901234567",
    "9007199254740993.5",
    "123456789012345678e3",
  ])("refuses %s", (literal) => {
    expect(parseJson(`{"n": [${literal}]}`, EXACT)).toEqual({ kind: "refused", reason: LOST, position: 7 });
    expect(parseJson(`{"n": [${literal}]}`)).toHaveProperty("value");
  });

  test.each([
    "0.1",
    "1.50",
    "0.30000000000000004",
    "1.00000000000000000000",
    "1e22",
    "5e-324",
    "-0.0",
  ])("accepts %s", (literal) => {
    expect(parseJson(literal, EXACT)).toEqual({ value: Number(literal) === 0 ? 0 : Number(literal) });
  });

  test("accepts every double, in each usual spelling, also with all of its 17 digits", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const literals = [JSON.stringify(value), value.toExponential(), value.toPrecision(17)];
        for (const literal of literals) {
          const isInteger = /^-?\d+$/.test(literal);
          if (!isInteger) expect(parseJson(literal, EXACT)).toEqual({ value: value === 0 ? 0 : value });
        }
      }),
    );
  });

  test("refuses a decimal to which a digit was added that its double does not have", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.001, max: 1_000, noNaN: true }),
        fc.integer({ min: 1, max: 9 }),
        (value, digit) => {
          const literal = `${value.toFixed(16)}000${digit}`;
          expect(parseJson(literal, EXACT)).toMatchObject({ reason: LOST });
        },
      ),
    );
  });

  test("does not take digits in texts for numbers", () => {
    expect(parseJson('["3.14159265358979323846264338327950288"]', EXACT)).toHaveProperty("value");
  });
});
