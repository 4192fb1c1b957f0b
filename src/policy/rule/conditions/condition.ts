import { lookUp, MISSING, parsePointer, UNREACHABLE } from "../../../json/pointer.ts";
import { isJsonObject, type JsonValue } from "../../../json/value.ts";
import {
  type RowField,
  rowKeys,
  type ToolField,
  type ValueProvenance,
  type ValueReference,
  type ValueSource,
} from "../../call-history.ts";
import { overlaps, type SpelledInput, type Spellings } from "../../match/spellings.ts";
import type { PolicyRequest } from "../../policy.ts";
import { MAX_REFERENCE_TEXT, referencesIn } from "../../references.ts";
import type { ConstantCondition, ReferringCondition, RuleCondition, RuleConditions } from "../rule.ts";
import {
  allOf,
  anyOf,
  compareSpelled,
  compileComparison,
  eachOf,
  type Match,
  not,
  yesOrNo,
} from "./comparison.ts";
import {
  compileReference,
  referenceName,
  referencesOf,
  stepsOf as stepsOfReference,
  unlessReferring,
  withValues,
} from "./value-reference.ts";

/** A call with what came before it. */
type CallInSession = MatchedCall;

/** Decides whether a value meets a condition in a call. */
type ProvenanceTest = (value: JsonValue, call: CallInSession) => Match;

/** The parts of a request that conditions can depend on. */
export type MatchedCall = Pick<
  PolicyRequest,
  "input" | "principal" | "sessionId" | "workspace" | "history" | "paths" | "time"
> &
  Partial<Pick<PolicyRequest, "tool">> & {
    /** Other spellings of the declared paths and URLs in the input. Default: none. */
    readonly spelled?: Spellings | undefined;
  };

/** Decides whether a call meets a condition. */
export type CallTest = (call: MatchedCall) => Match;

/** One entry of a rule's `when`, compiled. */
export interface CompiledCondition {
  /** What it is about, for operators: `/path (glob)`. */
  readonly subject: string;
  readonly test: CallTest;
  /** Whether calls can meet it again that do not meet it now, because of the time. */
  readonly recurs?: true;
}

/** Compiles a rule's `when`. All conditions must be met. */
export function compileConditions({ all, any, ...entries }: RuleConditions): CompiledCondition[] {
  const compiled = Object.entries(entries as { readonly [key: string]: RuleCondition }).map(
    ([key, condition]): CompiledCondition => ({
      subject: `${key === "" ? "the input" : key} (${describe(condition)})`,
      test: compileCondition(key, condition),
    }),
  );
  for (const nested of all ?? []) compiled.push(...compileConditions(nested));
  if (any !== undefined) {
    const choices = any.map((nested) => compileConditions(nested).map(({ test }) => test));
    const test: CallTest = (call) => anyOf(choices, (tests) => allOf(tests, (each) => each(call)));
    compiled.push({ subject: "any", test });
  }
  return compiled;
}

/** Such as `glob`, or `equals principal/attributes/tenant`. */
function describe(condition: RuleCondition): string {
  const names = referencesOf(condition).map(({ reference }) => referenceName(reference));
  return [...Object.keys(condition), ...new Set(names)].join(" ");
}

/**
 * Compiles one condition on the value that a key of `when` names: see `RuleConditions`.
 *
 * A missing value does not match; whether it matches `not` is unclear. Whether a value matches is unclear
 * - if the pointer leads through a value that cannot have such a member, for example a string, or a list by
 *   name, or `*` stands for something other than a list;
 * - if only some of the elements that `*` stands for match;
 * - if the key names the principal, and the call has none;
 * - for `glob`, `prefix` and `regex`, if the value is not a string, or is longer than
 *   `MAX_MATCHED_LENGTH`, and for `glob` and `prefix` also if it is ambiguous (see `isAmbiguous`);
 * - for `range`, if it is not a number;
 * - if the condition refers to a value of the call that is unset or has another type: see `ReferringCondition`;
 * - for `from`, `links` and `without`, if the call has no history, or that no longer has what they depend on;
 * - for `equals`, `oneOf`, `glob`, `prefix` and `regex` on an argument that the tool declares as a path or URL, if the text
 *   and another spelling of it disagree: where the path leads, relative to the workspace or absolute, or the canonical URL.
 *
 * Other strings are compared as they are: it is safer to allow known values than to deny unwanted ones.
 *
 * @throws {SyntaxError} if a glob is invalid: see `compileGlob`.
 * @throws {PatternError} if a regular expression is invalid: see `compilePattern`.
 */
export function compileCondition(key: string, condition: RuleCondition): CallTest {
  const { root, paths } = parseKey(key);
  const test = compileTest(condition);
  const [path = [], ...others] = paths;
  const spelledFor = spelledAt(stepsOf(paths));
  if (root === "input" && others.length === 0) {
    return (call) => {
      const found = lookUp(call.input, path);
      const spelled = spelledFor(call);
      return test(found, call, typeof found === "symbol" ? undefined : lookUpSpelled(spelled, path));
    };
  }
  return (call) => {
    const value = rootValue(call, root);
    if (value === undefined) return test(UNREACHABLE, call);
    const spelled = root === "input" ? spelledFor(call) : undefined;
    return testElements(value, spelled, paths, (found, also) => test(found, call, also));
  };
}

