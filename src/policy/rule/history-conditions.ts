import { DURATION_FORM, formatDuration, parseDuration } from "../../base/units.ts";
import type { Flaw } from "../../config/shape.ts";
import { escapePointer, lookUp, parsePointer } from "../../json/pointer.ts";
import {
  amountOf,
  isExactAmount,
  type LedgerQuery,
  type LedgerTally,
  type ValueReference,
} from "../call-history.ts";
import { compileNamePattern } from "../match/name-pattern.ts";
import { type Match, not, yesOrNo } from "./conditions/comparison.ts";
import type { CompiledCondition, MatchedCall } from "./conditions/condition.ts";
import { compileReference, isReference, referenceName } from "./conditions/value-reference.ts";
import type { AfterCondition, CountCondition, HistoryCondition, SumCondition } from "./rule.ts";

/** Every member that some condition can have. */
type Member = keyof HistoryMembers;

interface HistoryMembers {
  readonly count?: unknown;
  readonly lessThan?: unknown;
  readonly atLeast?: unknown;
  readonly sum?: string;
  readonly of?: unknown;
  readonly atMost?: unknown;
  readonly moreThan?: unknown;
  readonly after?: unknown;
  readonly approved?: unknown;
  readonly within?: string | number;
  readonly in?: string;
  readonly by?: string;
}

/** The members that belong to each kind of condition; of `bounds`, one must be set. */
const KINDS = {
  count: { needed: [], bounds: ["lessThan", "atLeast"], optional: [] },
  sum: { needed: ["of"], bounds: ["atMost", "moreThan"], optional: [] },
  after: { needed: [], bounds: [], optional: ["approved"] },
} as const satisfies Record<
  string,
  {
    readonly needed: readonly Member[];
    readonly bounds: readonly Member[];
    readonly optional: readonly Member[];
  }
>;

const KIND_NAMES = ["count", "sum", "after"] as const;

const WINDOW: readonly Member[] = ["within", "in", "by"];

/** Decides on a call by what a ledger says about the earlier ones. */
type TallyTest = (tally: LedgerTally, call: MatchedCall) => Match;

/**
 * Compiles a condition on earlier calls that was checked. It is unclear without a ledger; and if the ledger does not know
 * all calls of the window, unless those that it knows are enough to decide.
 */
export function compileHistory(condition: HistoryCondition): CompiledCondition {
  const query = compileQuery(condition);
  const test = compileTest(condition, query);
  return {
    subject: subjectOf(condition, query),
    test: (call) => {
      const ledger = call.history?.ledger;
      return ledger === undefined ? "unclear" : test(ledger.tally(query), call);
    },
  };
}

function compileTest(condition: HistoryCondition, query: LedgerQuery): TallyTest {
  if ("after" in condition) return (tally) => reaches(tally.count >= 1, tally);
  if ("sum" in condition) return compileSum(condition, query);
  const { lessThan, atLeast = lessThan as number } = condition;
  const boundOf = compileBound(atLeast);
  const test: TallyTest = (tally, call) => {
    const bound = boundOf(call);
    return bound === undefined ? "unclear" : reaches(tally.count >= bound, tally);
  };
  return lessThan === undefined ? test : (tally, call) => not(test(tally, call));
}

/** Returns the bound for a call: `undefined` if it is a reference, and not to a number. */
function compileBound(bound: number | ValueReference): (call: MatchedCall) => number | undefined {
  if (typeof bound === "number") return () => bound;
  const read = compileReference(bound);
  return (call) => {
    const [value] = read(call) ?? [];
    return typeof value === "number" ? value : undefined;
  };
}

/** The call itself may be what the sum is exceeded by. */
function compileSum(
  { sum, atMost, moreThan = atMost as number }: SumCondition,
  query: LedgerQuery,
): TallyTest {
  const path = parsePointer(sum);
  const boundOf = compileBound(moreThan);
  const constant = typeof moreThan === "number" ? amountOf(moreThan) : undefined;
  const test: TallyTest = (tally, call) => {
    const { input, tool } = call;
    const limit = constant ?? exactAmount(boundOf(call));
    if (tool === undefined || limit === undefined) return "unclear";
    const own = query.matchesTool(tool.name) ? amountOf(lookUp(input, path)) : 0n;
    // What is not a sum may be anything.
    if (own === undefined) return "unclear";
    return reaches(tally.sum + own > limit, tally);
  };
  return atMost === undefined ? test : (tally, call) => not(test(tally, call));
}

/** A bound is not rounded, since it would be too high. */
function exactAmount(bound: number | undefined): bigint | undefined {
  return bound !== undefined && isExactAmount(bound) ? amountOf(bound) : undefined;
}

/** Calls that are not known can only add to what is. */
function reaches(isReached: boolean, { isComplete }: LedgerTally): Match {
  return isReached || isComplete ? yesOrNo(isReached) : "unclear";
}

