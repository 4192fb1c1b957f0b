import { parsePointer } from "../../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import { compileProgram } from "../../../patterns/automaton.ts";
import { textsOfEach } from "../../../patterns/find-text.ts";
import { MAX_PATTERN_LENGTH } from "../../../patterns/pattern.ts";
import { PatternError } from "../../../patterns/pattern-syntax.ts";
import type { Principal } from "../../../tool/principal.ts";
import type { CallHistory, LedgerQuery, LedgerTally, ValueSource } from "../../call-history.ts";
import { MAX_MATCHED_LENGTH } from "../../match/ambiguous-text.ts";
import type { PolicySubject } from "../../policy.ts";
import { textsOfEachKind } from "../../possible/possible-texts.ts";
import {
  accepts,
  canBe,
  fewValues,
  listedValues,
  numbersBetween,
  type PossibleValues,
  ROOTS,
  valuesAt,
  valuesOf,
  WEB_URL,
} from "../../possible/possible-values.ts";
import type { Match } from "../../rule/conditions/comparison.ts";
import { compileCondition, type MatchedCall } from "../../rule/conditions/condition.ts";
import { compileWindow } from "../../rule/conditions/time-window.ts";
import { unlessReferring } from "../../rule/conditions/value-reference.ts";
import type { HistoryCondition, RuleCondition, RuleMatch } from "../../rule/rule.ts";
import { RuleMatcher } from "../../rule/rule-matcher.ts";

/** There is no such value. */
export const ABSENT: unique symbol = Symbol("absent");

/** The values of a place in calls, or of something else that conditions depend on. */
export type Assigned = JsonValue | typeof ABSENT;

/** Values of one place in a call. */
export interface Domain {
  readonly values: readonly Assigned[];
  /** Whether every other value meets the same of the conditions as one of these. */
  readonly isWhole: boolean;
}

/** The values of a place in calls, of which one stands for all that meet the same conditions. */
export function domainOf(
  tool: PolicySubject,
  root: "input" | "principal" | "session",
  steps: readonly string[],
  conditions: readonly RuleCondition[],
  {
    more = [],
    isCompared = false,
  }: { readonly more?: readonly JsonValue[]; readonly isCompared?: boolean } = {},
): Domain {
  const schema = root === "input" ? tool.inputSchema : (ROOTS[root] as JsonObject);
  const values = placeIn(schema, steps, root === "input" && isUrl(tool, steps));
  const absent: readonly Assigned[] = isAlwaysThere(schema, steps) ? [] : [ABSENT];
  const few = fewValues(schema, values);
  if (few !== undefined) return { values: [...few, ...absent], isWhole: true };
  const constants = conditions.flatMap(constantsIn);
  const texts = values.flatMap((schemas) => {
    if (!canBe([schemas], "string")) return [];
    const first = textsOfEachKind(schemas, conditions);
    if (!isCompared || first === undefined) return [first];
    // Another one of each kind, if there is one, so that values of a kind can differ.
    return [first, textsOfEachKind(schemas, [...conditions, { oneOf: first }])];
  });
  const isBounded = values.some((schemas) =>
    schemas.some(({ pattern, format, minLength, maxLength }) =>
      [pattern, format, minLength, maxLength].some((each) => each !== undefined),
    ),
  );
  // Whether a longer text matches is unclear.
  const long = "a".repeat(MAX_MATCHED_LENGTH + 1);
  const tried: readonly JsonValue[] = [
    ...texts.flatMap((each) => each ?? []),
    ...more,
    ...constants,
    ...listedValues(values),
    ...numbersBetween(values, conditions.flatMap(boundsIn)),
    ...(isCompared ? numbersBetween(values, [...conditions.flatMap(boundsIn), 1, 2]) : []),
    null,
    true,
    false,
    [],
    {},
    ["a"],
    { a: "a" },
    long,
  ];
  const known = new Map(tried.map((value) => [JSON.stringify(value), value]));
  const possible = [...known.values()].filter((value) => accepts(schema, values, value));
  return {
    values: [...possible, ...absent],
    isWhole: texts.every((each) => each !== undefined) && !(isCompared && isBounded),
  };
}

function placeIn(schema: JsonObject, steps: readonly string[], isWebUrl: boolean): PossibleValues {
  const values = steps.reduce((each, step) => valuesAt(schema, each, step), valuesOf(schema));
  return isWebUrl ? values.map((schemas) => [...schemas, WEB_URL]) : values;
}

function isUrl({ access: { urls = [] } = {} }: PolicySubject, steps: readonly string[]): boolean {
  return urls.some(({ argument }) => {
    const own = parsePointer(argument);
    return own.length === steps.length && own.every((step, index) => step === steps[index]);
  });
}

/** Whether every value that the schema accepts has a member. */
function isAlwaysThere(schema: JsonObject, steps: readonly string[]): boolean {
  let values = valuesOf(schema);
  return steps.every((step) => {
    const isThere = values.every((schemas) =>
      schemas.some(
        ({ required }) => Array.isArray(required) && (required as readonly JsonValue[]).includes(step),
      ),
    );
    values = valuesAt(schema, values, step);
    return isThere;
  });
}

