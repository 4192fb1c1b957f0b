import { MAX_DELAY_MS } from "../../base/timers.ts";
import { formatBytes, formatDuration } from "../../base/units.ts";

/**
 * The most that a call may use. Every limit that a grant sets is enforced: if the sandbox cannot enforce it,
 * the call fails with `limit_unenforceable` before anything runs. Limits that are not set default to those of
 * the sandbox, which the receipt reports.
 */
export interface ResourceLimits {
  /** Milliseconds from the start of the work to its end. Waiting for a free worker does not count. */
  readonly wallTimeMs?: number;
  /**
   * Milliseconds of CPU time, rounded up to seconds. The sandbox `process` enforces it for each process of the tool, all
   * its threads together; others refuse it.
   */
  readonly cpuMs?: number;
  /**
   * Bytes of memory that the tool can allocate. In the sandboxes `process` and `microvm`, of all processes together with
   * the files in `/tmp`; `process` needs a cgroup for it.
   */
  readonly memoryBytes?: number;
  /** Bytes of the output, as UTF-8 JSON text. */
  readonly outputBytes?: number;
  /** Bytes of stack, which bounds the depth of recursion. */
  readonly stackBytes?: number;
  /** Lines that the tool can log. Further lines are dropped. */
  readonly logLines?: number;
  /** Calls that the tool can make to other tools. Further calls are refused. */
  readonly nestedCalls?: number;
  /** Bytes that the tool can write to files. Writes beyond it are refused. */
  readonly fileBytes?: number;
  /** Bytes that the tool can send and receive over the network. Traffic beyond it is refused. */
  readonly netBytes?: number;
  /**
   * Processes and threads that the tool can have at once: in the sandboxes `microvm`, and `process` with a cgroup or if not
   * run by root.
   */
  readonly processes?: number;
  /** Bytes of address space of each process of the tool: only in the sandbox `process`. */
  readonly processMemoryBytes?: number;
  /**
   * Milliseconds for which the call can wait for people in all, even while no process runs it: `wallTimeMs`
   * stands still meanwhile. Only in the sandbox `quickjs`.
   */
  readonly waitTimeMs?: number;
}

/** The name of a limit. */
export type LimitName = keyof ResourceLimits;

/** The unit of each limit. Their order is that of lists of limits. */
const UNITS: Readonly<Record<LimitName, "ms" | "bytes" | "count">> = {
  wallTimeMs: "ms",
  memoryBytes: "bytes",
  outputBytes: "bytes",
  stackBytes: "bytes",
  logLines: "count",
  nestedCalls: "count",
  fileBytes: "bytes",
  netBytes: "bytes",
  cpuMs: "ms",
  processes: "count",
  processMemoryBytes: "bytes",
  waitTimeMs: "ms",
};

/** Every {@link LimitName}. */
export const LIMIT_NAMES: readonly LimitName[] = Object.freeze(Object.keys(UNITS) as LimitName[]);

/** The longest wall time in ms: the longest delay of a Node.js timer (2^31 - 1). */
export const MAX_WALL_TIME_MS: number = MAX_DELAY_MS;

/**
 * Checks limits, and returns a frozen copy.
 *
 * @throws {TypeError} if a limit is unknown, is not a positive integer, or exceeds {@link MAX_WALL_TIME_MS}.
 */
export function checkLimits(limits: ResourceLimits): ResourceLimits {
  const checked: { -readonly [Name in LimitName]?: number } = {};
  for (const [name, value] of Object.entries(limits)) {
    if (!LIMIT_NAMES.includes(name as LimitName)) throw new TypeError(`unknown limit '${name}'`);
    if (value === undefined) continue;
    if (!Number.isSafeInteger(value) || value <= 0) {
      throw new TypeError(`limit '${name}' must be a positive integer`);
    }
    if ((name === "wallTimeMs" || name === "waitTimeMs") && value > MAX_WALL_TIME_MS) {
      throw new TypeError(`limit '${name}' must be at most ${MAX_WALL_TIME_MS}`);
    }
    checked[name as LimitName] = value;
  }
  return Object.freeze(checked);
}

/** Returns the lower value of each limit. */
export function strictestLimits(a: ResourceLimits, b: ResourceLimits): ResourceLimits {
  const strictest: { -readonly [Name in LimitName]?: number } = {};
  for (const name of LIMIT_NAMES) {
    const least = Math.min(a[name] ?? Number.POSITIVE_INFINITY, b[name] ?? Number.POSITIVE_INFINITY);
    if (Number.isFinite(least)) strictest[name] = least;
  }
  return strictest;
}

/** Returns the first limit that is set but cannot be enforced. */
export function firstLimitBesides(
  limits: ResourceLimits,
  enforceable: readonly LimitName[],
): LimitName | undefined {
  // Most grants set no limit or one.
  for (const name in limits) {
    const limit = name as LimitName;
    if (limits[limit] !== undefined && !enforceable.includes(limit)) return limit;
  }
  return undefined;
}

/** Formats a limit's value with its unit: `30s`, `64 MiB`, `100`. */
export function formatLimit(name: LimitName, value: number): string {
  if (UNITS[name] === "ms") return formatDuration(value);
  return UNITS[name] === "count" ? String(value) : formatBytes(value);
}