function compileQuery(condition: HistoryCondition): LedgerQuery {
  const { within, in: limits, by = "session" } = condition;
  const scope = limits ?? by;
  const withinMs = within === undefined ? Number.POSITIVE_INFINITY : (parseDuration(within) as number);
  const tools = toolsOf(condition);
  const patterns = tools.map(compileNamePattern);
  const only = "after" in condition ? (condition.approved ? "approved" : "done") : undefined;
  const amount = "sum" in condition ? canonicalPointer(condition.sum) : undefined;
  const key = JSON.stringify([withinMs, [...new Set(tools)].sort(), only ?? null, amount ?? null]);
  return Object.freeze({
    key,
    scope,
    withinMs,
    only,
    amount,
    matchesTool: (name: string) => patterns.some((pattern) => pattern.matches(name)),
  });
}

/** The patterns of the tools that a condition is about. */
export function toolsOf(condition: HistoryCondition): readonly string[] {
  if ("count" in condition) return (condition as CountCondition).count;
  return "sum" in condition ? condition.of : (condition as AfterCondition).after;
}

/** The member of a condition that has the patterns of {@link toolsOf}. */
export function toolsMemberOf(condition: HistoryCondition): "count" | "of" | "after" {
  if ("count" in condition) return "count";
  return "sum" in condition ? "of" : "after";
}

function canonicalPointer(pointer: string): string {
  return parsePointer(pointer)
    .map((step) => `/${escapePointer(step)}`)
    .join("");
}

function subjectOf(condition: HistoryCondition, { scope }: LedgerQuery): string {
  const { within } = condition;
  const time = typeof within === "number" ? formatDuration(within) : within;
  const bounds = Object.values(condition).filter((value) => isReference(value));
  const bound = bounds.map((each) => `, bound by ${referenceName(each)}`).join("");
  const where = `${time === undefined ? `in the ${scope}` : `within ${time} by ${scope}`}${bound}`;
  return `history (${kindOf(condition)} ${toolsOf(condition).join(", ")} ${where})`;
}

function kindOf(condition: HistoryCondition): string {
  if ("count" in condition) return "count of";
  if ("sum" in condition) return `sum of ${condition.sum} of`;
  return condition.approved ? "after approved" : "after";
}

/** Finds flaws of conditions on earlier calls that their shape does not cover. */
export function historyFlaws(
  path: readonly string[],
  conditions: readonly HistoryCondition[] = [],
): readonly Flaw[] {
  return conditions.flatMap((condition, index) =>
    flawsOf(condition as HistoryMembers).map((flaw) => ({
      ...flaw,
      path: [...path, String(index), ...flaw.path],
    })),
  );
}

function flawsOf(condition: HistoryMembers): readonly Flaw[] {
  const kinds = KIND_NAMES.filter((kind) => condition[kind] !== undefined);
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) return [whole(`must have exactly one of ${list(KIND_NAMES)}`)];
  const { needed, bounds, optional } = KINDS[kind];
  const known: readonly string[] = [kind, ...needed, ...bounds, ...optional, ...WINDOW];
  return [
    ...Object.keys(condition)
      .filter((name) => !known.includes(name))
      .map(
        (name): Flaw => ({ path: [name], at: "key", message: `a condition with '${kind}' cannot have this` }),
      ),
    ...needed.filter((name) => condition[name] === undefined).map((name) => whole(`'${name}' is missing`)),
    ...oneOf(condition, bounds),
    ...windowFlaws(condition),
    ...amountFlaws(condition),
  ];
}

function windowFlaws(condition: HistoryMembers): readonly Flaw[] {
  const { within, in: scope, by } = condition;
  const flaws = oneOf(condition, ["within", "in"]);
  if (within !== undefined && parseDuration(within) === undefined) {
    flaws.push(value("within", `must be ${DURATION_FORM}`));
  }
  if (scope !== undefined && by === "principal") {
    flaws.push(
      value("by", `calls in the ${scope} are those of the session: use 'within', or leave out 'by'`),
    );
  }
  return flaws;
}

function amountFlaws({ sum, atMost, moreThan }: HistoryMembers): readonly Flaw[] {
  const flaws: Flaw[] = [];
  if (sum?.split("/").includes("*")) {
    flaws.push(value("sum", "a sum takes one value of each call: '*' is not supported here"));
  }
  for (const [name, amount] of Object.entries({ atMost, moreThan })) {
    if (typeof amount !== "number" || isExactAmount(amount)) continue;
    flaws.push(value(name, "must have at most 12 decimals"));
  }
  return flaws;
}

function oneOf(condition: HistoryMembers, names: readonly Member[]): Flaw[] {
  const set = names.filter((name) => condition[name] !== undefined);
  return names.length === 0 || set.length === 1 ? [] : [whole(`must have exactly one of ${list(names)}`)];
}

function list(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(", ");
}

function whole(message: string): Flaw {
  return { path: [], at: "value", message };
}

function value(name: string, message: string): Flaw {
  return { path: [name], at: "value", message };
}
