import type { JsonValue } from "../../../json/value.ts";
import type { PolicySubject } from "../../policy.ts";
import { allOf, anyOf, type Match, not } from "../../rule/conditions/comparison.ts";
import { compileCondition, type MatchedCall, parseKey } from "../../rule/conditions/condition.ts";
import { referenceName, referencesOf } from "../../rule/conditions/value-reference.ts";
import type { HistoryCondition, RuleCondition, RuleConditions, RuleMatch } from "../../rule/rule.ts";
import { RuleMatcher } from "../../rule/rule-matcher.ts";
import type { DraftCall } from "./call-variables.ts";
import {
  ABSENT,
  type Assigned,
  dependsOnHistory,
  domainOf,
  hasOtherReferences,
  timesOf,
  weekTimes,
  wordsOf,
} from "./call-variables.ts";

/** Something on which decisions depend, and of which a call has one value. */
export interface Variable {
  readonly values: readonly Assigned[];
  /** Whether every other value leads to the same answers as one of these. */
  readonly isWhole: boolean;
  /** Gives a call a value. */
  readonly put: (draft: DraftCall, value: Assigned) => void;
}

/** A condition without parts. Its answer is that of the condition on a call, or a variable of its own. */
export interface Atom {
  readonly variables: readonly Variable[];
  readonly test: (call: MatchedCall) => Match;
  /** Stands for the answer where the variables do not decide it. */
  readonly answer: Variable;
  /** Whether only {@link Atom.answer} decides. */
  readonly isOpaque: boolean;
  readonly known: Map<string, Match>;
}

/** Whether a call meets conditions. `not` is unclear if the value at `place` is absent. */
export type Formula =
  | { readonly atom: Atom }
  | { readonly all: readonly Formula[] }
  | { readonly any: readonly Formula[] }
  | { readonly not: Formula; readonly place: Variable };

type Root = "input" | "principal" | "session";
const ANSWERS: readonly Match[] = ["yes", "no", "unclear"];

/** The calls of one tool, as far as the conditions of these rules tell them apart. */
export class CallSpace {
  readonly #tool: PolicySubject;
  readonly #rules: readonly RuleMatch[];
  readonly #conditions = new Map<string, RuleCondition[]>();
  readonly #linked = new Map<string, Set<string>>();
  readonly #more: ReadonlyMap<string, readonly JsonValue[]>;
  readonly #variables = new Map<string, Variable>();
  readonly #atoms = new Map<string, Atom>();
  readonly #formulas = new Map<RuleMatch, Formula>();

  /** @param more Further values of arguments, by the keys of `when`. */
  constructor(
    tool: PolicySubject,
    rules: readonly RuleMatch[],
    more: ReadonlyMap<string, readonly JsonValue[]> = new Map(),
  ) {
    this.#tool = tool;
    this.#rules = rules;
    this.#more = more;
    for (const { when = {}, principals, absent = [] } of rules) {
      this.#collect(when);
      for (const pattern of principals ?? []) this.#note("principal/id", { regex: namePattern(pattern) });
      for (const pointer of absent) this.#note(pointer, { oneOf: ["", [], {}] });
    }
  }

  /** What it takes for a rule to match a call of the tool. */
  formulaOf(rule: RuleMatch): Formula {
    return this.#known(this.#formulas, rule, () => this.#formula(rule));
  }

