import { mapOf, thenSchema } from "../../config/shape.ts";
import type { JsonObject } from "../../json/value.ts";
import { SANDBOX_MODES } from "../../tool/sandbox-mode.ts";
import { SIDE_EFFECTS } from "../../tool/side-effects.ts";
import { TOOL_NAMES } from "../grant/capability-shape.ts";
import { ORIGIN_PATTERN } from "../grant/net-grant.ts";

const NAMES = { type: "array", minItems: 1, items: { type: "string", minLength: 1 } };
const ANY = { enum: ["any"], message: "must be 'any'" };

function anyOr(type: "array" | "object", schema: JsonObject, form: string): JsonObject {
  return {
    if: { type },
    ...thenSchema(schema),
    else: { enum: ["any"], message: `must be 'any', or ${form}` },
  };
}

const ANY_OR_NAMES = anyOr("array", NAMES, "a list of names");

const OUTSIDE = mapOf(
  {
    outside: {
      type: "array",
      minItems: 1,
      items: {
        type: "string",
        pattern: ORIGIN_PATTERN,
        message: "must be an origin in lower case, such as https://api.example.com",
      },
    },
  },
  ["outside"],
);

const CAPABILITIES = {
  ...mapOf({
    env: ANY_OR_NAMES,
    clock: ANY,
    random: ANY,
    tools: ANY_OR_NAMES,
    fs: { enum: ["any", "write"], message: "must be 'any' or 'write'" },
    net: anyOr("object", OUTSIDE, "a map with 'outside' and a list of origins"),
    secrets: ANY_OR_NAMES,
    keyValue: ANY_OR_NAMES,
    reuse: ANY,
    engine: ANY,
  }),
  minProperties: 1,
};

const SELECTION: JsonObject = {
  tools: { type: "array", minItems: 1, items: TOOL_NAMES },
  tags: NAMES,
  sideEffects: { type: "array", minItems: 1, uniqueItems: true, items: { enum: SIDE_EFFECTS } },
  sandboxes: { type: "array", minItems: 1, uniqueItems: true, items: { enum: SANDBOX_MODES } },
  capabilities: CAPABILITIES,
};

const EFFECT = { enum: ["ask"], message: "must be 'ask': write 'never' for calls that must be denied" };

/** The schema of a list of invariants. */
export const INVARIANTS: JsonObject = {
  type: "array",
  items: {
    ...mapOf({
      name: { type: "string", minLength: 1, maxLength: 128 },
      never: { ...mapOf(SELECTION), minProperties: 1 },
      always: {
        ...mapOf({ ...SELECTION, effect: EFFECT }, ["effect"]),
        if: { required: ["effect"] },
        ...thenSchema({ minProperties: 2, message: "must have a member besides 'effect'" }),
      },
    }),
    oneOf: [{ required: ["never"] }, { required: ["always"] }],
    message: "must have exactly one of never, always",
  },
};
