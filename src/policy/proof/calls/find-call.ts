import type { PolicySubject } from "../../policy.ts";
import type { Match } from "../../rule/conditions/comparison.ts";
import { type Atom, atomsOf, evaluate, type Formula, type Variable } from "./call-space.ts";
import type { Assigned } from "./call-variables.ts";
import { DraftCall } from "./call-variables.ts";

/** What must hold for a call: that conditions have one of these answers, or that one of several constraints holds. */
export type Constraint =
  | { readonly formula: Formula; readonly answers: readonly Match[] }
  | { readonly either: readonly Constraint[] };

/** A call that was found, `none` if there is none, or `unknown` if it was not decided. */
export type Found<Call> = { readonly call: Call } | "none" | "unknown";

/** Maximum number of choices of one search, and of calls that are tried. */
const MAX_CHOICES = 20_000;
const MAX_TRIED = 200;

/**
 * Finds a call for which all constraints hold.
 *
 * @param attempt Makes a call of a draft, and returns it if it is as it should be: what is left out of the constraints, such as what
 * several places of an input have to do with each other, may keep it from that.
 */
export function findCall<Call>(
  tool: PolicySubject,
  constraints: readonly Constraint[],
  attempt: (draft: DraftCall) => Call | undefined,
): Found<Call> {
  const search = new Search(tool, constraints, attempt);
  const isExact = constraints.flatMap(allAtoms).every(isDecided);
  // Where conditions are not decided by values, each answer is possible: if no call is found then, there is none.
  if (!isExact && new Search(tool, constraints, () => true, false).run() === "none") return "none";
  const found = search.run();
  return isExact || found !== "none" ? found : "unknown";
}

function allAtoms(constraint: Constraint): readonly Atom[] {
  return "either" in constraint ? constraint.either.flatMap(allAtoms) : atomsOf(constraint.formula);
}

/** Whether the values of an atom's variables stand for all. */
function isDecided({ isOpaque, variables }: Atom): boolean {
  return isOpaque || variables.every(({ isWhole }) => isWhole);
}

class GivenUp extends Error {}

class Search<Call> {
  readonly #tool: PolicySubject;
  readonly #constraints: readonly Constraint[];
  readonly #attempt: (draft: DraftCall) => Call | undefined;
  /** Whether atoms that are not decided have the answers of the values that are known. */
  readonly #triesValues: boolean;
  readonly #assigned = new Map<Variable, number>();
  readonly #domains = new Map<Variable, readonly number[]>();
  readonly #atoms: readonly Atom[];
  #choices = 0;
  #tried = 0;

  constructor(
    tool: PolicySubject,
    constraints: readonly Constraint[],
    attempt: (draft: DraftCall) => Call | undefined,
    triesValues = true,
  ) {
    this.#tool = tool;
    this.#constraints = constraints;
    this.#attempt = attempt;
    this.#triesValues = triesValues;
    this.#atoms = [...new Set(constraints.flatMap(allAtoms))];
  }

  run(): Found<Call> {
    try {
      const call = this.#choose();
      if (call !== undefined) return { call };
      return this.#tried > 0 ? "unknown" : "none";
    } catch (error) {
      if (error instanceof GivenUp) return "unknown";
      throw error;
    }
  }

  #choose(): Call | undefined {
    if (++this.#choices > MAX_CHOICES) throw new GivenUp();
    let open: Constraint | undefined;
    for (const constraint of this.#constraints) {
      const holds = this.#holds(constraint);
      if (holds === false) return undefined;
      if (holds === undefined) open ??= constraint;
    }
    if (open === undefined) return this.#try();
    const variable = this.#openVariable(open);
    if (variable === undefined) return this.#try();
    for (const index of this.#domainOf(variable)) {
      this.#assigned.set(variable, index);
      const call = this.#choose();
      if (call !== undefined) return call;
    }
    this.#assigned.delete(variable);
    return undefined;
  }

