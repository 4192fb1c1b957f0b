import { DURATION_FORM, parseDuration } from "../../base/units.ts";
import type { Flaw } from "../../config/shape.ts";
import { isExactAmount } from "../history/amount.ts";
import type { HistoryCondition } from "../history/history-condition.ts";

/** Every member that some condition can have. */
type Member = keyof HistoryMembers;
interface HistoryMembers {
  readonly count?: unknown;
  readonly lessThan?: unknown;
  readonly atLeast?: unknown;
  readonly sum?: string;
  readonly of?: unknown;
  readonly atMost?: number;
  readonly moreThan?: number;
  readonly after?: unknown;
  readonly approved?: unknown;
  readonly within?: string | number;
  readonly in?: string;
  readonly by?: string;
}

/** The members that belong to each kind of condition; of `bounds`, one must be set. */
const KINDS = {
  count: { needed: [], bounds: ["lessThan", "atLeast"], others: [] },
  sum: { needed: ["of"], bounds: ["atMost", "moreThan"], others: [] },
  after: { needed: [], bounds: [], others: ["approved"] },
} as const satisfies Record<
  string,
  {
    readonly needed: readonly Member[];
    readonly bounds: readonly Member[];
    readonly others: readonly Member[];
  }
>;
const KIND_NAMES = ["count", "sum", "after"] as const;
const WINDOW: readonly Member[] = ["within", "in", "by"];

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
  const { needed, bounds, others } = KINDS[kind];
  const known: readonly string[] = [kind, ...needed, ...bounds, ...others, ...WINDOW];
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
    if (amount === undefined || isExactAmount(amount)) continue;
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
