import { readFileSync } from "node:fs";
import { defineTool } from "sandgate";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ARGUMENT_BOUNDS } from "../../../src/json/refusal.ts";
import { type JsonValue, MAX_DEPTH } from "../../../src/json/value.ts";
import { MAX_PATTERN_LENGTH, MAX_PATTERN_SIZE } from "../../../src/patterns/pattern.ts";
import { DEFAULT_ARGUMENT_RULES } from "../../../src/schema/arguments.ts";
import * as bounds from "../../../src/schema/bounds.ts";
import { normalizeSchema } from "../../../src/schema/dialects/normalize.ts";
// Inside: compares the page with this bound, which only the checks of formats need.
import { MAX_FORMATTED_LENGTH } from "../../../src/schema/formats.ts";
import { contextFor } from "../../engine/helpers.ts";

const text = readFileSync(new URL("../../../docs/schemas.md", import.meta.url), "utf8");
const rows = text
  .split("\n")
  .filter((line) => line.startsWith("| "))
  .map((line) => line.slice(2, -2).split(/(?<!\\) \| /));

describe("docs/schemas.md", () => {
  test("names every bound as it is", () => {
    const named = rows.flatMap(([, value, constant]) =>
      constant?.startsWith("`") ? [[constant.slice(1, -1), Number(value)]] : [],
    );
    const flat = (name: string, value: object): [string, number][] =>
      Object.entries(value).map(([member, bound]) => [`${name}.${member}`, bound]);
    const { SCHEMA_BOUNDS, WorkExceededError: _, meter: __, ...numbers } = bounds;
    expect(Object.fromEntries(named)).toEqual({
      ...Object.fromEntries(flat("ARGUMENT_BOUNDS", ARGUMENT_BOUNDS)),
      ...Object.fromEntries(flat("SCHEMA_BOUNDS", SCHEMA_BOUNDS)),
      ...numbers,
      MAX_DEPTH,
      MAX_FORMATTED_LENGTH,
      MAX_PATTERN_LENGTH,
      MAX_PATTERN_SIZE,
    });
  });

  test("names the defaults", () => {
    expect(DEFAULT_ARGUMENT_RULES).toEqual({ nullForOptional: "absent", coerce: false });
    expect(text).toContain('`nullForOptional: "absent"` (default)');
  });

  test.each<[string, JsonValue]>([
    ["| `object`", "object"],
    ["| `array`", "array"],
    ["| `string`", "string"],
    ["| `integer`", "integer"],
    ["| `number`", "number"],
    ["| `boolean`", "boolean"],
  ])("maps each type as its row says: %s", (start, type) => {
    const row = rows.find(([, becomes]) => `| ${becomes}`.startsWith(start));
    const types = [...(row?.[0] ?? "").matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
    expect(types.length).toBeGreaterThan(1);
    for (const name of types) {
      expect([name, normalizeSchema({ type: name }).schema["type"]]).toEqual([name, type]);
    }
  });

  test("has tools whose input is checked and passed on as it says", async () => {
    const program = /^```ts\n(.*?)^```$/ms.exec(text)?.[1] ?? "";
    const body = program.replaceAll(/^import .*$/gm, "").replaceAll("export const", "const");
    const define = new Function("defineTool", "z", `${body}; return { repeat, slice };`);
    const { repeat, slice } = define(defineTool, z);
    const ctx = await contextFor([repeat, slice]);
    const call = async (name: string, args: JsonValue): Promise<JsonValue | undefined> => {
      const execution = await new ToolDispatchEngine().dispatch({ id: "1", name, arguments: args }, ctx);
      return execution?.error?.message ?? execution?.output;
    };
    expect(await call("repeat", { text: "ab" })).toBe("abab");
    expect(await call("slice", { text: "abc", from: 1, to: 2 })).toBe("b");
    const refusal = await call("slice", { text: "abc", from: 2, to: 1 });
    expect(text).toContain(`the model reads \`${refusal}\``);
  });

  test("shows a change as it is reported", () => {
    const { changes } = normalizeSchema({
      type: "dict",
      properties: { city: { type: "str", required: true }, days: { type: "Optional[int]" } },
    });
    expect(changes[0]).toEqual({ path: "/required", to: ["city"] });
  });
});