  #try(): Call | undefined {
    if (++this.#tried > MAX_TRIED) throw new GivenUp();
    const draft = new DraftCall(this.#tool);
    for (const [variable, index] of this.#assigned) variable.put(draft, variable.values[index] as Assigned);
    return this.#attempt(draft);
  }

  #holds(constraint: Constraint): boolean | undefined {
    if ("either" in constraint) {
      const each = constraint.either.map((one) => this.#holds(one));
      if (each.includes(true)) return true;
      return each.includes(undefined) ? undefined : false;
    }
    const answer = evaluate(
      constraint.formula,
      (atom) => this.#answerOf(atom),
      (place) => this.#valueOf(place),
    );
    return answer === undefined ? undefined : constraint.answers.includes(answer);
  }

  #valueOf(variable: Variable): Assigned | undefined {
    const index = this.#assigned.get(variable);
    return index === undefined ? undefined : variable.values[index];
  }

  #isFree(atom: Atom): boolean {
    return atom.isOpaque || (!this.#triesValues && !isDecided(atom));
  }

  #answerOf(atom: Atom): Match | undefined {
    if (this.#isFree(atom)) return this.#valueOf(atom.answer) as Match | undefined;
    const indices: number[] = [];
    for (const variable of atom.variables) {
      const index = this.#assigned.get(variable);
      if (index === undefined) return undefined;
      indices.push(index);
    }
    return this.#answerAt(atom, indices);
  }

  #answerAt(atom: Atom, indices: readonly number[]): Match {
    const key = indices.join();
    let answer = atom.known.get(key);
    if (answer === undefined) {
      const draft = new DraftCall(this.#tool);
      for (const [at, variable] of atom.variables.entries())
        variable.put(draft, variable.values[indices[at] as number] as Assigned);
      answer = atom.test(draft.toCall());
      atom.known.set(key, answer);
    }
    return answer;
  }

  /** Returns a variable on which a constraint depends that is not decided. */
  #openVariable(constraint: Constraint): Variable | undefined {
    if ("either" in constraint) {
      return constraint.either
        .filter((one) => this.#holds(one) === undefined)
        .map((one) => this.#openVariable(one))
        .find((variable) => variable !== undefined);
    }
    return this.#openIn(constraint.formula);
  }

  #openIn(formula: Formula): Variable | undefined {
    if ("atom" in formula) {
      const { atom } = formula;
      const variables = this.#isFree(atom) ? [atom.answer] : atom.variables;
      return variables.find((variable) => !this.#assigned.has(variable));
    }
    if ("not" in formula)
      return this.#assigned.has(formula.place) ? this.#openIn(formula.not) : formula.place;
    for (const part of "all" in formula ? formula.all : formula.any) {
      const open = this.#openIn(part);
      if (open !== undefined) return open;
    }
    return undefined;
  }

  /** The values of a variable, of which one stands for all that lead to the same answers. */
  #domainOf(variable: Variable): readonly number[] {
    let domain = this.#domains.get(variable);
    if (domain === undefined) {
      domain = this.#distinct(variable);
      this.#domains.set(variable, domain);
    }
    return domain;
  }

  #distinct(variable: Variable): readonly number[] {
    const all = Array.from(variable.values, (_, index) => index);
    if (this.#atoms.some(({ answer }) => answer === variable)) return all;
    const atoms = this.#atoms.filter((atom) => !this.#isFree(atom) && atom.variables.includes(variable));
    if (atoms.some(({ variables }) => variables.length > 1)) return all;
    const found = new Map<string, number>();
    for (const index of all) {
      const isAbsent = typeof variable.values[index] === "symbol";
      const key = `${isAbsent} ${atoms.map((atom) => this.#answerAt(atom, [index])).join()}`;
      if (!found.has(key)) found.set(key, index);
    }
    return [...found.values()];
  }
}
