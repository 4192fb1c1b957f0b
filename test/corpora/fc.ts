import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseArguments } from "../../src/engine/call.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { JsonObject, JsonValue } from "../../src/json/value.ts";
import { normalizeSchema } from "../../src/schema/dialects/normalize.ts";
import { SchemaError } from "../../src/schema/schema-error.ts";

interface Call {
  readonly name: string;
  readonly kind: string;
  readonly arguments?: JsonValue;
  readonly raw_arguments?: string;
  readonly expected_valid: boolean;
  readonly why?: string;
}

interface CorpusTool {
  readonly name: string;
  readonly input_schema: JsonObject;
}

interface CorpusRecord {
  readonly id: string;
  readonly tools?: readonly CorpusTool[];
  readonly tools_raw?: readonly { readonly name: string; readonly parameters: JsonValue }[];
  readonly tools_ref?: string;
  readonly calls: readonly Call[];
}

const folder = `${process.env["SANDGATE_CORPORA"]}/fc`;
const lines = <T>(file: string): readonly T[] =>
  readFileSync(`${folder}/${file}`, "utf8")
    .trim()
    .split("\n")
    .map((line): T => JSON.parse(line));
const records = readdirSync(folder)
  .filter((file) => file.endsWith(".jsonl") && !file.endsWith(".tools.jsonl"))
  .flatMap((file) => lines<CorpusRecord>(file));

/** The tools of a record, as published where that is known, all mapped by `normalizeSchema`. */
function registryOf(
  { tools, tools_raw: raw, tools_ref: file }: CorpusRecord,
  nulls: "absent" | "reject",
): ToolRegistry {
  const registry = new ToolRegistry({ nullForOptional: nulls });
  const shared = file !== undefined && existsSync(`${folder}/${file}`) ? lines<CorpusTool>(file) : [];
  const published = raw?.map(({ name, parameters }) => ({ name, input_schema: parameters }));
  for (const { name, input_schema: given } of published ?? tools ?? shared) {
    const inputSchema = normalizeSchema(given).schema;
    registry.register({ name, description: "", inputSchema, host: () => null });
  }
  return registry;
}

type Verdict = "valid" | "unknown_tool" | "arguments_not_json" | "schema";

function judge(registry: ToolRegistry, call: Call): Verdict {
  const registered = registry.find(call.name);
  if (registered === undefined) return "unknown_tool";
  // A model sends text: arguments that are a string were encoded twice.
  const parsed = parseArguments(call.raw_arguments ?? JSON.stringify(call.arguments));
  if ("problem" in parsed) return "arguments_not_json";
  return "value" in registered.schema.accept(parsed.value, registered.rules) ? "valid" : "schema";
}

test("every call is judged as the corpus expects, by the published schema, normalised", () => {
  const wrong: string[] = [];
  let calls = 0;
  let accepted = 0;
  for (const record of records) {
    // The corpus judges by the schema alone.
    const registry = registryOf(record, "reject");
    for (const call of record.calls) {
      calls++;
      const verdict = judge(registry, call);
      if (verdict === "valid") accepted++;
      const reason = call.why?.replace(/:.*/, "") ?? "valid";
      if ((verdict === "valid") !== call.expected_valid || verdict !== reason) {
        wrong.push(`${record.id} ${call.name} ${call.kind}: ${verdict}, not ${reason}`);
      }
    }
  }
  console.log(
    `fc: ${calls} calls of ${records.length} records, ${accepted} valid, ${wrong.length} judged otherwise`,
  );
  expect(wrong).toEqual([]);
});

test("by default, only null in optional arguments is judged otherwise", () => {
  const others: string[] = [];
  let absent = 0;
  for (const record of records) {
    const [strict, lenient] = [registryOf(record, "reject"), registryOf(record, "absent")];
    for (const call of record.calls) {
      if (judge(strict, call) === judge(lenient, call)) continue;
      absent++;
      if (!JSON.stringify(call.arguments ?? call.raw_arguments).includes("null")) others.push(record.id);
    }
  }
  console.log(`fc: nullForOptional "absent" accepts ${absent} calls more`);
  expect(others).toEqual([]);
});

test("every published schema is mapped, or refused with path and reason", () => {
  const raw = records.flatMap(({ tools_raw: tools = [] }) => tools);
  const refused: string[] = [];
  let changed = 0;
  for (const { name, parameters } of raw) {
    try {
      if (normalizeSchema(parameters).changes.length > 0) changed++;
    } catch (error) {
      expect(error).toBeInstanceOf(SchemaError);
      refused.push(`${name}: ${(error as SchemaError).message}`);
    }
  }
  console.log(`fc: ${raw.length} published schemas, ${changed} mapped, ${refused.length} refused`, refused);
  expect(raw.length).toBeGreaterThan(0);
});
