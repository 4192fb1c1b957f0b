import { afterAll, describe, expect, test } from "vitest";
import { parseArguments } from "../../src/engine/call.ts";
import { ToolRegistrationError } from "../../src/engine/registered-tool.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { JsonObject, JsonValue } from "../../src/json/value.ts";
import { compileSchema } from "../../src/schema/compiled-schema.ts";
import { normalizeSchema } from "../../src/schema/dialects/normalize.ts";

/** A bomb that goes off takes seconds or minutes. `npm run bench:stalls` measures how long the main thread stalls. */
const MAX_MS = 1_000;

const longest: [string, number][] = [];
afterAll(() => {
  const table = longest.map(([name, ms]) => `  ${ms.toFixed(1).padStart(6)} ms  ${name}`);
  console.log(
    `bombs: longest stall of the main thread, best of three (limit ${MAX_MS} ms)\n${table.join("\n")}`,
  );
});

/** Runs something that must not stall: what else the machine does in that time is not its fault. */
function measured<T>(name: string, run: () => T): T {
  let least = Number.POSITIVE_INFINITY;
  let result: T | undefined;
  for (let i = 0; i < 3; i++) {
    const start = performance.now();
    result = run();
    least = Math.min(least, performance.now() - start);
  }
  longest.push([name, least]);
  expect(least).toBeLessThan(MAX_MS);
  return result as T;
}

describe("arguments", () => {
  // The generators of json/json_bombs.jsonl, whose expressions are Python's.
  const BOMBS: Record<string, () => string> = {
    "b-deep-array-1e6": () => "[".repeat(1e6) + "]".repeat(1e6),
    "b-deep-object-1e5": () => `${'{"a":'.repeat(1e5)}1${"}".repeat(1e5)}`,
    "b-unclosed-1e6": () => "[".repeat(1e6),
    "b-keys-1e6": () => `{${Array.from({ length: 1e6 }, (_, i) => `"k${i}":1`).join(",")}}`,
    "b-escape-64MiB": () => `"${"\\u0000".repeat(11_184_810)}"`,
    "b-array-1e7": () => `[${"1,".repeat(9_999_999)}1]`,
    "keys, as many as there may be": () =>
      `{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":1`).join(",")}}`,
    "items, as many as there may be": () => `[${"0,".repeat(99_990)}0]`,
    "escapes, as many as there may be": () => `"${"\\u0000".repeat(349_000)}"`,
    "quotes and backslashes": () => `"${'\\\\\\"'.repeat(520_000)}`,
    "emojis, escaped": () => `["${"\\ud83d\\ude00".repeat(170_000)}"]`,
    "numbers beyond a double": () => `[${"9007199254740992,".repeat(90_000)}1]`,
    "a number of a million digits": () => "9".repeat(1_000_000),
  };

  test.each(Object.keys(BOMBS))("%s", (name) => {
    const bomb = BOMBS[name]?.() ?? "";
    const parsed = measured(name, () => parseArguments(bomb));
    if ("problem" in parsed) expect(parsed.problem).toMatch(/ at position \d+$/);
  });

  test("b-dupe-keys: refused, or the last one counts for everyone", () => {
    const text = '{"path":"ok.txt","path":"../outside/secret.txt"}';
    expect(parseArguments(text)).toHaveProperty("problem");
    expect(parseArguments(text, "last")).toEqual({ value: { path: "../outside/secret.txt" } });
  });
});

