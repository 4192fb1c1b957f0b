import { compileShape, type Shape } from "../../config/shape.ts";
import { POINTER_PATTERN } from "../../json/pointer.ts";
import type { JsonObject } from "../../json/value.ts";
import { SANDBOX_MODES } from "../../tool/sandbox-mode.ts";
import { SIDE_EFFECTS } from "../../tool/side-effects.ts";
import { MAX_WALL_TIME_MS } from "../grant/limits.ts";
import { CIDR_PATTERN, ORIGIN_PATTERN } from "../grant/net-grant.ts";
import { NAME_PATTERN } from "../match/name-pattern.ts";

const AMOUNT = { type: ["integer", "string"] };
const LIMIT = { type: "integer", minimum: 1 };

/** Limits in code. */
const LIMITS = {
  wallTimeMs: { ...LIMIT, maximum: MAX_WALL_TIME_MS },
  memoryBytes: LIMIT,
  outputBytes: LIMIT,
  stackBytes: LIMIT,
  logLines: LIMIT,
  nestedCalls: LIMIT,
  fileBytes: LIMIT,
  netBytes: LIMIT,
};

/** Limits in a file. The units are checked when they are parsed. */
const WRITTEN_LIMITS = {
  wallTime: AMOUNT,
  memory: AMOUNT,
  output: AMOUNT,
  stack: AMOUNT,
  logLines: LIMIT,
  nestedCalls: LIMIT,
  file: AMOUNT,
  net: AMOUNT,
};

const TOOL_NAMES = {
  type: "string",
  pattern: NAME_PATTERN,
  message:
    "must be a tool name without spaces, in which * matches any number of characters and \\* is a star",
};

const NAMES = { type: "array", items: { type: "string", minLength: 1 } };

const ORIGIN = {
  type: "string",
  pattern: ORIGIN_PATTERN,
  message: "must be an origin in lower case, such as https://api.example.com",
};

const NET_GRANT = {
  if: { type: "object" },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: {
    type: "object",
    additionalProperties: false,
    required: ["origin"],
    properties: {
      origin: ORIGIN,
      addresses: {
        type: "array",
        items: {
          type: "string",
          pattern: CIDR_PATTERN,
          message: "must be a CIDR range, such as 10.0.0.0/8",
        },
      },
    },
  },
  else: ORIGIN,
};

const DIRECTORY_GRANT = {
  type: "object",
  additionalProperties: false,
  required: ["directory"],
  properties: {
    directory: { type: "string", minLength: 1 },
    at: { type: "string", pattern: "^/", message: "must be an absolute path, such as /data" },
    write: { type: "boolean" },
  },
};

const CAPABILITIES = {
  type: "object",
  additionalProperties: false,
  properties: {
    env: NAMES,
    clock: { type: "boolean" },
    random: { type: "boolean" },
    tools: { type: "array", items: TOOL_NAMES },
    fs: { type: "array", items: DIRECTORY_GRANT },
    net: { type: "array", items: NET_GRANT },
    secrets: NAMES,
    keyValue: NAMES,
    reuse: { const: "instance" },
    frozenClock: { type: "integer" },
    randomSeed: { type: "string" },
  },
};

const GLOB = { type: "string", minLength: 1 };
const ONE_CONDITION = "must have exactly one of equals, oneOf, glob, prefix, range";

const CONDITION = {
  type: "object",
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  message: ONE_CONDITION,
  properties: {
    equals: {},
    oneOf: { type: "array", minItems: 1 },
    glob: { type: ["string", "array"], minLength: 1, minItems: 1, items: GLOB },
    prefix: { type: "string", minLength: 1 },
    range: {
      type: "object",
      additionalProperties: false,
      minProperties: 1,
      properties: { min: { type: "number" }, max: { type: "number" } },
    },
  },
};

/** The schemas of the members of `AllowedUse`, for limits in code or in a file. */
function allowedUse(limits: JsonObject): JsonObject {
  return {
    sandboxes: { type: "array", minItems: 1, uniqueItems: true, items: { enum: SANDBOX_MODES } },
    limits: { type: "object", additionalProperties: false, properties: limits },
    capabilities: CAPABILITIES,
  };
}

function ruleSchema(limits: JsonObject): JsonObject {
  const use = allowedUse(limits);
  const forAllowOnly = { not: {}, message: "only a rule with the effect 'allow' can have this" };
  return {
    type: "object",
    additionalProperties: false,
    required: ["tools", "effect"],
    properties: {
      name: { type: "string", minLength: 1, maxLength: 128 },
      tools: {
        type: "array",
        minItems: 1,
        items: TOOL_NAMES,
      },
      sideEffects: { type: "array", minItems: 1, uniqueItems: true, items: { enum: SIDE_EFFECTS } },
      when: {
        type: "object",
        propertyNames: {
          type: "string",
          pattern: POINTER_PATTERN,
          message: "must be a JSON pointer to an argument, such as '/path' or '/options/depth'",
        },
        additionalProperties: CONDITION,
      },
      effect: { enum: ["allow", "deny", "ask"] },
      ...use,
    },
    allOf: [
      whenEffectIs(["allow"], { required: ["sandboxes"] }),
      whenEffectIs(["deny", "ask"], {
        properties: Object.fromEntries(Object.keys(use).map((member) => [member, forAllowOnly])),
      }),
    ],
  };
}

function whenEffectIs(effects: readonly string[], schema: JsonObject): JsonObject {
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  return { if: { required: ["effect"], properties: { effect: { enum: effects } } }, then: schema };
}

function policySchema(limits: JsonObject): JsonObject {
  return {
    type: "object",
    additionalProperties: false,
    required: ["rules"],
    properties: {
      rules: { type: "array", items: ruleSchema(limits) },
      default: {
        if: { type: "object" },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
        then: {
          type: "object",
          additionalProperties: false,
          required: ["sandboxes"],
          properties: allowedUse(limits),
        },
        else: { enum: ["deny"], message: "must be 'deny', or a map with sandboxes, limits and capabilities" },
      },
    },
  };
}

let ofOptions: Shape | undefined;
let ofFile: Shape | undefined;

/** The shape of `RulePolicyOptions`. */
export const policyShape: Shape = (value) => {
  ofOptions ??= compileShape(policySchema(LIMITS));
  return ofOptions(value);
};

/** The shape of a policy in a file, in which limits have units. */
export const policyFileShape: Shape = (value) => {
  ofFile ??= compileShape(policySchema(WRITTEN_LIMITS));
  return ofFile(value);
};
