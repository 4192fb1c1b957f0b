import { described } from "../../config/described.ts";
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
      description: "Origins as in a grant: it has one that none of them covers.",
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
    env: described(ANY_OR_NAMES, "Any environment variables, or one of these."),
    clock: described(ANY, "Clocks."),
    random: described(ANY, "Random bytes."),
    tools: described(ANY_OR_NAMES, "Calls of any tools, or of one of these. The names have no wildcards."),
    fs: described(
      { enum: ["any", "write"], message: "must be 'any' or 'write'" },
      "Any files or directories, or some that the tool may change.",
    ),
    net: described(
      anyOr("object", OUTSIDE, "a map with 'outside' and a list of origins"),
      "Any origins, or some that a list does not cover.",
    ),
    secrets: described(ANY_OR_NAMES, "Any secrets, or one of these."),
    keyValue: described(ANY_OR_NAMES, "Any key-value stores, or one of these."),
    reuse: described(ANY, "An instance that calls share."),
    engine: described(ANY, "Another engine."),
  }),
  minProperties: 1,
};

const SELECTION: JsonObject = {
  tools: described(
    { type: "array", minItems: 1, items: TOOL_NAMES },
    "Names of tools, in which `*` stands for any characters. One of them must match.",
  ),
  tags: described(NAMES, "The tool must have one of these tags."),
  sideEffects: described(
    { type: "array", minItems: 1, uniqueItems: true, items: { enum: SIDE_EFFECTS } },
    "The tool's side effects must be one of these.",
  ),
  sandboxes: described(
    { type: "array", minItems: 1, uniqueItems: true, items: { enum: SANDBOX_MODES } },
    "The decision must accept one of these sandboxes.",
  ),
  capabilities: described(CAPABILITIES, "The grant must have all of these."),
};

const EFFECT = described(
  { enum: ["ask"], message: "must be 'ask': write 'never' for calls that must be denied" },
  "What the policy must decide.",
);

/** The schema of a list of invariants. */
export const INVARIANTS: JsonObject = {
  type: "array",
  items: {
    ...mapOf({
      name: described(
        { type: "string", minLength: 1, maxLength: 128 },
        "Appears in messages. Default: its number.",
      ),
      never: described(
        { ...mapOf(SELECTION), minProperties: 1 },
        "No such call runs, confirmed or not. Exactly one of `never` and `always` must be set.",
      ),
      always: {
        description: "A person confirms every such call that runs.",
        ...mapOf({ ...SELECTION, effect: EFFECT }, ["effect"]),
        if: { required: ["effect"] },
        ...thenSchema({ minProperties: 2, message: "must have a member besides 'effect'" }),
      },
    }),
    oneOf: [{ required: ["never"] }, { required: ["always"] }],
    message: "must have exactly one of never, always",
  },
};
