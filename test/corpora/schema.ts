import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/json/value.ts";
import { meter } from "../../src/schema/bounds.ts";
import { compileLowered } from "../../src/schema/compile/compiler.ts";
import { lowerSchema } from "../../src/schema/compile/lower.ts";
import { Interpreter } from "../../src/schema/interpreter.ts";
import { KNOWN_MISSES } from "./known/schema-misses.ts";

interface Group {
  readonly description: string;
  readonly schema: JsonObject | boolean;
  readonly tests: readonly {
    readonly description: string;
    readonly data: JsonValue;
    readonly valid: boolean;
  }[];
}

const suite = `${process.env["SANDGATE_CORPORA"]}/schema/JSON-Schema-Test-Suite`;
const json = <T>(path: string): T => JSON.parse(readFileSync(path, "utf8"));

/** What the suite says is to be found on the web: its own files, and the meta-schemas. */
function sharedSchemas(): Record<string, JsonObject> {
  const shared: Record<string, JsonObject> = {};
  for (const file of readdirSync(`${suite}/remotes`, { recursive: true, encoding: "utf8" })) {
    if (file.endsWith(".json")) shared[`http://localhost:1234/${file}`] = json(`${suite}/remotes/${file}`);
  }
  const require = createRequire(import.meta.url);
  const metaSchemas = [
    "schema",
    ...["core", "applicator", "unevaluated", "validation", "meta-data"].map(inMeta),
  ];
  for (const name of [...metaSchemas, ...["format-annotation", "content"].map(inMeta)]) {
    const schema: JsonObject = require(`ajv/dist/refs/json-schema-2020-12/${name}.json`);
    shared[String(schema["$id"])] = schema;
  }
  shared["http://json-schema.org/draft-07/schema"] = require("ajv/dist/refs/json-schema-draft-07.json");
  return shared;
}

function inMeta(name: string): string {
  return `meta/${name}`;
}

const shared = sharedSchemas();

type IsValid = (value: JsonValue) => boolean;

/** How small schemas and large ones are validated. */
const WAYS: Readonly<Record<string, (schema: JsonObject) => IsValid>> = {
  compiled: (schema) => {
    const lowered = lowerSchema(schema, shared);
    if (lowered.isMiscompiled) return WAYS["interpreted"]?.(schema) ?? (() => false);
    const isValid = compileLowered(lowered, "first");
    return (value) => {
      meter.reset();
      return isValid(value);
    };
  },
  interpreted: (schema) => {
    const interpreter = new Interpreter(lowerSchema(schema, shared));
    return (value) => {
      meter.reset();
      return interpreter.validate(value) === undefined;
    };
  },
};

function validator(
  way: string,
  schema: JsonObject | boolean,
  $schema: string | undefined,
): IsValid | undefined {
  const root = typeof schema === "boolean" ? { allOf: [schema] } : schema;
  try {
    return WAYS[way]?.($schema === undefined ? root : { $schema, ...root });
  } catch {
    return undefined;
  }
}

test.each([
  ["draft2020-12", "compiled", undefined, 1_241],
  ["draft7", "compiled", "http://json-schema.org/draft-07/schema#", 923],
  ["draft2020-12", "interpreted", undefined, 1_241],
  ["draft7", "interpreted", "http://json-schema.org/draft-07/schema#", 923],
] as const)("JSON-Schema-Test-Suite, required cases of %s, %s", (draft, way, $schema, atLeast) => {
  let passed = 0;
  let total = 0;
  const missed: string[] = [];
  for (const file of readdirSync(`${suite}/tests/${draft}`).filter((name) => name.endsWith(".json"))) {
    for (const group of json<readonly Group[]>(`${suite}/tests/${draft}/${file}`)) {
      const validate = validator(way, group.schema, $schema);
      for (const { description, data, valid } of group.tests) {
        total++;
        const isValid = validate?.(data);
        if (isValid === valid) passed++;
        else missed.push(`${draft}/${file}: ${group.description} | ${description}`);
      }
    }
  }
  console.log(`schema: ${draft}, ${way}: ${passed} of ${total}`);
  const known = KNOWN_MISSES.filter(({ file }) => file.startsWith(`${draft}/`));
  for (const { file, reason, cases } of known) console.log(`  ${file}: ${cases.length} missed: ${reason}`);
  const listed = known.flatMap(({ file, cases }) => cases.map((each) => `${file}: ${each}`));
  expect(missed.filter((miss) => !listed.includes(miss))).toEqual([]);
  expect(passed).toBeGreaterThanOrEqual(Math.min(atLeast, total - listed.length));
});
