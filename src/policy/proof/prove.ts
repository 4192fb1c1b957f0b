import { compileShape } from "../../config/shape.ts";
import { CanonicalJson } from "../../json/canonical.ts";
import { copyJson } from "../../json/copy.ts";
import type { JsonValue } from "../../json/value.ts";
import { type CompiledSchema, compileSchema } from "../../schema/compiled-schema.ts";
import { SchemaError } from "../../schema/schema-error.ts";
import type { PolicyDecision, PolicySubject } from "../policy.ts";
import { compileRule } from "../rule/compiled-rule.ts";
import type { PolicyRule, RulePolicyOptions } from "../rule/rule.ts";
import { ruleName } from "../rule/rule-flaws.ts";
import { concernedTools } from "../rule/rule-matcher.ts";
import { RuleBook, RulePolicy } from "../rule/rule-policy.ts";
import { checkOptions } from "../rule/rule-shape.ts";
import {
  INVARIANTS,
  type Invariant,
  invariantFlaws,
  invariantName,
  type Proof,
  type ProofFailure,
  selectionOf,
  type Witness,
} from "./invariant.ts";
import { groupAlike, hasSelected, type MinimalGrant, mayViolate, minimalGrants } from "./minimal-grants.ts";
import { type CallSketch, sketchCalls } from "./witness/sketch-calls.ts";

/** The most failures that are examined and reported for one invariant. */
const MAX_FAILURES = 20;
/** The most tools whose calls are tried for one failure. */
const MAX_TRIED = 5;
/** The most comparisons of an invariant with what rules grant to a tool, for all invariants together. */
const MAX_COMPARED = 1_000_000;

/** Thrown if a policy has more invariants than can be proved for its rules and tools. */
export class ProofSizeError extends TypeError {
  override readonly name = "ProofSizeError";

  constructor() {
    super(
      `the invariants need more than ${MAX_COMPARED} comparisons with what the rules grant to the tools: ` +
        "state fewer invariants, or have more rules grant the same",
    );
  }
}

/**
 * Decides which invariants hold for every call of the tools, whatever its arguments, principal, session and time are.
 *
 * @param options Valid, as `RulePolicy` accepts them.
 * @throws {ProofSizeError}
 */
export function prove(
  options: RulePolicyOptions,
  invariants: readonly Invariant[],
  tools: readonly PolicySubject[],
): readonly Proof[] {
  const prover = new Prover(options);
  return invariants.map((invariant, index) =>
    prover.prove(invariant, invariantName(invariant, index), tools),
  );
}

class Prover {
  readonly #options: RulePolicyOptions;
  readonly #rules: RuleBook;
  /** Grouped by {@link groupAlike}. */
  readonly #grants = new Map<PolicySubject, readonly (readonly MinimalGrant[])[]>();
  readonly #search: WitnessSearch;
  #compared = 0;

