import { atOnce } from "../../base/turns.ts";
import {
  compileShape,
  described,
  type Flaw,
  mapOf,
  type Shape,
  TEXT,
  thenSchema,
} from "../../config/shape.ts";
import { copyJson } from "../../json/copy.ts";
import { escapePointer, lookUp, POINTER_PATTERN } from "../../json/pointer.ts";
import type { JsonBounds } from "../../json/refusal.ts";
import { type JsonObject, type JsonValue, JsonValueError } from "../../json/value.ts";
import { SANDBOX_MODES } from "../../tool/sandbox-mode.ts";
import { SIDE_EFFECTS } from "../../tool/side-effects.ts";
import { MAX_AMOUNT_POINTER } from "../call-history.ts";
import { CAPABILITIES, LIMITS, TOOL_NAMES } from "../grant/grant-shape.ts";
import { CONDITION_DEFINITIONS, CONDITIONS, FIELD, orReference } from "./conditions/condition-shape.ts";
import { HOURS_PATTERN, WEEKDAYS } from "./conditions/time-window.ts";
import type { RulePolicyOptions } from "./rule.ts";
import { ruleFlaws } from "./rule-flaws.ts";

/** Far above any realistic policy. Rules are trusted, so the bounds for a model's arguments do not apply. */
const POLICY_BOUNDS: JsonBounds = Object.freeze({
  length: 64 * 1_024 * 1_024,
  values: 5_000_000,
  members: 2_000_000,
});

const TOOLS = { type: "array", minItems: 1, items: TOOL_NAMES };

const CALLS = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER };

const AMOUNT = { type: "number", minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

/** The schema of a list of `HistoryCondition`. Which members go together is not part of it: see `historyFlaws`. */
const HISTORY: JsonObject = {
  type: "array",
  minItems: 1,
  items: {
    type: "object",
    additionalProperties: false,
    properties: {
      count: described(
        TOOLS,
        "Counts earlier calls of these tools. Exactly one of `count`, `sum` and `after` must be set.",
      ),
      lessThan: described(
        orReference(CALLS),
        "With `count`: there were fewer calls, without the one that is decided on.",
      ),
      atLeast: described(orReference(CALLS), "With `count`: there were at least this many calls."),
      sum: {
        description:
          "A JSON pointer to an argument, whose amounts in earlier calls and in the call itself are added.",
        type: "string",
        minLength: 1,
        maxLength: MAX_AMOUNT_POINTER,
        pattern: POINTER_PATTERN,
        message: `must be a JSON pointer to an argument, such as '/amount', with at most ${MAX_AMOUNT_POINTER} characters`,
      },
      of: described(TOOLS, "With `sum`: the tools whose calls have the amount."),
      atMost: described(orReference(AMOUNT), "With `sum`: the sum is at most this."),
      moreThan: described(orReference(AMOUNT), "With `sum`: the sum is more than this."),
      after: described(TOOLS, "An earlier call of one of these tools succeeded."),
      approved: described(
        { const: true, message: "must be true" },
        "With `after`: a person confirmed that call itself. Default: no confirmation is required.",
      ),
      within: described(
        { type: ["integer", "string"], title: "duration" },
        "How far the condition looks back. Exactly one of `within` and `in` must be set.",
      ),
      in: described({ enum: ["turn", "session"] }, "It looks back to the start of the turn or the session."),
      by: described(
        { enum: ["session", "principal"] },
        "Whose calls: those of the session, or those of all sessions of its principal, which requires `within`. Default: `session`.",
      ),
    },
  },
};

const TIME = {
  type: "string",
  pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9]{2}:[0-9]{2}))?$",
  message: "must be a date such as 2026-12-31, or a time with its zone such as 2026-12-31T18:00:00Z",
};

const HOURS = {
  type: "string",
  pattern: HOURS_PATTERN,
  message: "must be hours such as '09:00-17:30' or '22:00-06:00'",
};

