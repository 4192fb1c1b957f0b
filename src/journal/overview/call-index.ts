import { isJsonObject } from "../../json/value.ts";
import { type CallNames, namesIn } from "../line/call-parts.ts";
import type { JournalEntry } from "../line/entry.ts";
import {
  answerIn,
  isQuick,
  limitIn,
  outcomeIn,
  principalIn,
  rulesIn,
  sandboxIn,
} from "../read/record-members.ts";

/** The number of classes in which a duration doubles: a class is 9 % wide. */
const PER_DOUBLING = 8;

/** The shortest duration that has a class of its own, in milliseconds. */
const SHORTEST_MS = 0.1;

/** What is counted of calls, by a name where there is one, such as that of a tool. */
export type CountKind =
  | "call"
  | "denied"
  | "failed"
  | "asked"
  | "session"
  | "tool"
  | "tool-denied"
  | "tool-failed"
  | "rule"
  | "limit"
  | "allowed-by"
  | "denied-by"
  | "quick-by"
  | "answer-ms"
  | "sandbox-ms";

/** Stands for all names beyond the most that are counted. */
export const OTHERS = "\u0000";

/** Counters by kind and name, which a principal's calls share: `kind` or `kind name`. */
export type Counters = Map<string, number>;

/** Returns the key of a counter. */
export function keyOf(kind: CountKind, name = ""): string {
  return name === "" ? kind : `${kind} ${name}`;
}

/** Returns the kind and the name of a key. Names may have spaces, kinds have none. */
export function partsOf(key: string): readonly [kind: CountKind, name: string] {
  const at = key.indexOf(" ");
  return at < 0 ? [key as CountKind, ""] : [key.slice(0, at) as CountKind, key.slice(at + 1)];
}

/** Adds counters to further ones. */
export function addCounters(to: Counters, from: Counters): void {
  for (const [key, count] of from) to.set(key, (to.get(key) ?? 0) + count);
}

/** Returns the number of the class of a duration, so that durations can be counted and added up. */
export function durationClass(ms: number): number {
  return ms <= SHORTEST_MS ? 0 : Math.ceil(Math.log2(ms / SHORTEST_MS) * PER_DOUBLING);
}

/**
 * Returns the duration below which a share of those counted is, in milliseconds, to 5 %.
 *
 * @param counts How many there are, by their classes. Not empty.
 * @param share From 0 to 1.
 */
export function quantile(counts: ReadonlyMap<number, number>, share: number): number {
  let total = 0;
  for (const count of counts.values()) total += count;
  let [left, found] = [Math.max(1, Math.ceil(total * share)), 0];
  for (const [number, count] of [...counts].sort(([one], [other]) => one - other)) {
    found = number;
    left -= count;
    if (left <= 0) break;
  }
  return SHORTEST_MS * 2 ** (Math.max(0, found - 0.5) / PER_DOUBLING);
}

/**
 * Maximum number of counters of a series, because a hostile model makes up names: further names are counted
 * under {@link OTHERS}.
 */
const MAX_COUNTERS = 200_000;

/** The counters of a step of time, by the id of the principal whose calls they count; `""` for calls without one. */
interface Step {
  readonly at: number;
  readonly counters: Map<string, Counters>;
}

/** A time series as it is stored. */
type StoredSeries = readonly (readonly [
  at: number,
  counters: readonly (readonly [string, readonly (readonly [string, number])[]])[],
])[];

/** Counts calls by steps of time, for the latest steps. */
export class TimeSeries {
  readonly stepMs: number;
  readonly #retainedMs: number;
  /** By time, the earliest first. */
  #steps: Step[] = [];
  #size = 0;

  /** @param retainedMs How long steps are retained: a multiple of `stepMs`. */
  constructor(stepMs: number, retainedMs: number) {
    this.stepMs = stepMs;
    this.#retainedMs = retainedMs;
  }

