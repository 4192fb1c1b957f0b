import { compileShape } from "../../config/shape.ts";
import { copyJson } from "../../json/copy.ts";
import type { JsonValue } from "../../json/value.ts";
import type { PolicySubject } from "../policy.ts";
import { type CompiledRule, compileRule } from "../rule/combine-rules.ts";
import { CONDITION_DEFINITIONS } from "../rule/conditions/condition-shape.ts";
import {
  isConditional,
  type PolicyRule,
  type RuleConditions,
  type RulePolicyOptions,
  usedBy,
} from "../rule/rule.ts";
import { ruleName } from "../rule/rule-flaws.ts";
import { concernedTools } from "../rule/rule-matcher.ts";
import { RuleBook } from "../rule/rule-policy.ts";
import { checkOptions } from "../rule/rule-shape.ts";
import { CallSpace } from "./calls/call-space.ts";
import { type Constraint, type Found, findCall } from "./calls/find-call.ts";
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
import { groupAlike, type MinimalGrant, mayViolate, minimalGrants } from "./minimal-grants.ts";
import { templateRequirements, WitnessSearch } from "./witness-search.ts";

/** Maximum number of failures that are examined and reported for one invariant. */
const MAX_FAILURES = 20;
/** The most that is looked at for all invariants together, in rules that a call must not meet. */
const MAX_WORK = 1_000_000;
/**
 * Maximum number of comparisons of an invariant with what rules grant to a tool, for all invariants together.
 */
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
  const prover = new Prover(options, invariants);
  return invariants.map((invariant, index) =>
    prover.prove(invariant, invariantName(invariant, index), tools),
  );
}

class Prover {
  readonly #options: RulePolicyOptions;
  readonly #rules: RuleBook;
  readonly #places: ReadonlyMap<CompiledRule, number>;
  /** Grouped by {@link groupAlike}. */
  readonly #grants = new Map<PolicySubject, readonly (readonly MinimalGrant[])[]>();
  readonly #search: WitnessSearch;
  readonly #selections: readonly RuleConditions[];
  readonly #spaces = new Map<PolicySubject, CallSpace>();
  readonly #others = new Map<
    PolicySubject,
    {
      readonly invariant: Invariant;
      readonly isDefault: boolean;
      readonly constraints: readonly (readonly [place: number, constraint: Constraint])[];
    }
  >();
  #compared = 0;
  #work = 0;

