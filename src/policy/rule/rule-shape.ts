import { compileShape, type Shape } from "../../config/shape.ts";
import { POINTER_PATTERN } from "../../json/pointer.ts";
import type { JsonObject } from "../../json/value.ts";
import { SANDBOX_MODES } from "../../tool/sandbox-mode.ts";
import { SIDE_EFFECTS } from "../../tool/side-effects.ts";
import { MAX_WALL_TIME_MS } from "../grant/limits.ts";
import { CIDR_PATTERN, ORIGIN_PATTERN } from "../grant/net-grant.ts";
import { NAME_PATTERN } from "../match/name-pattern.ts";
import { CONDITION_DEFINITIONS, CONDITIONS } from "./condition-shape.ts";

function then(schema: JsonObject): JsonObject {
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  return { then: schema };
}

function closed(properties: JsonObject, required: readonly string[]): JsonObject {
  return { type: "object", additionalProperties: false, required, properties };
}

const AMOUNT = { type: ["integer", "string"] };
const LIMIT = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER };

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
  cpuMs: LIMIT,
  processes: LIMIT,
  processMemoryBytes: LIMIT,
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
  cpu: AMOUNT,
  processes: LIMIT,
  processMemory: AMOUNT,
};

const TOOL_NAMES = {
  type: "string",
  pattern: NAME_PATTERN,
  message:
    "must be a tool name without spaces, in which * matches any number of characters and \\* is a star",
};

const TIME = {
  type: "string",
  pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9]{2}:[0-9]{2}))?$",
  message: "must be a date such as 2026-12-31, or a time with its zone such as 2026-12-31T18:00:00Z",
};

const NAMES = { type: "array", items: { type: "string", minLength: 1 } };

const ORIGIN = {
  type: "string",
  pattern: ORIGIN_PATTERN,
  message: "must be an origin in lower case, such as https://api.example.com",
};

const ADDRESSES = {
  type: "string",
  pattern: CIDR_PATTERN,
  message: "must be a CIDR range, such as 10.0.0.0/8",
};

const POINTER = {
  type: "string",
  pattern: POINTER_PATTERN,
  message: "must be a JSON pointer to an argument, such as '/url'",
};

/** A relative path in `/` segments, none of which is `.` or `..`. */
const WORKSPACE = {
  type: ["boolean", "string"],
  not: { const: false },
  pattern: "^(?!\\.{1,2}(/|$))[^/\\\\\\0]+(/(?!\\.{1,2}(/|$))[^/\\\\\\0]+)*$",
  message: "must be true, or the path of a directory in the workspace, such as src/generated",
};

/** The text of an origin, a map with one, or a template of one. */
const NET_GRANT = {
  if: { type: "object" },
  ...then({
    if: { type: "object", required: ["argument"] },
    ...then(
      closed({ argument: POINTER, within: { type: "array", minItems: 1, items: ORIGIN } }, [
        "argument",
        "within",
      ]),
    ),
    else: closed({ origin: ORIGIN, addresses: { type: "array", items: ADDRESSES } }, ["origin"]),
  }),
  else: ORIGIN,
};

const MOUNT = {
  at: { type: "string", pattern: "^/", message: "must be an absolute path, such as /data" },
  write: { type: "boolean" },
};

/** A directory, or a template of one in the workspace. */
const DIRECTORY_GRANT = {
  if: { type: "object", required: ["workspace"] },
  ...then(closed({ workspace: WORKSPACE, ...MOUNT }, ["workspace"])),
  else: closed({ directory: { type: "string", minLength: 1 }, ...MOUNT }, ["directory"]),
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
    frozenClock: {
      type: "integer",
      minimum: Number.MIN_SAFE_INTEGER,
      maximum: Number.MAX_SAFE_INTEGER,
    },
    randomSeed: { type: "string" },
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

/** Only rules with certain effects can have some members. */
function onlyFor(effects: string, members: readonly string[]): JsonObject {
  const message = `only a rule with the effect ${effects} can have this`;
  return { properties: Object.fromEntries(members.map((member) => [member, { not: {}, message }])) };
}

const LABELS = { type: "array", minItems: 1, items: { type: "string", minLength: 1 } };
const SENTENCE = { type: "string", minLength: 1, maxLength: 1_000 };

function ruleSchema(limits: JsonObject): JsonObject {
  const use = allowedUse(limits);
  const grants = Object.keys(use);
  return {
    type: "object",
    additionalProperties: false,
    required: ["effect"],
    properties: {
      name: { type: "string", minLength: 1, maxLength: 128 },
      tools: { type: "array", minItems: 1, items: TOOL_NAMES },
      tags: LABELS,
      sideEffects: { type: "array", minItems: 1, uniqueItems: true, items: { enum: SIDE_EFFECTS } },
      principals: LABELS,
      roles: LABELS,
      when: CONDITIONS,
      until: TIME,
      owner: SENTENCE,
      reason: SENTENCE,
      effect: { enum: ["allow", "deny", "ask"] },
      question: SENTENCE,
      remember: { const: "session", message: "must be 'session'" },
      ...use,
    },
    allOf: [
      // Without tags, tools are required, as the text of a missing key says.
      { if: { not: { required: ["tags"] } }, ...then({ required: ["tools"] }) },
      whenEffectIs(["allow"], { required: ["sandboxes"] }),
      whenEffectIs(["ask"], {
        if: { anyOf: [{ required: ["limits"] }, { required: ["capabilities"] }] },
        ...then({ required: ["sandboxes"] }),
      }),
      whenEffectIs(["allow", "deny"], onlyFor("'ask'", ["question", "remember"])),
      whenEffectIs(["deny"], onlyFor("'allow' or 'ask'", grants)),
    ],
  };
}

function whenEffectIs(effects: readonly string[], schema: JsonObject): JsonObject {
  return { if: { required: ["effect"], properties: { effect: { enum: effects } } }, ...then(schema) };
}

function policySchema(limits: JsonObject): JsonObject {
  return {
    type: "object",
    additionalProperties: false,
    required: ["rules"],
    $defs: CONDITION_DEFINITIONS,
    properties: {
      rules: { type: "array", items: ruleSchema(limits) },
      default: {
        if: { type: "object" },
        ...then({
          type: "object",
          additionalProperties: false,
          required: ["sandboxes"],
          properties: allowedUse(limits),
        }),
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