type Root = "input" | "principal" | "session";

/** A key of `when`: what its pointer starts from, and the pointer, split at each `*`. */
export interface ConditionKey {
  readonly root: Root;
  readonly paths: readonly (readonly string[])[];
}

/** Parses a key of `when`. */
export function parseKey(key: string): ConditionKey {
  const [root = "", ...rest] = key.split("/");
  const paths: string[][] = [[]];
  for (const step of parsePointer(["", ...rest].join("/"))) {
    if (step === "*") paths.push([]);
    else paths.at(-1)?.push(step === "\\*" ? "*" : step);
  }
  return { root: root === "" ? "input" : (root as Root), paths };
}

/** Returns the steps to the arguments that conditions depend on, with `*` for every element. */
export function inputsOf({ all = [], any = [], ...entries }: RuleConditions): readonly (readonly string[])[] {
  const own = Object.entries(entries as { readonly [key: string]: RuleCondition }).flatMap(
    ([key, condition]) => {
      const { root, paths } = parseKey(key);
      const referred = referencesOf(condition).flatMap(({ reference }) =>
        "argument" in reference ? [stepsOfReference(reference)] : [],
      );
      return root === "input" ? [stepsOf(paths), ...referred] : referred;
    },
  );
  return [...own, ...all.flatMap(inputsOf), ...any.flatMap(inputsOf)];
}

function stepsOf(paths: ConditionKey["paths"]): readonly string[] {
  return paths.flatMap((path, index) => (index === 0 ? path : ["*", ...path]));
}

/** Returns what finds the other spellings of an input, if the tool declares what is at these steps as a path or URL. */
function spelledAt(steps: readonly string[]): (call: MatchedCall) => OtherSpellings {
  let last: Spellings["declared"] | undefined;
  let isDeclared = false;
  return ({ spelled }) => {
    if (spelled === undefined) return undefined;
    if (spelled.declared !== last) {
      last = spelled.declared;
      isDeclared = last.some((declared) => overlaps(declared, steps));
    }
    return isDeclared ? spelled.inputs : undefined;
  };
}

/** Reads nothing else of the call: see `RuleMatcher.matchCaller`. */
function rootValue(call: MatchedCall, root: Root): JsonValue | undefined {
  if (root === "input") return call.input;
  return root === "session" ? { id: call.sessionId } : (call.principal as JsonValue | undefined);
}

type Found = JsonValue | typeof MISSING | typeof UNREACHABLE;
/** The same value in other spellings of the input; `undefined` unless it is a declared path or URL. */
type OtherSpellings = readonly SpelledInput[] | undefined;
type ValueTest = (found: Found, call: MatchedCall, spelled?: OtherSpellings) => Match;
type LeafTest = (value: JsonValue, call: MatchedCall, spelled?: OtherSpellings) => Match;

function testElements(
  value: JsonValue,
  spelled: OtherSpellings,
  [path = [], ...deeper]: ConditionKey["paths"],
  test: (found: Found, spelled: OtherSpellings) => Match,
): Match {
  const found = lookUp(value, path);
  if (typeof found === "symbol") return test(found, undefined);
  const also = lookUpSpelled(spelled, path);
  if (deeper.length === 0) return test(found, also);
  if (!Array.isArray(found)) return test(UNREACHABLE, undefined);
  if (found.length === 0) return test(MISSING, undefined);
  const places = Array.from({ length: found.length }, (_, index) => index);
  return eachOf(places, (index) => {
    return testElements(found[index] as JsonValue, lookUpSpelled(also, [String(index)]), deeper, test);
  });
}

/** Spelled inputs have the same shape as the input. */
function lookUpSpelled(spelled: OtherSpellings, path: readonly string[]): OtherSpellings {
  return spelled?.map(({ relative, absolute }) => ({
    relative: lookUp(relative, path) as JsonValue,
    absolute: lookUp(absolute, path) as JsonValue,
  }));
}

function compileTest(condition: RuleCondition): ValueTest {
  if ("not" in condition) {
    const test = compileTest(condition.not);
    return (found, call, spelled) => (found === MISSING ? "unclear" : not(test(found, call, spelled)));
  }
  if ("all" in condition) {
    const tests = condition.all.map(compileTest);
    return (found, call, spelled) => allOf(tests, (test) => test(found, call, spelled));
  }
  if ("any" in condition) {
    const tests = condition.any.map(compileTest);
    return (found, call, spelled) => anyOf(tests, (test) => test(found, call, spelled));
  }
  const constant = unlessReferring(condition) as ConstantCondition | undefined;
  if (constant === undefined) return compileReferring(condition as ReferringCondition);
  const test = compileLeaf(constant);
  return (found, call, spelled) => {
    if (typeof found === "symbol") return found === MISSING ? "no" : "unclear";
    return test(found, call, spelled);
  };
}