describe("schemas", () => {
  const strings = (count: number): JsonObject =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, { type: "string" }]));
  const link = (i: number): JsonObject => ({ allOf: [{ $ref: `#/$defs/a${i}` }, { $ref: `#/$defs/a${i}` }] });
  const nested = (levels: number): JsonObject => {
    let schema: JsonObject = {};
    for (let i = 0; i < levels; i++) schema = { type: "object", properties: { a: schema } };
    return schema;
  };
  const BOMBS: Record<string, () => JsonObject> = {
    "b-enum-bomb-schema": () => ({ enum: Array.from({ length: 1e6 }, (_, i) => `v${i}`) }),
    "b-ref-bomb-schema": () => ({
      $ref: "#/$defs/a0",
      $defs: Object.fromEntries(Array.from({ length: 31 }, (_, i) => [`a${i}`, i < 30 ? link(i + 1) : {}])),
    }),
    "10,000 properties": () => ({ properties: strings(10_000) }),
    "as many properties as there may be": () => ({ properties: strings(240) }),
    "as many branches as there may be": () => ({
      oneOf: Array.from({ length: 240 }, () => ({ type: "string" })),
    }),
    "as many references as there may be": () => ({
      properties: Object.fromEntries(
        Array.from({ length: 110 }, (_, i) => [`p${i}`, { $ref: `#/$defs/p${i}` }]),
      ),
      $defs: strings(110),
    }),
    "as many patterns as there may be": () => ({
      properties: Object.fromEntries(
        Array.from({ length: 200 }, (_, i) => [`p${i}`, { pattern: `(a|b${i})+` }]),
      ),
    }),
    "patterns as large as they may be": () => ({
      properties: Object.fromEntries(
        Array.from({ length: 9 }, (_, i) => [`p${i}`, { pattern: `(ab${i}){300}` }]),
      ),
    }),
    "names that all are required": () => ({ required: Array.from({ length: 19_000 }, (_, i) => `r${i}`) }),
    "nested as deep as there may be": () => nested(60),
    "nested 100,000 levels deep": () => nested(100_000),
  };

  test.each(Object.keys(BOMBS))("%s", (name) => {
    const inputSchema = BOMBS[name]?.() ?? {};
    measured(`registering ${name}`, () => {
      try {
        new ToolRegistry().register({ name: "bomb", description: "", inputSchema, host: () => null });
      } catch (error) {
        expect(error).toBeInstanceOf(ToolRegistrationError);
      }
    });
    measured(`normalising ${name}`, () => {
      try {
        normalizeSchema(inputSchema);
      } catch (error) {
        expect(error).toHaveProperty("name", "SchemaError");
      }
    });
  });
});

describe("arguments against schemas", () => {
  let deep: JsonValue = {};
  for (let i = 0; i < 250; i++) deep = { a: deep };
  const fork = { properties: { a: { $ref: "#" } }, required: ["b"] };
  const BOMBS: Record<string, [JsonObject, JsonValue]> = {
    "b-redos-schema": [{ pattern: "^(a+)+$" }, `${"a".repeat(26)}!`],
    "the same, as long as there may be": [{ pattern: "^(a+)+$" }, `${"a".repeat(4_000_000)}!`],
    "a pattern with many states": [{ pattern: "[ab]*a[ab]{200}" }, "ab".repeat(100_000)],
    "an anchored pattern": [{ pattern: "^a*b{500}c" }, "ab".repeat(1_000_000)],
    "patterns for many names": [
      { patternProperties: { "(a|b)+c$": {}, "x+y+z$": {} } },
      Object.fromEntries(Array.from({ length: 19_000 }, (_, i) => [`${"ab".repeat(50)}${i}`, 1])),
    ],
    "formats of long strings": [
      { items: { format: "uri" } },
      new Array(2_000).fill(`http://${"a".repeat(2_000)}`) as string[],
    ],
    "unique items": [{ uniqueItems: true }, Array.from({ length: 15_000 }, (_, i) => ({ i }))],
    "a hundred thousand errors": [{ items: { type: "string" } }, new Array(99_000).fill(1) as number[]],
    "many branches for many items": [
      { items: { anyOf: Array.from({ length: 100 }, (_, i) => ({ const: i })) } },
      new Array(99_000).fill(99) as number[],
    ],
    "recursion that forks": [{ anyOf: [fork, fork], properties: { a: { $ref: "#" } } }, deep],
  };

  test.each(Object.keys(BOMBS))("%s", (name) => {
    const [schema, value] = BOMBS[name] ?? [{}, null];
    const compiled = compileSchema(schema);
    measured(name, () => compiled.accept(value));
  });
});
