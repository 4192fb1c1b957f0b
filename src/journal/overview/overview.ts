import type { CallIndex, Fineness } from "./call-index.ts";
import { addCounters, type Counters, type CountKind, OTHERS, partsOf, quantile } from "./call-index.ts";

/** A range of time that ends now. */
export type OverviewRange = "hour" | "day" | "week" | "month";

/** Every {@link OverviewRange}. */
export const OVERVIEW_RANGES: readonly OverviewRange[] = ["hour", "day", "week", "month"];

/** What is asked for. */
export interface OverviewQuery {
  readonly range: OverviewRange;
  /** Only calls of principals for which it returns true; `undefined` stands for calls without a principal. */
  readonly isVisible: (principal: string | undefined) => boolean;
  /** The end of the range, in milliseconds since the epoch. */
  readonly now: number;
}

/** What a journal has of a range of time, in numbers. Names are those of the records, and can be any text. */
export interface JournalOverview {
  /** The times of the first and the last step, in milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  readonly stepMs: number;
  /** Whether all records of the range were counted. If not, they are being read. */
  readonly isComplete: boolean;
  readonly steps: readonly OverviewCounts[];
  readonly total: OverviewCounts & {
    /** The sessions that made a first call. */
    readonly sessions: number;
  };
  /** The tools with the most calls. */
  readonly tools: readonly OverviewTool[];
  /** The rules with the most denials; `""` is no rule. */
  readonly rules: readonly (OverviewNamed & { readonly denied: number })[];
  readonly sandboxes: readonly OverviewSandbox[];
  readonly approvers: readonly OverviewApprover[];
  /** The limits that calls reached. */
  readonly limits: readonly (OverviewNamed & { readonly calls: number })[];
}

/** Something that is counted by name. */
export interface OverviewNamed {
  /** Absent for all names beyond the most that are counted. */
  readonly name?: string;
}

/** Numbers of calls. A call is counted when it begins, and a failed one when it ends. */
export interface OverviewCounts {
  readonly calls: number;
  readonly denied: number;
  readonly failed: number;
  /** The calls about which a person was asked. */
  readonly asked: number;
}

/** The calls of a tool. */
export type OverviewTool = OverviewNamed & Omit<OverviewCounts, "asked">;