function leavesOf(condition: RuleCondition): readonly RuleCondition[] {
  if ("not" in condition) return leavesOf(condition.not);
  if ("all" in condition) return condition.all.flatMap(leavesOf);
  return "any" in condition ? condition.any.flatMap(leavesOf) : [condition];
}

function constantsIn(condition: RuleCondition): readonly JsonValue[] {
  return leavesOf(condition).flatMap((leaf): readonly JsonValue[] => {
    const constant = unlessReferring(leaf);
    if (constant === undefined) return "oneOf" in leaf && Array.isArray(leaf.oneOf) ? plain(leaf.oneOf) : [];
    if ("equals" in constant) return [constant.equals];
    return "oneOf" in constant ? constant.oneOf : [];
  });
}

function plain(values: readonly unknown[]): readonly JsonValue[] {
  return values.filter((value) => typeof value !== "object") as JsonValue[];
}

function boundsIn(condition: RuleCondition): readonly number[] {
  return [
    ...constantsIn(condition).filter((value) => typeof value === "number"),
    ...leavesOf(condition).flatMap((leaf) =>
      "range" in leaf ? Object.values(leaf.range).filter((bound) => typeof bound === "number") : [],
    ),
  ];
}

/** Whether a condition depends on what came before a call. */
export function dependsOnHistory(condition: RuleCondition): boolean {
  return leavesOf(condition).some((leaf) => "from" in leaf || "links" in leaf || "without" in leaf);
}

/** The references of a condition that are not equalities, which no domain decides. */
export function hasOtherReferences(condition: RuleCondition): boolean {
  return leavesOf(condition).some((leaf) => {
    if (unlessReferring(leaf) !== undefined) return false;
    return !("equals" in leaf) && !("oneOf" in leaf && Array.isArray(leaf.oneOf));
  });
}

const MINUTE_MS = 60_000;
/** More than a week in every zone, with a change of its time. */
const WEEK_MS = 8 * 24 * 60 * MINUTE_MS;

/** Returns the times around those at which rules end. */
export function timesOf(rules: readonly RuleMatch[]): readonly number[] {
  const ends = rules.flatMap(({ until }) => (until === undefined ? [] : [Date.parse(until)]));
  return [...new Set([Date.now(), ...ends.flatMap((end) => [end - 1, end])])];
}

/** Times of one week of which one stands for all at which the same rules match. */
export function weekTimes(rules: readonly RuleMatch[]): Domain {
  const windows = rules.flatMap(({ during }) => during ?? []);
  const tests = windows.map(compileWindow);
  const zones = new Set(windows.map(({ zone }) => zone));
  const start = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  const found = new Map<string, number>();
  for (let at = start; at < start + WEEK_MS; at += MINUTE_MS) {
    const key = tests.map((isIn) => (isIn(at) ? "1" : "0")).join("");
    if (!found.has(key)) found.set(key, at);
  }
  // Zones change their times on different days.
  return { values: [...found.values()], isWhole: zones.size <= 1 };
}

/** Returns words of a user that stand for all words. */
export function wordsOf(rules: readonly RuleMatch[]): Domain {
  const asked = [...new Set(rules.flatMap((rule) => rule.asked ?? []))];
  try {
    const programs = asked.map((regex) => compileProgram(regex, { ignoreCase: true }));
    const texts = textsOfEach(programs, () => true, MAX_PATTERN_LENGTH);
    return { values: [...(texts ?? ["", ...asked]), ABSENT], isWhole: texts !== undefined };
  } catch (error) {
    if (error instanceof PatternError) return { values: ["", ...asked, ABSENT], isWhole: false };
    throw error;
  }
}

export const SOMEONE_ID = "someone";
export const SOME_SESSION_ID = "session";

/** A sum above and a count of every bound that a policy can have. */
const MANY = 2 ** 53;
const MUCH = 10n ** 40n;

interface Put {
  readonly root: "input" | "principal" | "session";
  readonly steps: readonly string[];
  readonly value: Assigned;
}

/** A call that is put together. */
export class DraftCall {
  hasPrincipal = true;
  readonly roles: Set<string> = new Set();
  /** A time between the ends of rules, and one of a week: the call has the former if it can have both. */
  time: number | undefined;
  week: number | undefined;
  userText: string | undefined;
  readonly #tool: PolicySubject;
  readonly #puts: Put[] = [];
  readonly #sources: { readonly key: string; readonly condition: RuleCondition; readonly answer: Match }[] =
    [];
  readonly #earlier: { readonly condition: HistoryCondition; readonly answer: Match }[] = [];

  constructor(tool: PolicySubject) {
    this.#tool = tool;
  }

  put(root: Put["root"], steps: readonly string[], value: Assigned): void {
    this.#puts.push({ root, steps, value });
  }

  addSource(key: string, condition: RuleCondition, answer: Match): void {
    this.#sources.push({ key, condition, answer });
  }

  addEarlier(condition: HistoryCondition, answer: Match): void {
    this.#earlier.push({ condition, answer });
  }

