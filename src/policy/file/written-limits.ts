import { DURATION_FORM, formatDuration, parseDuration, parseSize, SIZE_FORM } from "../../base/units.ts";
import type { Flaw } from "../../config/shape.ts";
import { type LimitName, MAX_WALL_TIME_MS, type ResourceLimits } from "../grant/limits.ts";

/** Limits as written in a file: `wallTime: 5s`, `memory: 64MiB`. Numbers without a unit are ms or bytes. */
export interface WrittenLimits {
  readonly wallTime?: string | number;
  readonly cpu?: string | number;
  readonly memory?: string | number;
  readonly output?: string | number;
  readonly stack?: string | number;
  readonly logLines?: number;
  readonly nestedCalls?: number;
  readonly file?: string | number;
  readonly net?: string | number;
  readonly processes?: number;
  readonly processMemory?: string | number;
  readonly waitTime?: string | number;
}

/** The names that limits have in a file. */
export const WRITTEN_NAMES: Readonly<Record<LimitName, keyof WrittenLimits>> = Object.freeze({
  wallTimeMs: "wallTime",
  cpuMs: "cpu",
  memoryBytes: "memory",
  outputBytes: "output",
  stackBytes: "stack",
  logLines: "logLines",
  nestedCalls: "nestedCalls",
  fileBytes: "file",
  netBytes: "net",
  processes: "processes",
  processMemoryBytes: "processMemory",
  waitTimeMs: "waitTime",
});

/** Converts limits that were written in a file, and adds the invalid ones to `flaws`. */
export function readLimits(written: WrittenLimits, path: readonly string[], flaws: Flaw[]): ResourceLimits {
  const { logLines, nestedCalls, processes } = written;
  const limits: { -readonly [Name in LimitName]?: number } = {
    ...(logLines !== undefined && { logLines }),
    ...(nestedCalls !== undefined && { nestedCalls }),
    ...(processes !== undefined && { processes }),
  };
  const read = (
    key: Exclude<keyof WrittenLimits, "logLines" | "nestedCalls" | "processes">,
    name: LimitName,
    parse: (text: string | number) => number | undefined,
    form: string,
  ): void => {
    const text = written[key];
    if (text === undefined) return;
    const amount = parse(text);
    if (amount === undefined) flaws.push({ path: [...path, key], at: "value", message: `must be ${form}` });
    else limits[name] = amount;
  };
  read("wallTime", "wallTimeMs", parseDuration, DURATION_FORM);
  read("cpu", "cpuMs", parseDuration, DURATION_FORM);
  read("memory", "memoryBytes", parseSize, SIZE_FORM);
  read("output", "outputBytes", parseSize, SIZE_FORM);
  read("stack", "stackBytes", parseSize, SIZE_FORM);
  read("file", "fileBytes", parseSize, SIZE_FORM);
  read("net", "netBytes", parseSize, SIZE_FORM);
  read("processMemory", "processMemoryBytes", parseSize, SIZE_FORM);
  read("waitTime", "waitTimeMs", parseDuration, DURATION_FORM);
  for (const name of ["wallTimeMs", "waitTimeMs"] as const) {
    if ((limits[name] ?? 0) <= MAX_WALL_TIME_MS) continue;
    const message = `must be at most ${formatDuration(MAX_WALL_TIME_MS)}`;
    flaws.push({ path: [...path, WRITTEN_NAMES[name]], at: "value", message });
  }
  return limits;
}