  constructor(options: RulePolicyOptions) {
    this.#options = options;
    this.#rules = new RuleBook(
      options.rules.map((rule, index) => compileRule(rule, ruleName(rule, index), index, Date.now)),
    );
    this.#search = new WitnessSearch(options);
  }

  prove(invariant: Invariant, name: string, tools: readonly PolicySubject[]): Proof {
    const selected = concernedTools(selectionOf(invariant), tools);
    const suspects = new Map<string, Suspect>();
    for (const tool of selected) {
      const grants = this.#grantsOf(tool);
      this.#count(grants.length);
      for (const alike of grants) {
        if (!mayViolate(alike[0] as MinimalGrant, tool, invariant)) continue;
        this.#count(alike.length);
        for (const grant of alike) {
          const key = grant.rules.map(({ place }) => place).join(" ");
          const suspect = suspects.get(key) ?? { grant, tools: [] };
          suspects.set(key, suspect);
          suspect.tools.push(tool);
        }
      }
    }
    const examined = [...suspects.values()].sort(byPlace).slice(0, MAX_FAILURES);
    const failures = examined.map((suspect) => this.#examine(suspect, invariant));
    const isBroken = failures.some(({ witness }) => witness !== undefined);
    return {
      invariant,
      name,
      verdict: isBroken ? "broken" : failures.length > 0 ? "undecided" : "proved",
      tools: selected.map((tool) => tool.name),
      failures,
      furtherFailures: suspects.size - failures.length,
    };
  }

  #count(compared: number): void {
    this.#compared += compared;
    if (this.#compared > MAX_COMPARED) throw new ProofSizeError();
  }

  #grantsOf(tool: PolicySubject): readonly (readonly MinimalGrant[])[] {
    let grants = this.#grants.get(tool);
    if (grants === undefined) {
      const { default: otherwise = "deny" } = this.#options;
      const byDefault = otherwise === "deny" ? undefined : otherwise;
      grants = groupAlike(minimalGrants(this.#rules.find(tool), tool, byDefault));
      this.#grants.set(tool, grants);
    }
    return grants;
  }

  #examine({ grant, tools }: Suspect, invariant: Invariant): ProofFailure {
    const [first] = grant.rules;
    for (const tool of tools.slice(0, MAX_TRIED)) {
      const witness = this.#search.find(grant, tool, invariant);
      if (witness !== undefined) return { ...describe(grant, tools, first?.place), witness };
    }
    return describe(grant, tools, first?.place);
  }
}

/** Rules that may violate an invariant, with the tools whose calls it concerns. */
interface Suspect {
  readonly grant: MinimalGrant;
  readonly tools: PolicySubject[];
}

function describe(
  { rules }: MinimalGrant,
  tools: readonly PolicySubject[],
  place: number | undefined,
): ProofFailure {
  return {
    rules: rules.map(({ name }) => name),
    ...(place !== undefined && { place }),
    tools: tools.map(({ name }) => name),
  };
}

function byPlace(a: Suspect, b: Suspect): number {
  const placeOf = ({ grant }: Suspect): number => grant.rules[0]?.place ?? Number.POSITIVE_INFINITY;
  return placeOf(a) === placeOf(b) ? 0 : placeOf(a) - placeOf(b);
}

/**
 * Decides which invariants hold for every call of these tools under rules in code, whatever the arguments, the principal,
 * the session and the time of the call are. `loadPolicyFile` does so for the `invariants` of a file.
 *
 * What is proved of a `RulePolicy` holds for `strictest` of it and any other policies, too. It does not hold for tools
 * that are registered or replaced later.
 *
 * @param tools Such as `registry.subjects`.
 * @returns One proof for each invariant, in their order.
 * @throws {TypeError} if the options or the invariants are invalid.
 */
export function proveInvariants(
  options: RulePolicyOptions,
  invariants: readonly Invariant[],
  tools: readonly PolicySubject[],
): readonly Proof[] {
  const checked = checkOptions(options);
  const copy = copyJson(invariants);
  const flaws = compileShape(INVARIANTS)(copy as JsonValue);
  const stated = copy as unknown as readonly Invariant[];
  const all = flaws.length > 0 ? flaws : invariantFlaws(stated);
  if (all.length > 0)
    throw new TypeError(all.map(({ path, message }) => `/${path.join("/")} ${message}`).join("; "));
  return prove(checked, stated, tools);
}

/** The most calls that are tried for one tool and one grant. */
const MAX_TRIED_WITNESSES = 1_000;
/** How many calls are tried in all before fewer are for each further tool and grant: the simplest ones only. */
const MANY_TRIED = 100_000;
const FEW_TRIED = 20;
/** What may be spent on calls in all, in evaluated rules. */
const MAX_WORK = 3_000_000;
/** What making up a call costs besides. */
const WORK_OF_CALL = 50;
/** The most times at which each call is tried. */
const MAX_TIMES = 8;
const WORKSPACE = "/workspace";

/** In what the calls of a tool are tried. */
interface Setting {
  /** Now, and the times around the ends of rules for the tool. */
  readonly times: readonly number[];
  /** What each call costs. */
  readonly work: number;
}