  /** Counts something at a time that is not before that of an earlier call. */
  add(at: number, principal: string, keys: readonly string[]): void {
    const step = this.#stepAt(at);
    const isFull = this.#size >= MAX_COUNTERS;
    let counters = step.counters.get(principal);
    if (counters === undefined) {
      const known = isFull ? OTHERS : principal;
      counters = step.counters.get(known) ?? new Map();
      step.counters.set(known, counters);
    }
    for (const key of keys) {
      const known = isFull && !counters.has(key) ? othersOf(key) : key;
      const before = counters.get(known) ?? 0;
      if (before === 0) this.#size++;
      counters.set(known, before + 1);
    }
  }

  /**
   * Adds up the counters of the principals that are visible, by steps.
   *
   * @param from The time of the first step, in milliseconds since the epoch: a multiple of `stepMs`.
   * @param isVisible Is asked about {@link OTHERS}, too.
   */
  *read(
    from: number,
    isVisible: (principal: string) => boolean,
  ): Generator<[at: number, counters: Counters]> {
    for (const { at, counters } of this.#steps) {
      if (at < from) continue;
      const sum: Counters = new Map();
      for (const [principal, own] of counters) if (isVisible(principal)) addCounters(sum, own);
      yield [at, sum];
    }
  }

  store(): StoredSeries {
    return this.#steps.map(({ at, counters }) => [
      at,
      [...counters].map(([principal, own]) => [principal, [...own]] as const),
    ]);
  }

  restore(stored: StoredSeries): void {
    this.#steps = stored.map(([at, counters]) => ({
      at,
      counters: new Map(counters.map(([principal, own]) => [principal, new Map(own)])),
    }));
    this.#size = 0;
    for (const step of this.#steps) this.#size += sizeOf(step);
  }

  #stepAt(time: number): Step {
    const at = Math.floor(time / this.stepMs) * this.stepMs;
    const last = this.#steps.at(-1);
    if (last !== undefined && last.at >= at) return last;
    const step = { at, counters: new Map() };
    this.#steps.push(step);
    const firstRetained = this.#steps.findIndex((each) => each.at > at - this.#retainedMs);
    for (const old of this.#steps.splice(0, firstRetained)) this.#size -= sizeOf(old);
    return step;
  }
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** How far back calls are counted. */
export const COUNTED_MS: number = 31 * DAY_MS;

/** Maximum number of sessions, and of calls that run, that are remembered. */
const MAX_REMEMBERED = 10_000;

/** The finest steps of time in which calls of a range are counted. */
export type Fineness = "minute" | "quarter" | "hour";

/** The counters of a journal as they are stored. */
export interface StoredIndex {
  readonly series: Readonly<Record<Fineness, StoredSeries>>;
  readonly sessions: readonly string[];
  readonly sandboxes: readonly (readonly [string, string])[];
}

/** Counts the calls of a journal by time. */
export class CallIndex {
  readonly series: Readonly<Record<Fineness, TimeSeries>> = {
    minute: new TimeSeries(MINUTE_MS, 2 * HOUR_MS),
    quarter: new TimeSeries(15 * MINUTE_MS, 2 * DAY_MS),
    hour: new TimeSeries(HOUR_MS, COUNTED_MS),
  };
  /** The sessions that were seen last. */
  readonly #sessions = new Map<string, true>();
  /** The sandboxes of the calls that run. */
  readonly #sandboxes = new Map<string, string>();

  /** Counts a record. Records come in the order of the journal. Records can be forged: members can have any type. */
  take(entry: JournalEntry): void {
    const keys = this.#keysOf(entry);
    if (keys.length === 0) return;
    const principal = principalIn(entry) ?? "";
    for (const series of Object.values(this.series)) series.add(entry.at, principal, keys);
  }