/** How long calls in a sandbox took, in milliseconds. */
export interface OverviewSandbox extends OverviewNamed {
  readonly calls: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

/** What a person answered. */
export interface OverviewApprover extends OverviewNamed {
  readonly allowed: number;
  readonly denied: number;
  /** How many of those allowed were allowed within 2 s, before anybody can have read them. */
  readonly quick: number;
  /** Milliseconds from a question to its answer. Absent if they are not known. */
  readonly p50Ms?: number;
  readonly p95Ms?: number;
}

/** Maximum number of names of a list. */
const MAX_LISTED = 20;

const RANGES: Readonly<Record<OverviewRange, { fineness: Fineness; stepMs: number; steps: number }>> = {
  hour: { fineness: "minute", stepMs: 60_000, steps: 60 },
  day: { fineness: "quarter", stepMs: 900_000, steps: 96 },
  week: { fineness: "hour", stepMs: 7_200_000, steps: 84 },
  month: { fineness: "hour", stepMs: 28_800_000, steps: 90 },
};

/** Adds up what was counted in a range. */
export function overviewOf(
  index: CallIndex,
  { range, isVisible, now }: OverviewQuery,
  isComplete: boolean,
): JournalOverview {
  const { fineness, stepMs, steps: count } = RANGES[range];
  const to = Math.floor(now / stepMs) * stepMs;
  const from = to - (count - 1) * stepMs;
  const steps: Counters[] = Array.from({ length: count }, () => new Map());
  const total: Counters = new Map();
  const sees = (principal: string): boolean => isVisible(principal === "" ? undefined : principal);
  for (const [at, counters] of index.series[fineness].read(from, sees)) {
    // A clock that was set back has records in the future.
    const step = steps[Math.floor((at - from) / stepMs)];
    if (step === undefined) break;
    addCounters(step, counters);
    addCounters(total, counters);
  }
  const names = new NamedCounters(total);
  return {
    from,
    to,
    stepMs,
    isComplete,
    steps: steps.map(countsOf),
    total: { ...countsOf(total), sessions: total.get("session") ?? 0 },
    tools: names.top("tool").map(([name, calls]) => ({
      ...named(name),
      calls,
      denied: names.of("tool-denied", name),
      failed: names.of("tool-failed", name),
    })),
    rules: names.top("rule").map(([name, denied]) => ({ ...named(name), denied })),
    limits: names.top("limit").map(([name, calls]) => ({ ...named(name), calls })),
    sandboxes: names.durations("sandbox-ms").map(([name, counts]) => ({
      ...named(name),
      calls: sumOf(counts),
      p50Ms: quantile(counts, 0.5),
      p95Ms: quantile(counts, 0.95),
    })),
    approvers: approversIn(names),
  };
}

function approversIn(names: NamedCounters): readonly OverviewApprover[] {
  const times = new Map(names.durations("answer-ms"));
  const people = new Set([...names.top("allowed-by"), ...names.top("denied-by")].map(([name]) => name));
  return [...people].slice(0, MAX_LISTED).map((name) => {
    const counts = times.get(name);
    return {
      ...named(name),
      allowed: names.of("allowed-by", name),
      denied: names.of("denied-by", name),
      quick: names.of("quick-by", name),
      ...(counts && { p50Ms: quantile(counts, 0.5), p95Ms: quantile(counts, 0.95) }),
    };
  });
}

function named(name: string): OverviewNamed {
  return name === OTHERS ? {} : { name };
}

function countsOf(counters: Counters): OverviewCounts {
  const [calls = 0, denied = 0, failed = 0, asked = 0] = (["call", "denied", "failed", "asked"] as const).map(
    (kind) => counters.get(kind) ?? 0,
  );
  return { calls, denied, failed, asked };
}

function sumOf(counts: ReadonlyMap<number, number>): number {
  let sum = 0;
  for (const count of counts.values()) sum += count;
  return sum;
}

/** Counters by their kinds and names. */
class NamedCounters {
  readonly #kinds = new Map<CountKind, Map<string, number>>();

  constructor(counters: Counters) {
    for (const [key, count] of counters) {
      const [kind, name] = partsOf(key);
      const names = this.#kinds.get(kind);
      if (names === undefined) this.#kinds.set(kind, new Map([[name, count]]));
      else names.set(name, count);
    }
  }

  of(kind: CountKind, name: string): number {
    return this.#kinds.get(kind)?.get(name) ?? 0;
  }

  /** The names with the highest counts, and {@link OTHERS} last. */
  top(kind: CountKind): readonly (readonly [name: string, count: number])[] {
    const names = [...(this.#kinds.get(kind) ?? [])];
    const rank = ([name, count]: readonly [string, number]): number => (name === OTHERS ? -1 : count);
    return names.sort((one, other) => rank(other) - rank(one)).slice(0, MAX_LISTED);
  }

  /** The durations that were counted by name, as counts of their classes. */
  durations(kind: "sandbox-ms" | "answer-ms"): readonly (readonly [string, ReadonlyMap<number, number>])[] {
    const names = new Map<string, Map<number, number>>();
    for (const [key, count] of this.#kinds.get(kind) ?? []) {
      const at = key.lastIndexOf(" ");
      const name = key.slice(0, at);
      const counts = names.get(name) ?? new Map<number, number>();
      names.set(name, counts.set(Number(key.slice(at + 1)), count));
    }
    return [...names].sort(([, one], [, other]) => sumOf(other) - sumOf(one));
  }
}