  #formula({ principals, roles, asked, absent, when = {}, history = [], until, during }: RuleMatch): Formula {
    const part = (key: string, variables: readonly Variable[], match: Partial<RuleMatch>): Formula => ({
      atom: this.#atom(key, variables, matcherOf(match)),
    });
    const principal = this.#presence();
    return {
      all: [
        ...(until === undefined ? [] : [part(`until ${until}`, [this.#time()], { until })]),
        ...(during === undefined
          ? []
          : [part(`during ${JSON.stringify(during)}`, [this.#week()], { during })]),
        ...(principals === undefined
          ? []
          : [
              part(`principals ${JSON.stringify(principals)}`, [principal, this.#place("principal/id")], {
                principals,
              }),
            ]),
        ...(roles === undefined
          ? []
          : [
              part(`roles ${JSON.stringify(roles)}`, [principal, ...roles.map((role) => this.#role(role))], {
                roles,
              }),
            ]),
        ...(asked === undefined ? [] : [part(`asked ${asked}`, [this.#words()], { asked })]),
        ...(absent ?? []).map((pointer) =>
          part(`absent ${pointer}`, [this.#place(pointer)], { absent: [pointer] }),
        ),
        this.conditionsOf(when),
        ...history.map((condition) => ({ atom: this.#historyAtom(condition) })),
      ],
    };
  }

  conditionsOf({ all = [], any, ...entries }: RuleConditions): Formula {
    return {
      all: [
        ...Object.entries(entries as { readonly [key: string]: RuleCondition }).map(([key, condition]) =>
          this.#condition(key, condition),
        ),
        ...all.map((nested) => this.conditionsOf(nested)),
        ...(any === undefined ? [] : [{ any: any.map((nested) => this.conditionsOf(nested)) }]),
      ],
    };
  }

  #condition(key: string, condition: RuleCondition): Formula {
    if ("not" in condition) return { not: this.#condition(key, condition.not), place: this.#place(key) };
    if ("all" in condition) return { all: condition.all.map((part) => this.#condition(key, part)) };
    if ("any" in condition) return { any: condition.any.map((part) => this.#condition(key, part)) };
    const places = [key, ...referencesOf(condition).map(({ reference }) => referenceName(reference))];
    const variables = places.flatMap((each) =>
      each.startsWith("principal/") ? [this.#presence(), this.#place(each)] : [this.#place(each)],
    );
    const name = `${key} ${JSON.stringify(condition)}`;
    const test = compileCondition(key, condition);
    if (!dependsOnHistory(condition)) return { atom: this.#atom(name, [...new Set(variables)], test) };
    const put = (draft: DraftCall, answer: Assigned): void =>
      draft.addSource(key, condition, answer as Match);
    return { atom: this.#opaque(name, put, test) };
  }

  #historyAtom(condition: HistoryCondition): Atom {
    const put = (draft: DraftCall, answer: Assigned): void => draft.addEarlier(condition, answer as Match);
    return this.#opaque(`history ${JSON.stringify(condition)}`, put, matcherOf({ history: [condition] }));
  }

  #opaque(name: string, put: Variable["put"], test: Atom["test"]): Atom {
    return this.#known(this.#atoms, name, () => ({
      variables: [],
      test,
      answer: { values: ANSWERS, isWhole: true, put },
      isOpaque: true,
      known: new Map(),
    }));
  }

  #atom(name: string, variables: readonly Variable[], test: Atom["test"]): Atom {
    return this.#known(this.#atoms, name, () => ({
      variables,
      test,
      answer: { values: ANSWERS, isWhole: true, put: () => {} },
      isOpaque: false,
      known: new Map(),
    }));
  }

  #place(key: string): Variable {
    return this.#known(this.#variables, key, () => {
      const { root, paths } = parseKey(key);
      const steps = paths.flatMap((path, index) => (index === 0 ? path : ["*", ...path]));
      const linked = [...this.#linkedWith(key)];
      const conditions = linked.flatMap((each) => this.#conditions.get(each) ?? []);
      const isCompared = linked.length > 1;
      const others = isCompared
        ? linked.flatMap((each) =>
            this.#ownDomain(each, conditions).values.filter((value) => value !== ABSENT),
          )
        : [];
      const more = [...(this.#more.get(key) ?? []), ...(others as readonly JsonValue[])];
      const { values, isWhole } = domainOf(this.#tool, root, steps, conditions, { more, isCompared });
      const inexact = conditions.some(hasOtherReferences) || linked.length > 2;
      const put = (draft: DraftCall, value: Assigned): void => draft.put(root, steps, value);
      return { values, isWhole: isWhole && !inexact, put };
    });
  }

  #ownDomain(key: string, conditions: readonly RuleCondition[]): { readonly values: readonly Assigned[] } {
    const { root, paths } = parseKey(key);
    const steps = paths.flatMap((path, index) => (index === 0 ? path : ["*", ...path]));
    return domainOf(this.#tool, root as Root, steps, conditions, { isCompared: true });
  }

  #presence(): Variable {
    return this.#known(this.#variables, "\0principal", () => ({
      values: [true, false],
      isWhole: true,
      put: (draft, value) => {
        draft.hasPrincipal = value === true;
      },
    }));
  }

  #role(name: string): Variable {
    return this.#known(this.#variables, `\0role ${name}`, () => ({
      values: [false, true],
      isWhole: true,
      put: (draft, value) => {
        if (value === true) draft.roles.add(name);
      },
    }));
  }

  #time(): Variable {
    return this.#known(this.#variables, "\0time", () => ({
      values: timesOf(this.#rules),
      isWhole: true,
      put: (draft, value) => {
        draft.time = value as number;
      },
    }));
  }

  #week(): Variable {
    return this.#known(this.#variables, "\0week", () => ({
      ...weekTimes(this.#rules),
      put: (draft, value) => {
        draft.week = value as number;
      },
    }));
  }

  #words(): Variable {
    return this.#known(this.#variables, "\0words", () => ({
      ...wordsOf(this.#rules),
      put: (draft, value) => {
        draft.userText = value === ABSENT ? undefined : (value as string);
      },
    }));
  }