/** The schemas of the members of `AllowedUse`, for limits in code or in a file. */
function allowedUse(limits: JsonObject): JsonObject {
  return {
    sandboxes: described(
      { type: "array", minItems: 1, uniqueItems: true, items: { enum: SANDBOX_MODES } },
      "Accepted sandboxes, in order of preference. Required to allow calls.",
    ),
    isolation: described(
      { const: "namespaces", message: "must be 'namespaces'" },
      "What must confine a program; only with the sandbox `process`, and no other. Default: any of its ways.",
    ),
    limits: described(
      { type: "object", additionalProperties: false, properties: limits },
      "The most that a call may use. A limit that the sandbox cannot enforce fails the call. Default: those of the sandbox.",
    ),
    capabilities: described(CAPABILITIES, "What a call may access besides its input. Default: nothing."),
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
/** `*` is no wildcard here: it would name a member `*`. */
const ARGUMENT = {
  type: "string",
  pattern: POINTER_PATTERN,
  not: { pattern: "/\\*(?:/|$)" },
  message: "must be a JSON pointer to an argument, such as '/path', without '*'",
};
const SENTENCE = { type: "string", minLength: 1, maxLength: 1_000 };

/**
 * Maximum number of examples of each kind that a rule can have: each is checked against all conditions of the
 * rule.
 */
const MAX_EXAMPLES = 1_000;

const EXAMPLES = {
  type: "array",
  minItems: 1,
  maxItems: MAX_EXAMPLES,
  items: mapOf(
    {
      arguments: described({}, "The arguments of the call."),
      principal: described({ type: "object" }, "The caller. Default: it is not known."),
    },
    ["arguments"],
  ),
};

function ruleSchema(limits: JsonObject): JsonObject {
  const use = allowedUse(limits);
  const grants = Object.keys(use);
  return {
    type: "object",
    additionalProperties: false,
    required: ["effect"],
    properties: {
      name: described(
        { type: "string", minLength: 1, maxLength: 128 },
        "A unique name, which appears in decisions for operators. Default: its number.",
      ),
      tools: described(
        { type: "array", minItems: 1, items: TOOL_NAMES },
        "Names of tools, in which `*` stands for any characters and `\\*` is a star. Required without `tags`.",
      ),
      tags: described(LABELS, "The tool must have one of these tags. Default: any tool."),
      sideEffects: described(
        { type: "array", minItems: 1, uniqueItems: true, items: { enum: SIDE_EFFECTS } },
        "The tool's side effects must be one of these. Default: any.",
      ),
      principals: described(
        LABELS,
        "Patterns like those of `tools`, of which one must match the principal's id. Default: any principal.",
      ),
      roles: described(LABELS, "The principal must have one of these roles. Default: any principal."),
      asked: described(
        { type: "string", minLength: 1 },
        "A regular expression that must match a part of the user's words in this turn, in any case. Default: any words.",
      ),
      absent: described(
        { type: "array", minItems: 1, items: ARGUMENT },
        "JSON pointers to arguments that must be missing, `null` or empty. Default: none.",
      ),
      when: described(
        CONDITIONS,
        "Conditions on arguments, the principal and the session. All must be met. Default: none.",
      ),
      history: described(
        HISTORY,
        "Conditions on earlier calls of the session or its principal. All must be met. Default: none.",
      ),
      until: described(
        TIME,
        "The end of the rule: a date, which means its beginning in UTC, or a time with its zone. Default: it does not end.",
      ),
      during: described(
        {
          ...mapOf(
            {
              days: described(
                { type: "array", minItems: 1, uniqueItems: true, items: { enum: WEEKDAYS } },
                "Days of the week. Default: all.",
              ),
              hours: described(
                { type: "array", minItems: 1, items: HOURS },
                "Hours such as `09:00-17:30`, without their end. Default: all.",
              ),
              zone: described(TEXT, "The name of a time zone, such as `Europe/Zurich`."),
            },
            ["zone"],
          ),
          minProperties: 2,
          message: "must have 'zone', and 'days' or 'hours'",
        },
        "When the rule matches, by the time of the decision. Default: always.",
      ),
      examples: described(
        mapOf({
          match: described(EXAMPLES, "Calls to which the rule applies. Default: none."),
          noMatch: described(EXAMPLES, "Calls to which the rule does not apply. Default: none."),
        }),
        "Calls for which it is checked, when the policy is loaded, whether the rule applies to them. Default: none.",
      ),
      owner: described(SENTENCE, "Who is responsible for the rule. It has no effect. Default: none."),
      reason: described(
        SENTENCE,
        "Why the rule exists. It is part of the reason of a denial. Default: none.",
      ),
      effect: described(
        { enum: ["allow", "deny", "ask"] },
        "Whether the calls are allowed, denied, or a person is asked. `deny` prevails, then `ask`.",
      ),
      question: described(
        SENTENCE,
        "What the person is asked, with the effect `ask`. Default: that the rule requires confirmation.",
      ),
      remember: described(
        { const: "session", message: "must be 'session'" },
        "Lets an earlier approval in the same session answer, with the effect `ask`. Default: each call is asked about.",
      ),
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
      rules: described(
        { type: "array", items: ruleSchema(limits) },
        "The rules. A call that none of them allows gets the `default`.",
      ),
      untrusted: {
        description:
          "Results that outsiders can write. A rule that has values come from them is invalid. Default: none.",
        type: "array",
        items: {
          type: "object",
          additionalProperties: false,
          required: ["tool"],
          properties: {
            tool: described({ type: "string", minLength: 1 }, "The name of the tool."),
            fields: described(
              { type: "array", minItems: 1, items: FIELD },
              "JSON pointers to those fields of its output. Default: the whole output.",
            ),
          },
        },
      },
      default: {
        description:
          "What calls get about which no rule decides: `deny`, or what a map grants. Default: `deny`.",
        if: { type: "object" },
        ...thenSchema({
          type: "object",
          additionalProperties: false,
          required: ["sandboxes"],
          properties: {
            effect: described(
              { enum: ["allow", "ask"] },
              "Whether a person must confirm them. Default: `allow`.",
            ),
            ...allowedUse(limits),
          },
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

/**
 * Checks the options, and returns a deeply frozen copy.
 *
 * @throws {TypeError} with every problem, and the name of its rule.
 */
export function checkOptions(options: RulePolicyOptions): RulePolicyOptions {
  const copy = copyOptions(options);
  const flaws = policyShape(copy);
  const checked = copy as unknown as RulePolicyOptions;
  const all =
    flaws.length > 0 ? flaws : atOnce(ruleFlaws(checked.rules.entries(), checked.default, checked.untrusted));
  if (all.length > 0) throw new TypeError(all.map((flaw) => describeFlaw(flaw, copy)).join("; "));
  return checked;
}

function copyOptions(options: RulePolicyOptions): JsonValue {
  try {
    return copyJson(options, POLICY_BOUNDS);
  } catch (error) {
    if (error instanceof JsonValueError)
      throw new TypeError(`the rules are not valid JSON: ${error.message}`);
    throw error;
  }
}

function describeFlaw({ path, message }: Flaw, options: JsonValue): string {
  const [member, index, ...rest] = path;
  if (member !== "rules" || index === undefined) return `${pointerOf(path)}${message}`;
  const name = lookUp(options, ["rules", index, "name"]);
  const place = `rule ${Number(index) + 1}`;
  return `${place}${typeof name === "string" ? ` ('${name}')` : ""}: ${pointerOf(rest)}${message}`;
}

function pointerOf(path: readonly string[]): string {
  return path.length === 0 ? "" : `/${path.map(escapePointer).join("/")} `;
}
