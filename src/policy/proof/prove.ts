import type { PolicySubject } from "../policy.ts";
import { compileRule } from "../rule/compiled-rule.ts";
import { concernedTools } from "../rule/concerned-tools.ts";
import type { RulePolicyOptions } from "../rule/rule.ts";
import { RuleBook } from "../rule/rule-book.ts";
import { ruleName } from "../rule/rule-flaws.ts";
import { type Invariant, invariantName, selectionOf } from "./invariant.ts";
import { type MinimalGrant, mayViolate, minimalGrants } from "./minimal-grants.ts";
import type { Proof, ProofFailure } from "./proof.ts";
import { WitnessSearch } from "./witness/witness-search.ts";

/** The most failures that are examined and reported for one invariant. */
const MAX_FAILURES = 20;
/** The most tools whose calls are tried for one failure. */
const MAX_TRIED = 5;

/**
 * Decides which invariants hold for every call of the tools, whatever its arguments, principal, session and time are.
 *
 * @param options Valid, as `RulePolicy` accepts them.
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
  readonly #grants = new Map<PolicySubject, readonly MinimalGrant[]>();
  readonly #search: WitnessSearch;

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
      for (const grant of this.#grantsOf(tool)) {
        if (!mayViolate(grant, tool, invariant)) continue;
        const key = grant.rules.map(({ place }) => place).join(" ");
        const suspect = suspects.get(key) ?? { grant, tools: [] };
        suspects.set(key, suspect);
        suspect.tools.push(tool);
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

  #grantsOf(tool: PolicySubject): readonly MinimalGrant[] {
    let grants = this.#grants.get(tool);
    if (grants === undefined) {
      const { default: otherwise = "deny" } = this.#options;
      grants = minimalGrants(this.#rules.find(tool), tool, otherwise === "deny" ? undefined : otherwise);
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