  /** What is assumed of the time before the call. */
  get assumed(): readonly string[] {
    return [
      ...this.#sources.map(({ key, condition, answer }) => `${key} ${JSON.stringify(condition)}: ${answer}`),
      ...this.#earlier.map(({ condition, answer }) => `${JSON.stringify(condition)}: ${answer}`),
    ];
  }

  /** @param base The input to which the values are added. Default: there are no others. */
  toCall(base: JsonValue = {}): MatchedCall & { readonly principal: Principal | undefined } {
    const whole = { input: base, principal: this.#someone(), session: { id: SOME_SESSION_ID } as JsonValue };
    // A value within another one is put later.
    for (const { root, steps, value } of this.#puts.toSorted((a, b) => a.steps.length - b.steps.length)) {
      whole[root] = value === ABSENT ? without(whole[root], steps) : put(whole[root], steps, value);
    }
    const session = whole.session as JsonObject;
    const call = {
      input: whole.input,
      principal: this.hasPrincipal ? (whole.principal as unknown as Principal) : undefined,
      sessionId: typeof session["id"] === "string" ? session["id"] : SOME_SESSION_ID,
      tool: this.#tool,
      time: { now: this.week ?? this.time ?? Date.now() },
    };
    const history = this.#history(call);
    return history === undefined ? call : { ...call, history };
  }

  #someone(): JsonValue {
    const roles = [...this.roles];
    return { id: SOMEONE_ID, kind: "user", ...(roles.length > 0 && { roles }) };
  }

  #history(call: MatchedCall): CallHistory | undefined {
    if (this.userText === undefined && this.#sources.length + this.#earlier.length === 0) return undefined;
    const tallies = new Map<string, LedgerTally>();
    for (const { condition, answer } of this.#earlier) {
      for (const tally of TALLIES) {
        let key = "";
        const ledger = {
          tally: (query: LedgerQuery): LedgerTally => {
            key = query.key;
            return tally;
          },
        };
        const matcher = new RuleMatcher({ tools: ["*"], history: [condition] }, Date.now);
        if (matcher.match({ ...call, history: { ledger } }) === answer) {
          tallies.set(key, tally);
          break;
        }
      }
    }
    const isMet = (test: (condition: RuleCondition) => boolean): boolean | undefined => {
      const answers = this.#sources.filter(({ condition }) => test(condition)).map(({ answer }) => answer);
      if (answers.includes("yes")) return true;
      return answers.includes("unclear") ? undefined : false;
    };
    return {
      ...(this.userText !== undefined && { userText: this.userText }),
      ledger: { tally: ({ key }) => tallies.get(key) ?? (TALLIES[0] as LedgerTally) },
      provenance: {
        isFrom: (source: ValueSource, value) =>
          isMet(
            (condition) =>
              "from" in condition &&
              [condition.from].flat().some((each) => JSON.stringify(each) === JSON.stringify(source)) &&
              this.#hasValue(condition, value, call.input),
          ),
        isReferenceFrom: () => isMet((condition) => "links" in condition),
        holdsValueOf: () => {
          const isAbsent = isMet((condition) => "without" in condition);
          return isAbsent === undefined ? undefined : !isAbsent;
        },
      },
    };
  }

  /** Whether a condition is about a value of the call. */
  #hasValue(condition: RuleCondition, value: JsonValue, input: JsonValue): boolean {
    const { key = "" } = this.#sources.find((each) => each.condition === condition) ?? {};
    return compileCondition(key, { any: [{ equals: value }] })({ input, sessionId: "" }) !== "no";
  }
}

const TALLIES: readonly LedgerTally[] = [
  { count: 0, sum: 0n, isComplete: true },
  { count: MANY, sum: MUCH, isComplete: true },
  { count: 0, sum: 0n, isComplete: false },
];

/** Returns a value with another one at a path. Whatever is in the way is replaced. `*` is the only element of a list. */
export function put(
  value: JsonValue | undefined,
  [step, ...rest]: readonly string[],
  leaf: JsonValue,
): JsonValue {
  if (step === undefined) return leaf;
  if (step === "*") return [put(Array.isArray(value) ? value[0] : undefined, rest, leaf)];
  if (Array.isArray(value) && /^[0-9]$/.test(step)) {
    const items = [...(value as readonly JsonValue[])];
    const place = Math.min(Number(step), items.length);
    return items.toSpliced(place, 1, put(items[place], rest, leaf));
  }
  const members = isJsonObject(value ?? null) ? (value as JsonObject) : {};
  return { ...members, [step]: put(Object.hasOwn(members, step) ? members[step] : undefined, rest, leaf) };
}

/** Returns a value without what is at a path. */
function without(value: JsonValue, [step, ...rest]: readonly string[]): JsonValue {
  if (step === undefined) return value;
  if (step === "*") {
    if (!Array.isArray(value)) return value;
    return rest.length === 0 ? [] : value.map((item: JsonValue) => without(item, rest));
  }
  if (!isJsonObject(value) || !Object.hasOwn(value, step)) return value;
  const { [step]: member, ...others } = value;
  return rest.length === 0 || member === undefined ? others : { ...others, [step]: without(member, rest) };
}
