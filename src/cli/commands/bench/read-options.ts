import { DURATION_FORM, parseDuration } from "../../../base/units.ts";
import { shown } from "../../../rendering/shown.ts";
import { UsageError } from "../../errors.ts";
import type { BenchOptions } from "./bench.ts";

const MAX_CONCURRENCY = 10_000;
const MAX_RATE = 1_000_000;
const MAX_CALLS = 1_000_000_000;
const DEFAULT_DURATION = "10s";
/** How long calls are made if a number of calls is all that is given. */
const LONGEST = "24h";

/** The options as they are written. */
interface WrittenOptions extends Pick<BenchOptions, "config" | "file" | "save" | "compare" | "json"> {
  readonly rate: string | undefined;
  readonly concurrency: string | undefined;
  readonly duration: string | undefined;
  readonly calls: string | undefined;
  readonly "warm-up": string | undefined;
  readonly "max-p50": string | undefined;
  readonly "max-p99": string | undefined;
  readonly "max-failed": string | undefined;
  readonly "allow-effects": boolean;
}

/**
 * Parses the options of `sandgate bench`.
 *
 * @throws {UsageError} if one is invalid.
 */
export function readBenchOptions(given: WrittenOptions): BenchOptions {
  const { config, file, save, compare, json, "warm-up": warmUp = "1s" } = given;
  const { duration = given.calls === undefined ? DEFAULT_DURATION : LONGEST } = given;
  return {
    config,
    file,
    save,
    compare,
    json,
    load: {
      rate: count("rate", given.rate, MAX_RATE),
      concurrency: count("concurrency", given.concurrency, MAX_CONCURRENCY) ?? 1,
      durationMs: time("duration", duration) ?? 0,
      calls: count("calls", given.calls, MAX_CALLS),
    },
    warmUpMs: warmUp === "0" ? 0 : (time("warm-up", warmUp) ?? 0),
    allowsEffects: given["allow-effects"],
    thresholds: {
      p50: time("max-p50", given["max-p50"]),
      p99: time("max-p99", given["max-p99"]),
      failed: share("max-failed", given["max-failed"]),
    },
  };
}

function count(option: string, text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined;
  const value = /^[0-9]{1,12}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= most) return value;
  throw new UsageError(shown`--${option} must be a whole number from 1 to ${most}, not '${text}'`);
}

function time(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(text) ?? parseDuration(Number(text));
  if (ms !== undefined) return ms;
  throw new UsageError(shown`--${option} must be ${DURATION_FORM}, not '${text}'`);
}

/** Parses `1%` to 0.01. */
function share(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, digits] = /^([0-9]{1,3}(?:\.[0-9]{1,6})?)%$/.exec(text) ?? [];
  const value = Number(digits) / 100;
  if (value <= 1) return value;
  throw new UsageError(shown`--${option} must be a share such as 1% or 0.5%, not '${text}'`);
}
