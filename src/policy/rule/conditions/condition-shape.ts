import { thenSchema } from "../../../config/shape.ts";
import { POINTER_PATTERN } from "../../../json/pointer.ts";
import type { JsonObject } from "../../../json/value.ts";

const GLOB = { type: "string", minLength: 1 };
const CONDITION = { $ref: "#/$defs/condition" };

/** A pointer to a field of an output. */
export const FIELD: JsonObject = {
  type: "string",
  pattern: POINTER_PATTERN,
  message: "must be a JSON pointer to a field of the tool's output, such as '/email' or '/contacts/*/email'",
};

function fieldOf(member: "tool" | "lookup"): JsonObject {
  return {
    type: "object",
    additionalProperties: false,
    required: [member, "field"],
    properties: { [member]: { type: "string", minLength: 1 }, field: FIELD },
  };
}

const SOURCES: JsonObject = {
  type: "array",
  minItems: 1,
  items: {
    if: { type: "object", required: ["lookup"] },
    ...thenSchema(fieldOf("lookup")),
    else: {
      if: { type: "object" },
      ...thenSchema(fieldOf("tool")),
      else: { const: "user", message: "must be 'user', or a map with 'tool' or 'lookup', and 'field'" },
    },
  },
};

/** The schema of `RuleConditions`, in a schema that has the {@link CONDITION_DEFINITIONS} as its `$defs`. */
export const CONDITIONS: JsonObject = { $ref: "#/$defs/conditions" };

/** The schemas of conditions, which nest. */
export const CONDITION_DEFINITIONS: JsonObject = {
  condition: {
    type: "object",
    additionalProperties: false,
    minProperties: 1,
    maxProperties: 1,
    message:
      "must have exactly one of equals, oneOf, glob, prefix, regex, range, from, links, without, not, all, any",
    properties: {
      equals: {},
      oneOf: { type: "array", minItems: 1 },
      glob: { type: ["string", "array"], minLength: 1, minItems: 1, items: GLOB },
      prefix: { type: "string", minLength: 1 },
      regex: { type: "string", minLength: 1 },
      range: {
        type: "object",
        additionalProperties: false,
        minProperties: 1,
        properties: { min: { type: "number" }, max: { type: "number" } },
      },
      from: SOURCES,
      links: {
        type: "object",
        additionalProperties: false,
        required: ["from"],
        properties: { from: SOURCES },
      },
      without: { type: "array", minItems: 1, items: fieldOf("tool") },
      not: CONDITION,
      all: { type: "array", minItems: 1, items: CONDITION },
      any: { type: "array", minItems: 1, items: CONDITION },
    },
  },
  conditions: {
    type: "object",
    propertyNames: {
      type: "string",
      pattern: `^(all|any|(principal|session)?${POINTER_PATTERN.slice(1, -1)})$`,
      message:
        "must be a JSON pointer to an argument, such as '/path' or '/options/depth', or 'principal/...', 'session/...', 'all' or 'any'",
    },
    properties: {
      all: { type: "array", minItems: 1, items: CONDITIONS },
      any: { type: "array", minItems: 1, items: CONDITIONS },
    },
    additionalProperties: CONDITION,
  },
};
