import { described, thenSchema } from "../../../config/shape.ts";
import { POINTER_PATTERN } from "../../../json/pointer.ts";
import type { JsonObject } from "../../../json/value.ts";

/** The schema of a `ValueReference`. `*` is no wildcard here. */
const REFERENCE: JsonObject = {
  type: "object",
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  message: "must have either 'argument' or 'principal', with a JSON pointer",
  properties: Object.fromEntries(
    [
      ["argument", "A JSON pointer to an argument of the call."],
      ["principal", "A JSON pointer into the principal, such as `/attributes/tenant`."],
    ].map(([name = "", help = ""]) => [name, described(pointerSchema(name), help)]),
  ),
};

function pointerSchema(root: string): JsonObject {
  const example = root === "argument" ? "/owner" : "/attributes/tenant";
  return {
    type: "string",
    minLength: 1,
    pattern: POINTER_PATTERN,
    not: { pattern: "/\\*(?:/|$)" },
    message: `must be a JSON pointer, such as '${example}', without '*'`,
  };
}

/** The schema of what can be a reference in place of something else. */
export function orReference(schema: JsonObject): JsonObject {
  return { if: { type: "object" }, ...thenSchema(REFERENCE), else: schema };
}

/** Any value, of which a map with nothing but a member of a reference is one. */
const VALUE: JsonObject = {
  if: {
    type: "object",
    maxProperties: 1,
    anyOf: [{ required: ["argument"] }, { required: ["principal"] }],
  },
  ...thenSchema(REFERENCE),
};

const GLOB: JsonObject = {
  if: { type: "object" },
  ...thenSchema({
    type: "object",
    additionalProperties: false,
    required: ["segments"],
    properties: {
      segments: described(
        { type: "array", minItems: 1, items: orReference({ type: "string", minLength: 1 }) },
        "The segments of a glob, of which those that are references stand for one name each.",
      ),
    },
  }),
  else: { type: "string", minLength: 1 },
};
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
    properties: {
      [member]: described(
        { type: "string", minLength: 1 },
        member === "tool"
          ? "The tool of whose results it is a field."
          : "A tool in place of `tool`, of whose results only those count whose calls had all their arguments from the user's words.",
      ),
      field: described(FIELD, "A JSON pointer to the field; `*` stands for every element."),
    },
  };
}

/** The schema of a `RowField`. */
const ROW_FIELD: JsonObject = {
  type: "object",
  additionalProperties: false,
  required: ["tool", "row", "field"],
  properties: {
    ...(fieldOf("tool")["properties"] as JsonObject),
    row: {
      description:
        "The values of the call that the same row has in other fields, by JSON pointers to these. A row is one element of each list.",
      type: "object",
      minProperties: 1,
      propertyNames: { ...FIELD, minLength: 1 },
      additionalProperties: REFERENCE,
    },
  },
};

function sourcesOf(field: JsonObject): JsonObject {
  return {
    type: "array",
    minItems: 1,
    items: {
      if: { type: "object", required: ["lookup"] },
      ...thenSchema(fieldOf("lookup")),
      else: {
        if: { type: "object" },
        ...thenSchema(field),
        else: { const: "user", message: "must be 'user', or a map with 'tool' or 'lookup', and 'field'" },
      },
    },
  };
}

const SOURCES: JsonObject = sourcesOf(fieldOf("tool"));

const VALUE_SOURCES: JsonObject = {
  if: { type: "array" },
  ...thenSchema(
    sourcesOf({ if: { type: "object", required: ["row"] }, ...thenSchema(ROW_FIELD), else: fieldOf("tool") }),
  ),
  else: ROW_FIELD,
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
      equals: described(VALUE, "The value equals this one, or that of a reference."),
      oneOf: described(
        orReference({ type: "array", minItems: 1, items: VALUE }),
        "The value equals one of these, or one of the list of a reference.",
      ),
      glob: described(
        {
          if: { type: "array" },
          ...thenSchema({ type: "array", minItems: 1, items: GLOB }),
          else: GLOB,
        },
        "The value is a path that one of these globs matches.",
      ),
      prefix: described(
        orReference({ type: "string", minLength: 1 }),
        "The value is a string that starts with this one, or with that of a reference.",
      ),
      regex: described(
        { type: "string", minLength: 1 },
        "The value is a string of which this regular expression (ECMAScript, linear time) matches a part.",
      ),
      range: {
        description: "The value is a number in this range.",
        type: "object",
        additionalProperties: false,
        minProperties: 1,
        properties: {
          min: described(orReference({ type: "number" }), "The least number, or a reference. Default: any."),
          max: described(
            orReference({ type: "number" }),
            "The greatest number, or a reference. Default: any.",
          ),
        },
      },
      from: described(
        VALUE_SOURCES,
        "The value is a text or number that came whole from one of these: the words of the user (`user`), a field of earlier results, or one of a row of them.",
      ),
      links: {
        description: "Each link, address and account number in the value came from one of these.",
        type: "object",
        additionalProperties: false,
        required: ["from"],
        properties: {
          from: described(SOURCES, "The words of the user (`user`), or fields of earlier results."),
        },
      },
      without: described(
        { type: "array", minItems: 1, items: fieldOf("tool") },
        "No text of the value contains a value that one of these fields had in an earlier result.",
      ),
      not: described(CONDITION, "The value does not meet this condition."),
      all: described(
        { type: "array", minItems: 1, items: CONDITION },
        "The value meets all of these conditions.",
      ),
      any: described(
        { type: "array", minItems: 1, items: CONDITION },
        "The value meets one of these conditions.",
      ),
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
      all: described(
        { type: "array", minItems: 1, items: CONDITIONS },
        "Further conditions, all of which must be met.",
      ),
      any: described(
        { type: "array", minItems: 1, items: CONDITIONS },
        "Further conditions, one of which must be met.",
      ),
    },
    additionalProperties: described(
      CONDITION,
      "A condition on what the key names: an argument (`/path`), or a member of the principal (`principal/attributes/team`) or the session (`session/id`). `*` stands for every element of a list.",
    ),
  },
};
