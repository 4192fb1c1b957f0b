import { compileShape, mapOf, type Shape, thenSchema } from "../../config/shape.ts";
import { POINTER_PATTERN } from "../../json/pointer.ts";
import type { JsonObject } from "../../json/value.ts";
import { SANDBOX_MODES } from "../../tool/sandbox-mode.ts";
import { SIDE_EFFECTS } from "../../tool/side-effects.ts";
import { CAPABILITIES, TOOL_NAMES } from "../grant/capability-shape.ts";
import { MAX_WALL_TIME_MS } from "../grant/limits.ts";
import { CONDITION_DEFINITIONS, CONDITIONS, FIELD } from "./conditions/condition-shape.ts";
import { HISTORY } from "./history/history-shape.ts";

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

/** The schemas of limits in a file. The units are checked when they are parsed. */
export const WRITTEN_LIMITS: JsonObject = {
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

const TIME = {
  type: "string",
  pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9]{2}:[0-9]{2}))?$",
  message: "must be a date such as 2026-12-31, or a time with its zone such as 2026-12-31T18:00:00Z",
};

/** The schemas of the members of `AllowedUse`, for limits in code or in a file. */
function allowedUse(limits: JsonObject): JsonObject {
  return {
    sandboxes: { type: "array", minItems: 1, uniqueItems: true, items: { enum: SANDBOX_MODES } },
    isolation: { const: "namespaces", message: "must be 'namespaces'" },
    limits: { type: "object", additionalProperties: false, properties: limits },
    capabilities: CAPABILITIES,
  };
}

/** Other sandboxes have one way to confine tools. */
const ISOLATES_PROGRAMS: JsonObject = {
  if: { required: ["isolation"] },
  ...thenSchema({
    required: ["sandboxes"],
    properties: {
      sandboxes: {
        type: "array",
        items: { const: "process", message: "must be 'process' only, as the rule requires an isolation" },
      },
    },
  }),
};

/** Only rules with certain effects can have some members. */
function onlyFor(effects: string, members: readonly string[]): JsonObject {
  const message = `only a rule with the effect ${effects} can have this`;
  return { properties: Object.fromEntries(members.map((member) => [member, { not: {}, message }])) };
}

const LABELS = { type: "array", minItems: 1, items: { type: "string", minLength: 1 } };
/** `*` would be a member of that name, which is absent even if others are not. */
const ARGUMENT = {
  type: "string",
  pattern: POINTER_PATTERN,
  not: { pattern: "/\\*(?:/|$)" },
  message: "must be a JSON pointer to an argument, such as '/path', without '*'",
};
const SENTENCE = { type: "string", minLength: 1, maxLength: 1_000 };

/** The most examples of each kind that a rule can have: each is checked against all conditions of the rule. */
const MAX_EXAMPLES = 1_000;

const EXAMPLES = {
  type: "array",
  minItems: 1,
  maxItems: MAX_EXAMPLES,
  items: mapOf({ arguments: {}, principal: { type: "object" } }, ["arguments"]),
};

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
      asked: { type: "string", minLength: 1 },
      absent: { type: "array", minItems: 1, items: ARGUMENT },
      when: CONDITIONS,
      history: HISTORY,
      until: TIME,
      examples: mapOf({ match: EXAMPLES, noMatch: EXAMPLES }),
      owner: SENTENCE,
      reason: SENTENCE,
      effect: { enum: ["allow", "deny", "ask"] },
      question: SENTENCE,
      remember: { const: "session", message: "must be 'session'" },
      ...use,
    },
    allOf: [
      // Without tags, tools are required, as the text of a missing key says.
      { if: { not: { required: ["tags"] } }, ...thenSchema({ required: ["tools"] }) },
      ISOLATES_PROGRAMS,
      whenEffectIs(["allow"], { required: ["sandboxes"] }),
      whenEffectIs(["ask"], {
        if: { anyOf: [{ required: ["limits"] }, { required: ["capabilities"] }] },
        ...thenSchema({ required: ["sandboxes"] }),
      }),
      whenEffectIs(["allow", "deny"], onlyFor("'ask'", ["question", "remember"])),
      whenEffectIs(["deny"], onlyFor("'allow' or 'ask'", grants)),
    ],
  };
}

function whenEffectIs(effects: readonly string[], schema: JsonObject): JsonObject {
  return { if: { required: ["effect"], properties: { effect: { enum: effects } } }, ...thenSchema(schema) };
}

/**
 * Returns the schema of a policy.
 *
 * @param limits The schemas of its limits.
 * @param more Those of further members. Default: none.
 */
export function policySchema(limits: JsonObject, more: JsonObject = {}): JsonObject {
  return {
    type: "object",
    additionalProperties: false,
    required: ["rules"],
    $defs: CONDITION_DEFINITIONS,
    properties: {
      rules: { type: "array", items: ruleSchema(limits) },
      untrusted: {
        type: "array",
        items: {
          type: "object",
          additionalProperties: false,
          required: ["tool"],
          properties: {
            tool: { type: "string", minLength: 1 },
            fields: { type: "array", minItems: 1, items: FIELD },
          },
        },
      },
      default: {
        if: { type: "object" },
        ...thenSchema({
          type: "object",
          additionalProperties: false,
          required: ["sandboxes"],
          properties: { effect: { enum: ["allow", "ask"] }, ...allowedUse(limits) },
          ...ISOLATES_PROGRAMS,
        }),
        else: { enum: ["deny"], message: "must be 'deny', or a map with sandboxes, limits and capabilities" },
      },
      ...more,
    },
  };
}

let ofOptions: Shape | undefined;

/** The shape of `RulePolicyOptions`. */
export const policyShape: Shape = (value) => {
  ofOptions ??= compileShape(policySchema(LIMITS));
  return ofOptions(value);
};
