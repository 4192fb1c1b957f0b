import { deepStrictEqual } from "node:assert";
import { createHash } from "node:crypto";
import { Ajv2020 } from "ajv/dist/2020.js";
import { CanonicalJson, defineTool, type JsonObject, type JsonValue, ToolRegistry } from "sandgate";
import { parseArguments } from "../../src/engine/call.ts";
import { compileSchema } from "../../src/schema/compiled-schema.ts";
import type { Question } from "../harness/case.ts";
import { INPUT, INPUT_SCHEMA, INPUT_TEXT, isInput } from "../setting.ts";
import { AJV_OPTIONS } from "./floor.ts";

const COUNT = 1_000;

/** The cost of reading and hashing a call's arguments, compared to a parser and a validator. */
export const schema: Question = {
  name: "schema",
  cases: [
    {
      name: "JSON.parse + ajv",
      open: () => {
        const validate = new Ajv2020(AJV_OPTIONS).compile(INPUT_SCHEMA);
        const run = (): unknown => {
          const input: unknown = JSON.parse(INPUT_TEXT);
          if (!validate(input)) throw new Error("invalid");
          return input;
        };
        return { run, check: isInput };
      },
    },
    {
      name: "parse and validate, frozen",
      open: () => {
        const read = reader();
        return { run: () => read(INPUT_TEXT), check: isInput };
      },
    },
    {
      name: "the same with the digest of its canonical form",
      open: () => {
        const read = reader();
        const digest = createHash("sha256").update(new CanonicalJson(INPUT).text).digest("hex");
        return {
          run: () => new CanonicalJson(read(INPUT_TEXT)).digest,
          check: (answer) => deepStrictEqual(answer, digest),
        };
      },
    },
  ],
};

/** The cost of registering many tools, compared to compiling their schemas. */
export const registration: Question = {
  name: "registration",
  cases: [
    {
      name: `${COUNT} × ajv.compile`,
      calls: COUNT,
      open: () => {
        const schemas = Array.from({ length: COUNT }, (_, i) => toolSchema(i));
        const run = (): number => {
          const ajv = new Ajv2020(AJV_OPTIONS);
          return schemas.map((inputSchema) => ajv.compile(inputSchema)).length;
        };
        return { run, check: (answer) => deepStrictEqual(answer, COUNT) };
      },
    },
    {
      name: `${COUNT} × register`,
      calls: COUNT,
      open: () => {
        const schemas = Array.from({ length: COUNT }, (_, i) => toolSchema(i));
        const run = (): number => {
          const registry = new ToolRegistry();
          for (const [i, inputSchema] of schemas.entries()) {
            registry.register(
              defineTool({ name: `tool.${i}`, description: "", inputSchema, host: () => null }),
            );
          }
          return registry.size;
        };
        return { run, check: (answer) => deepStrictEqual(answer, COUNT) };
      },
    },
  ],
};

/** The engine's internal step, which the package does not export. */
function reader(): (text: string) => JsonValue {
  const compiled = compileSchema(INPUT_SCHEMA);
  return (text) => {
    const parsed = parseArguments(text);
    const accepted = "value" in parsed ? compiled.accept(parsed.value) : parsed;
    if ("value" in accepted) return accepted.value;
    throw new Error("invalid");
  };
}

/** Returns a realistic schema that differs from all others. */
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
