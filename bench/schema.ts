import { deepStrictEqual } from "node:assert";
import { createHash } from "node:crypto";
import { Ajv2020 } from "ajv/dist/2020.js";
import { defineTool, type JsonObject, type JsonValue, ToolRegistry } from "sandgate";
import { parseArguments } from "../src/engine/call.ts";
import { CanonicalJson } from "../src/json/canonical.ts";
import { compileSchema } from "../src/schema/compiled-schema.ts";
import type { Case, Question } from "./measure.ts";
import { INPUT, INPUT_SCHEMA, INPUT_TEXT, isInput } from "./setting.ts";

const AJV_OPTIONS = { allErrors: true, ownProperties: true };

/** What do reading a call's arguments, and their digest, cost beside a parser and a validator? */
export async function schema(): Promise<Question> {
  const validate = new Ajv2020(AJV_OPTIONS).compile(INPUT_SCHEMA);
  const compiled = compileSchema(INPUT_SCHEMA);
  const read = (text: string): JsonValue => {
    const parsed = parseArguments(text);
    const accepted = "value" in parsed ? compiled.accept(parsed.value) : parsed;
    if ("value" in accepted) return accepted.value;
    throw new Error("invalid");
  };
  const digest = createHash("sha256").update(new CanonicalJson(INPUT).text).digest("hex");
  const isDigest = (answer: unknown): void => deepStrictEqual(answer, digest);
  return {
    name: "schema",
    floor: {
      name: "JSON.parse + ajv",
      run: () => {
        const input: unknown = JSON.parse(INPUT_TEXT);
        if (!validate(input)) throw new Error("invalid");
        return input;
      },
      check: isInput,
    },
    cases: [
      { name: "parse and validate, frozen", run: () => read(INPUT_TEXT), check: isInput },
      {
        name: "the same with the digest of its canonical form",
        run: () => new CanonicalJson(read(INPUT_TEXT)).digest,
        check: isDigest,
      },
    ],
  };
}

/** What does registering many tools cost, beside compiling their schemas? */
export async function registration(): Promise<Question> {
  const count = 1_000;
  const schemas = Array.from({ length: count }, (_, i) => toolSchema(i));
  const isCount = (answer: unknown): void => deepStrictEqual(answer, count);
  const floor: Case = {
    name: `${count} × ajv.compile`,
    run: () => {
      const ajv = new Ajv2020(AJV_OPTIONS);
      return schemas.map((inputSchema) => ajv.compile(inputSchema)).length;
    },
    check: isCount,
  };
  const ours: Case = {
    name: `${count} × register`,
    run: () => {
      const registry = new ToolRegistry();
      for (const [i, inputSchema] of schemas.entries()) {
        registry.register(defineTool({ name: `tool.${i}`, description: "", inputSchema, host: () => null }));
      }
      return registry.size;
    },
    check: isCount,
  };
  return { name: "registration", floor, cases: [ours] };
}

/** A schema as tools have them, unlike all others. */
function toolSchema(i: number): JsonObject {
  return {
    type: "object",
    properties: {
      path: { type: "string", description: "Where to look.", minLength: 1 },
      [`option${i}`]: { type: "string", enum: ["fast", "slow"], default: "fast" },
      limit: { type: "integer", minimum: 1, maximum: 100 + i },
      tags: { type: "array", items: { type: "string" }, maxItems: 10 },
      range: {
        type: "object",
        properties: { from: { type: "number" }, to: { type: "number" } },
        required: ["from", "to"],
      },
    },
    required: ["path"],
    additionalProperties: false,
  };
}