  constructor(options: RulePolicyOptions, invariants: readonly Invariant[]) {
    this.#options = options;
    this.#selections = invariants.flatMap((invariant) => selectionOf(invariant).when ?? []);
    const compiled = options.rules.map((rule, index) =>
      compileRule(rule, ruleName(rule, index), index, Date.now),
    );
    this.#places = new Map(compiled.map((rule, index) => [rule, index]));
    this.#rules = new RuleBook(compiled);
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
    const failures: ProofFailure[] = [];
    let examined = 0;
    for (const suspect of [...suspects.values()].sort(byPlace)) {
      if (failures.length === MAX_FAILURES || this.#work > MAX_WORK) break;
      examined++;
      const failure = this.#examine(suspect, invariant);
      if (failure !== undefined) failures.push(failure);
    }
    const furtherFailures = suspects.size - examined;
    const isBroken = failures.some(({ witness }) => witness !== undefined);
    return {
      invariant,
      name,
      verdict: isBroken ? "broken" : failures.length + furtherFailures > 0 ? "undecided" : "proved",
      tools: selected.map((tool) => tool.name),
      failures,
      furtherFailures,
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

  /** Returns `undefined` if no call violates the invariant by what the rules grant. */
  #examine({ grant, tools }: Suspect, invariant: Invariant): ProofFailure | undefined {
    const place = grant.rules[0]?.place;
    const open: PolicySubject[] = [];
    for (const tool of tools) {
      const found = this.#findCall(grant, tool, invariant);
      if (found === "none") continue;
      open.push(tool);
      const witness = found === "unknown" ? this.#search.find(grant, tool, invariant) : found.call;
      if (witness !== undefined) return { ...describe(grant, tools, place), witness };
    }
    return open.length === 0 ? undefined : describe(grant, open, place);
  }

  /** Looks for a call that gets what the rules grant, and that no other rule denies, asks about or keeps from violating the invariant. */
  #findCall(grant: MinimalGrant, tool: PolicySubject, invariant: Invariant): Found<Witness> {
    const space = this.#spaceOf(tool);
    const { when } = selectionOf(invariant);
    const granting = grant.rules.filter(({ place }) => this.#isConditional(place));
    const constraints: Constraint[] = granting.map(({ place }) => ({
      formula: space.formulaOf(this.#ruleAt(place)),
      answers: ["yes"],
    }));
    if (when !== undefined) constraints.push({ formula: space.conditionsOf(when), answers: ["yes"] });
    const isDefault = grant.rules.length === 0;
    const others = this.#othersFor(tool, invariant, isDefault);
    for (const [place, constraint] of others)
      if (!grant.rules.some((rule) => rule.place === place)) constraints.push(constraint);
    this.#work += constraints.length;
    const found = findCall(tool, constraints, (draft) => this.#search.attempt(draft, grant, tool, invariant));
    // Another spelling of a path can keep a rule from granting, so that the default applies.
    return found === "none" && isDefault && tool.access !== undefined && others.length > 0
      ? "unknown"
      : found;
  }

  /** What rules must not do, so that a call can violate an invariant, with their places. */
  #othersFor(
    tool: PolicySubject,
    invariant: Invariant,
    isDefault: boolean,
  ): readonly (readonly [place: number, constraint: Constraint])[] {
    const known = this.#others.get(tool);
    if (known?.invariant === invariant && known.isDefault === isDefault) return known.constraints;
    const space = this.#spaceOf(tool);
    const constraints = this.#rules.find(tool).flatMap((compiled): [number, Constraint][] => {
      if (!compiled.matcher.concerns(tool) || !compiled.matcher.isConditional) return [];
      const place = this.#places.get(compiled) as number;
      const isMeant = keepsFrom(compiled, tool, invariant);
      const grants = compiled.kind === "permission" && compiled.whenMatched.use !== undefined;
      if (!isMeant && !(isDefault && grants)) return [];
      const formula = space.formulaOf(this.#ruleAt(place));
      return [[place, { formula, answers: isMeant ? ["no"] : ["no", "unclear"] }]];
    });
    this.#others.set(tool, { invariant, isDefault, constraints });
    return constraints;
  }

  #ruleAt(place: number): PolicyRule {
    return this.#options.rules[place] as PolicyRule;
  }

  #isConditional(place: number): boolean {
    return isConditional(this.#ruleAt(place));
  }

  #spaceOf(tool: PolicySubject): CallSpace {
    let space = this.#spaces.get(tool);
    if (space === undefined) {
      const rules = this.#rules
        .find(tool)
        .map((compiled) => this.#options.rules[this.#places.get(compiled) as number] as PolicyRule);
      const uses = rules.flatMap((rule) => usedBy(rule) ?? []);
      const more = new Map(uses.flatMap(templateRequirements).map(({ key, values }) => [key, values]));
      space = new CallSpace(tool, [...rules, ...this.#selections.map((when) => ({ when }))], more);
      this.#spaces.set(tool, space);
    }
    return space;
  }
}

/** Whether no call to which a rule applies can violate an invariant. */
function keepsFrom(rule: CompiledRule, tool: PolicySubject, invariant: Invariant): boolean {
  if (rule.kind === "denial") return true;
  const { use, question } = rule.whenMatched;
  if (question !== undefined && "always" in invariant) return true;
  return (
    use !== undefined &&
    !mayViolate({ rules: [], uses: [use], isAsked: false, common: undefined }, tool, invariant)
  );
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
  const flaws = compileShape({ ...INVARIANTS, $defs: CONDITION_DEFINITIONS })(copy as JsonValue);
  const stated = copy as unknown as readonly Invariant[];
  const all = flaws.length > 0 ? flaws : invariantFlaws(stated);
  if (all.length > 0)
    throw new TypeError(all.map(({ path, message }) => `/${path.join("/")} ${message}`).join("; "));
  return prove(checked, stated, tools);
}