/** Looks for calls that violate invariants: it makes up calls that a rule should match, and asks the policy about each. */
class WitnessSearch {
  readonly #options: RulePolicyOptions;
  readonly #schemas = new Map<PolicySubject, CompiledSchema | undefined>();
  readonly #settings = new Map<PolicySubject, Setting>();
  #policy: RulePolicy | undefined;
  #tried = 0;
  #work = 0;
  /** The time of the policy's clock. */
  #now = Date.now();

  constructor(options: RulePolicyOptions) {
    this.#options = options;
  }

  /** Returns a call that violates an invariant by what the rules grant, or `undefined` if none was found. */
  find(grant: MinimalGrant, tool: PolicySubject, invariant: Invariant): Witness | undefined {
    const schema = this.#schemaOf(tool);
    if (schema === undefined) return undefined;
    const rules = grant.rules.map(({ place }) => this.#options.rules[place] as PolicyRule);
    const { times, work } = this.#settingOf(tool);
    const end = this.#tried + (this.#tried < MANY_TRIED ? MAX_TRIED_WITNESSES : FEW_TRIED);
    for (const sketch of sketchCalls(rules, grant.uses, tool.inputSchema)) {
      this.#work += work;
      if (++this.#tried > end || this.#work > MAX_WORK) return undefined;
      if (schema.validate(sketch.input) !== undefined) continue;
      for (const at of times) {
        const witness = this.#try(sketch, tool, invariant, at);
        if (witness !== undefined) return witness;
      }
    }
    return undefined;
  }

  #try(sketch: CallSketch, tool: PolicySubject, invariant: Invariant, at: number): Witness | undefined {
    const { principal, sessionId } = sketch;
    this.#now = at;
    this.#policy ??= new RulePolicy(this.#options, () => this.#now, false);
    try {
      const input = copyJson(sketch.input);
      const call = { callId: "witness", sessionId, principal, input, tool, workspace: WORKSPACE };
      const decision = this.#policy.check(Object.freeze({ ...call, canonical: new CanonicalJson(input) }));
      if (decision.decision === "deny" || !violates(decision, invariant)) return undefined;
      return { tool: tool.name, input, ...(principal && { principal }), sessionId, at, decision };
    } catch {
      // The input is not valid JSON, or the grants contradict each other for this call: it would be denied.
      return undefined;
    }
  }

  #settingOf(tool: PolicySubject): Setting {
    const known = this.#settings.get(tool);
    if (known !== undefined) return known;
    const rules = this.#options.rules.filter((rule) => concernedTools(rule, [tool]).length > 0);
    const ends = rules.flatMap(({ until }) => (until === undefined ? [] : [Date.parse(until)]));
    const times = [...new Set([Date.now(), ...ends.flatMap((end) => [end, end - 1])])].slice(0, MAX_TIMES);
    const setting = { times, work: WORK_OF_CALL + times.length * rules.length };
    this.#settings.set(tool, setting);
    return setting;
  }

  /** Returns `undefined` if the schema does not compile by itself, such as one that refers to shared schemas. */
  #schemaOf(tool: PolicySubject): CompiledSchema | undefined {
    if (this.#schemas.has(tool)) return this.#schemas.get(tool);
    const schema = compileOrNothing(tool);
    this.#schemas.set(tool, schema);
    return schema;
  }
}

function compileOrNothing({ inputSchema }: PolicySubject): CompiledSchema | undefined {
  try {
    return compileSchema(inputSchema);
  } catch (error) {
    if (error instanceof SchemaError) return undefined;
    throw error;
  }
}

/** Whether a decision on a call of a tool that the invariant is about violates the invariant. */
function violates(decision: PolicyDecision, invariant: Invariant): boolean {
  if (decision.decision === "deny" || decision.grant === undefined) return false;
  if ("always" in invariant && decision.decision === "ask") return false;
  const { sandboxes, capabilities } = selectionOf(invariant);
  const accepted = decision.sandboxes ?? [decision.grant.sandbox];
  if (sandboxes?.some((mode) => accepted.includes(mode)) === false) return false;
  return hasSelected(decision.grant.capabilities, capabilities);
}
