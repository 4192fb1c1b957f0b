import { atOnce } from "../../base/turns.ts";
import { described, type Flaw, mapOf, thenSchema } from "../../config/shape.ts";
import type { JsonObject, JsonValue } from "../../json/value.ts";
import { SANDBOX_MODES, type SandboxMode } from "../../tool/sandbox-mode.ts";
import { SIDE_EFFECTS, type SideEffects } from "../../tool/side-effects.ts";
import type { CallHistory } from "../call-history.ts";
import { TOOL_NAMES } from "../grant/grant-shape.ts";
import { ORIGIN_PATTERN, parseOrigin } from "../grant/net-grant.ts";
import type { AllowDecision, AskDecision } from "../policy.ts";
import type { Principal } from "../principal.ts";
import { CONDITIONS } from "../rule/conditions/condition-shape.ts";
import type { RuleConditions } from "../rule/rule.ts";
import { ruleFlaws } from "../rule/rule-flaws.ts";

const NAMES = { type: "array", minItems: 1, items: { type: "string", minLength: 1 } };

const ANY = { enum: ["any"], message: "must be 'any'" };

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
  when: described(CONDITIONS, "Conditions like those of rules, which the call must certainly meet."),
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

/** What must hold for every decision of a policy of rules, whatever the arguments, the principal and the time. */
export type Invariant = NeverInvariant | AlwaysInvariant;

/** No call of this selection can run, with or without a person's confirmation. */
export interface NeverInvariant {
  /** Appears in messages. Default: `invariant 2` for the second one. */
  readonly name?: string;
  readonly never: CallSelection;
}

/** A person confirms every call of this selection that runs. */
export interface AlwaysInvariant {
  /** Like {@link NeverInvariant.name}. */
  readonly name?: string;
  readonly always: CallSelection & { readonly effect: "ask" };
}

/** Calls that meet every member that is set. At least one must be set. */
export interface CallSelection {
  /** Names of tools, in which `*` matches any number of characters and `\*` is a star. One of them must match. */
  readonly tools?: readonly string[];
  /** The tool must have one of these tags. */
  readonly tags?: readonly string[];
  /** The tool's side effects must be one of these. */
  readonly sideEffects?: readonly SideEffects[];
  /** The decision must accept one of these sandboxes, whether or not it prefers another one. */
  readonly sandboxes?: readonly SandboxMode[];
  /** The grant must have all of these. */
  readonly capabilities?: CapabilitySelection;
  /** The call must certainly meet these: one of which that is unclear is not meant. */
  readonly when?: RuleConditions;
}

/** Capabilities of a grant, by name. `"any"` is met if the grant has the capability at all. */
export interface CapabilitySelection {
  /** A list is met by one of these names. The same holds for `secrets` and `keyValue`. */
  readonly env?: "any" | readonly string[];
  readonly clock?: "any";
  readonly random?: "any";
  /** A list is met if the grant lets the tool call one of these tools. The names have no wildcards. */
  readonly tools?: "any" | readonly string[];
  /** `"write"` is met by a directory or file that the tool may change. */
  readonly fs?: "any" | "write";
  /** `outside` is met by an origin that none of these, which are written as in `NetGrant`, covers. */
  readonly net?: "any" | { readonly outside: readonly string[] };
  readonly secrets?: "any" | readonly string[];
  readonly keyValue?: "any" | readonly string[];
  readonly reuse?: "any";
  readonly engine?: "any";
}

/** Returns the calls that an invariant is about. */
export function selectionOf(invariant: Invariant): CallSelection {
  return "never" in invariant ? invariant.never : invariant.always;
}

/** Returns the name of an invariant, which defaults to its number. */
export function invariantName({ name }: Invariant, index: number): string {
  return name ?? `invariant ${index + 1}`;
}

/** Returns the member of an invariant that has its selection. */
export function kindOf(invariant: Invariant): "never" | "always" {
  return "never" in invariant ? "never" : "always";
}

function anyOr(type: "array" | "object", schema: JsonObject, form: string): JsonObject {
  return {
    if: { type },
    ...thenSchema(schema),
    else: { enum: ["any"], message: `must be 'any', or ${form}` },
  };
}

/** Finds flaws of invariants that their shape does not cover: origins with a port that does not exist. */
export function invariantFlaws(invariants: readonly Invariant[]): readonly Flaw[] {
  return invariants.flatMap((invariant, index) => {
    const { capabilities: { net } = {}, when } = selectionOf(invariant);
    const own =
      when === undefined ? [] : conditionFlaws(when, ["invariants", String(index), kindOf(invariant)]);
    if (net === undefined || net === "any") return own;
    const path = ["invariants", String(index), kindOf(invariant), "capabilities", "net", "outside"];
    return [...own, ...net.outside.flatMap((origin, place) => flawOf(origin, [...path, String(place)]))];
  });
}

function conditionFlaws(when: RuleConditions, path: readonly string[]): readonly Flaw[] {
  const rule = { tools: ["*"], effect: "deny", when } as const;
  return atOnce(ruleFlaws([[0, rule]])).map((flaw) => ({ ...flaw, path: [...path, ...flaw.path.slice(2)] }));
}

function flawOf(origin: string, path: readonly string[]): readonly Flaw[] {
  try {
    parseOrigin(origin);
    return [];
  } catch (error) {
    return [{ path, at: "value", message: (error as Error).message }];
  }
}

/** The outcome of an invariant. */
export interface Proof {
  readonly invariant: Invariant;
  /** The name of the invariant, or `invariant 2` for the second one. */
  readonly name: string;
  /**
   * `proved`: no call of the tools can violate it. `broken`: a call that does was found. `undecided`: rules may violate
   * it, and no call was found that does. Only `proved` lets a policy file load.
   */
  readonly verdict: "proved" | "broken" | "undecided";
  /** The names of the tools that it is about. It says nothing if there are none. */
  readonly tools: readonly string[];
  /** The rules that may violate it; at most 20 of them. */
  readonly failures: readonly ProofFailure[];
  /** How many more there are. */
  readonly furtherFailures: number;
}

/** Rules that may violate an invariant. */
export interface ProofFailure {
  /** The names of the rules that together grant what must not be granted; empty for the policy's `default`. */
  readonly rules: readonly string[];
  /** The index of the first of them in the policy; absent for `default`. */
  readonly place?: number;
  /** The names of the tools whose calls it concerns. */
  readonly tools: readonly string[];
  /** A call that violates the invariant; absent if none was found. */
  readonly witness?: Witness;
}

/** A call that violates an invariant. The policy was asked about it. */
export interface Witness {
  readonly tool: string;
  /** Arguments that the tool's input schema accepts. */
  readonly input: JsonValue;
  readonly principal?: Principal;
  readonly sessionId: string;
  /** What came before it, if the decision depends on it: answers to what conditions ask about. */
  readonly history?: CallHistory;
  /** The same for operators: conditions, and what their answer is. */
  readonly assumed?: readonly string[];
  /** The time of the call, in milliseconds since the epoch. */
  readonly at: number;
  readonly decision: AllowDecision | AskDecision;
}