  #known<Key, Value>(all: Map<Key, Value>, name: Key, create: () => Value): Value {
    let value = all.get(name);
    if (value === undefined) {
      value = create();
      all.set(name, value);
    }
    return value;
  }

  #collect({ all = [], any = [], ...entries }: RuleConditions): void {
    for (const [key, condition] of Object.entries(entries as { readonly [key: string]: RuleCondition })) {
      this.#note(key, condition);
      for (const { reference } of referencesOf(condition)) {
        const other = referenceName(reference);
        this.#note(other, condition);
        this.#link(key, other);
        this.#link(other, key);
      }
    }
    for (const nested of [...all, ...any]) this.#collect(nested);
  }

  #note(key: string, condition: RuleCondition): void {
    this.#known(this.#conditions, key, (): RuleCondition[] => []).push(condition);
  }

  #link(key: string, other: string): void {
    this.#known(this.#linked, key, () => new Set<string>()).add(other);
  }

  #linkedWith(key: string): ReadonlySet<string> {
    const found = new Set([key]);
    for (const each of found) for (const other of this.#linked.get(each) ?? []) found.add(other);
    return found;
  }
}

function matcherOf(match: Partial<RuleMatch>): (call: MatchedCall) => Match {
  const matcher = new RuleMatcher({ tools: ["*"], ...match }, Date.now);
  return (call) => matcher.match(call);
}

function namePattern(pattern: string): string {
  const escaped = pattern.replace(/\\([*\\])|\*|[^*\\]/gsu, (each, literal?: string) =>
    each === "*" ? "[^]*" : `\\u{${(literal ?? each).codePointAt(0)?.toString(16)}}`,
  );
  return `^${escaped}$`;
}

/** Returns every atom of a formula. */
export function atomsOf(formula: Formula): readonly Atom[] {
  if ("atom" in formula) return [formula.atom];
  if ("not" in formula) return atomsOf(formula.not);
  return ("all" in formula ? formula.all : formula.any).flatMap(atomsOf);
}

/** Evaluates a formula, of which some atoms may not be known; `undefined` if it depends on them. */
export function evaluate(
  formula: Formula,
  answerOf: (atom: Atom) => Match | undefined,
  valueOfPlace: (place: Variable) => Assigned | undefined,
): Match | undefined {
  if ("atom" in formula) return answerOf(formula.atom);
  if ("not" in formula) {
    const place = valueOfPlace(formula.place);
    if (place === undefined) return undefined;
    if (place === ABSENT) return "unclear";
    const answer = evaluate(formula.not, answerOf, valueOfPlace);
    return answer && not(answer);
  }
  const isAll = "all" in formula;
  const parts = (isAll ? formula.all : formula.any).map((part) => evaluate(part, answerOf, valueOfPlace));
  if (parts.includes(isAll ? "no" : "yes")) return isAll ? "no" : "yes";
  if (parts.includes(undefined)) return undefined;
  return (isAll ? allOf : anyOf)(parts as readonly Match[], (part) => part);
}