  store(): StoredIndex {
    const { minute, quarter, hour } = this.series;
    return {
      series: { minute: minute.store(), quarter: quarter.store(), hour: hour.store() },
      sessions: [...this.#sessions.keys()],
      sandboxes: [...this.#sandboxes],
    };
  }

  restore({ series, sessions, sandboxes }: StoredIndex): void {
    for (const fineness of Object.keys(this.series) as Fineness[])
      this.series[fineness].restore(series[fineness]);
    for (const session of sessions) this.#sessions.set(session, true);
    for (const [call, sandbox] of sandboxes) this.#sandboxes.set(call, sandbox);
  }

  #keysOf(entry: JournalEntry): readonly string[] {
    switch (entry.type) {
      case "tool.call.dispatched":
      case "tool.call.denied":
        return this.#keysOfBegin(entry);
      case "tool.call.ended":
        return this.#keysOfEnd(entry);
      default:
        return [];
    }
  }

  #keysOfBegin(entry: JournalEntry): readonly string[] {
    const names = namesIn(entry);
    const { session, tool } = names;
    const keys = [keyOf("call"), keyOf("tool", tool)];
    if (!this.#sessions.delete(session)) keys.push(keyOf("session"));
    remember(this.#sessions, session, true);
    const answer = answerIn(entry);
    if (answer !== undefined) {
      const { by, isAllowed, afterMs } = answer;
      keys.push(keyOf("asked"), keyOf(isAllowed ? "allowed-by" : "denied-by", by));
      if (afterMs !== undefined) {
        keys.push(keyOf("answer-ms", `${by} ${durationClass(afterMs)}`));
        if (isQuick(answer)) keys.push(keyOf("quick-by", by));
      }
    }
    const { code } = entry;
    if (code === "confirmation_timeout") keys.push(keyOf("asked"));
    if (entry.type === "tool.call.dispatched") {
      const sandbox = sandboxIn(entry);
      if (sandbox !== undefined) remember(this.#sandboxes, callKey(names), sandbox);
    } else if (code === "permission_denied") {
      const rules = rulesIn(entry);
      for (const rule of rules.length === 0 ? [""] : rules) keys.push(keyOf("rule", rule));
    }
    return [...keys, ...keysOfOutcome(entry, tool)];
  }

  #keysOfEnd(entry: JournalEntry): readonly string[] {
    const names = namesIn(entry);
    const keys = [...keysOfOutcome(entry, names.tool)];
    const limit = limitIn(entry);
    if (limit !== undefined) keys.push(keyOf("limit", limit));
    const key = callKey(names);
    const sandbox = this.#sandboxes.get(key);
    this.#sandboxes.delete(key);
    const ms = wallTimeIn(entry);
    if (sandbox !== undefined && ms !== undefined)
      keys.push(keyOf("sandbox-ms", `${sandbox} ${durationClass(ms)}`));
    return keys;
  }
}

function keysOfOutcome(entry: JournalEntry, tool: string): readonly string[] {
  const outcome = outcomeIn(entry);
  if (outcome === "denied") return [keyOf("denied"), keyOf("tool-denied", tool)];
  return outcome === "failed" ? [keyOf("failed"), keyOf("tool-failed", tool)] : [];
}

function wallTimeIn({ receipt }: JournalEntry): number | undefined {
  const { used } = isJsonObject(receipt) ? receipt : {};
  const { wallTimeMs } = isJsonObject(used) ? used : {};
  return typeof wallTimeMs === "number" && wallTimeMs >= 0 ? wallTimeMs : undefined;
}

function callKey({ session, turn, message, tool_call_id: callId, tool }: CallNames): string {
  return JSON.stringify([session, turn, message, callId, tool]);
}

/** Sets an entry, and drops the one that was set first if there are too many. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  if (map.size > MAX_REMEMBERED) for (const oldest of map.keys()) return void map.delete(oldest);
}

/** Returns the key of {@link OTHERS} for a counter; that of a duration has the same class. */
function othersOf(key: string): string {
  const [kind, name] = partsOf(key);
  if (name === "") return key;
  return keyOf(kind, kind.endsWith("-ms") ? OTHERS + name.slice(name.lastIndexOf(" ")) : OTHERS);
}

function sizeOf({ counters }: Step): number {
  let size = 0;
  for (const own of counters.values()) size += own.size;
  return size;
}
