import { compileShape } from "../../config/shape.ts";
import { copyJson } from "../../json/copy.ts";
import type { JsonValue } from "../../json/value.ts";
import type { PolicySubject } from "../policy.ts";
import { compileRule } from "../rule/compiled-rule.ts";
import type { RulePolicyOptions } from "../rule/rule.ts";
import { ruleName } from "../rule/rule-flaws.ts";
import { concernedTools } from "../rule/rule-matcher.ts";
import { RuleBook } from "../rule/rule-policy.ts";
import { checkOptions } from "../rule/rule-shape.ts";
import type { Proof, ProofFailure } from "./invariant.ts";
import { INVARIANTS, type Invariant, invariantFlaws, invariantName, selectionOf } from "./invariant.ts";
import { groupAlike, type MinimalGrant, mayViolate, minimalGrants } from "./minimal-grants.ts";
import { WitnessSearch } from "./witness/witness-search.ts";

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