/** Where a value has several spellings, the condition must come to the same with each. */
function compileReferring(condition: ReferringCondition): ValueTest {
  const references = referencesOf(condition).map(({ reference }) => reference);
  const read = references.map(compileReference);
  return (found, call, spelled) => {
    const all = read.map((each) => each(call));
    if (!all.every((values) => values !== undefined)) return "unclear";
    if (found === UNREACHABLE) return "unclear";
    const spellings = Array.from(
      { length: Math.max(...all.map(({ length }) => length)) },
      (_, index) => index,
    );
    return eachOf(spellings, (index) => {
      const values = all.map((each) => each[Math.min(index, each.length - 1)] as JsonValue);
      const resolve = (reference: ValueReference): JsonValue =>
        values[references.indexOf(reference)] as JsonValue;
      const constant = withValues(condition, resolve, found === MISSING ? undefined : found);
      if (constant === undefined) return "unclear";
      return found === MISSING ? "no" : compileLeaf(constant)(found, call, spelled);
    });
  };
}

function compileLeaf(condition: ConstantCondition): LeafTest {
  if ("from" in condition) return compileFrom(condition.from);
  if ("links" in condition) return compileLinks(condition.links.from);
  if ("without" in condition) return compileWithout(condition.without);
  if ("range" in condition) {
    const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = condition.range;
    return (value) => (typeof value === "number" ? yesOrNo(min <= value && value <= max) : "unclear");
  }
  const comparison = compileComparison(condition);
  return (value, _, spelled) => compareSpelled(comparison, value, spelled);
}

/**
 * Tests that a text or number came whole from one of these sources, or a list of them. Values of other types come from
 * nowhere; an empty list has no value that could.
 */
function compileFrom(from: readonly ValueSource[] | RowField): ProvenanceTest {
  const sources = [from].flat() as readonly ValueSource[];
  const rows = new Map(
    sources.flatMap((source) =>
      typeof source === "object" && "row" in source
        ? [
            [
              source,
              rowKeys(source).map((key) => compileReference(source.row[key] as ValueReference)),
            ] as const,
          ]
        : [],
    ),
  );
  const test = (value: JsonValue, call: CallInSession, known: KnownRows): Match => {
    if (Array.isArray(value)) return allOf(value as readonly JsonValue[], (each) => test(each, call, known));
    if (typeof value !== "string" && typeof value !== "number") return "no";
    return fromOneOf(sources, call, (provenance, source) =>
      provenance.isFrom(source, value, known?.get(source)),
    );
  };
  if (rows.size === 0) return (value, call) => test(value, call, undefined);
  return (value, call) => {
    const known = new Map<ValueSource, readonly (string | number)[]>();
    for (const [source, keys] of rows) {
      const values = keys.map((read) => read(call)?.[0]).filter(isPlain);
      if (values.length < keys.length) return "unclear";
      known.set(source, values);
    }
    return test(value, call, known);
  };
}

/** What the references of sources stand for; `undefined` if there are none. */
type KnownRows = ReadonlyMap<ValueSource, readonly (string | number)[]> | undefined;

function isPlain(value: JsonValue | undefined): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

/** Tests that each link, address and account number in the texts of a value came from one of these sources. */
function compileLinks(sources: readonly ValueSource[]): ProvenanceTest {
  return (value, call) =>
    allOf([...textsIn(value)], (text) => {
      if (text.length > MAX_REFERENCE_TEXT) return "unclear";
      return allOf([...referencesIn(text)], (reference) =>
        fromOneOf(sources, call, (provenance, source) => provenance.isReferenceFrom(source, reference)),
      );
    });
}

/** Tests that no text of a value contains a value of one of these fields. */
function compileWithout(fields: readonly ToolField[]): ProvenanceTest {
  return (value, { history }) => {
    const texts = [...textsIn(value)];
    return allOf(fields, (field) =>
      allOf(texts, (text) => {
        if (text.length > MAX_REFERENCE_TEXT) return "unclear";
        const isIn = history?.provenance?.holdsValueOf(field, text);
        return isIn === undefined ? "unclear" : yesOrNo(!isIn);
      }),
    );
  };
}

function fromOneOf(
  sources: readonly ValueSource[],
  { history }: CallInSession,
  ask: (provenance: ValueProvenance, source: ValueSource) => boolean | undefined,
): Match {
  const provenance = history?.provenance;
  if (provenance === undefined) return "unclear";
  return anyOf(sources, (source) => {
    const answer = ask(provenance, source);
    return answer === undefined ? "unclear" : yesOrNo(answer);
  });
}

/** Yields every text of a value, with the names of members, and its numbers as text. */
function* textsIn(value: JsonValue): Generator<string> {
  if (typeof value === "string") yield value;
  else if (typeof value === "number") yield String(value);
  else if (Array.isArray(value)) for (const each of value) yield* textsIn(each);
  else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      yield name;
      if (member !== undefined) yield* textsIn(member);
    }
  }
}
