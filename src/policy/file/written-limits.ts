import { DURATION_FORM, formatDuration, parseDuration, parseSize, SIZE_FORM } from "../../base/units.ts";
import { described, type Flaw } from "../../config/shape.ts";
import type { JsonObject } from "../../json/value.ts";
import { COUNT } from "../grant/grant-shape.ts";
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

const DURATION = { type: ["integer", "string"], title: "duration" };

const SIZE = { type: ["integer", "string"], title: "size" };

const OWN = "Default: that of the sandbox.";

/** The schemas of limits in a file. The units are checked when they are parsed. */
export const WRITTEN_LIMITS: Readonly<Record<keyof WrittenLimits, JsonObject>> = {
  wallTime: described(DURATION, `The time from the start of the work to its end. ${OWN}`),
  memory: described(SIZE, `The memory that the tool can allocate. ${OWN}`),
  output: described(SIZE, `The size of the output, as JSON text. ${OWN}`),
  stack: described(SIZE, `The size of the stack, which bounds the depth of recursion. ${OWN}`),
  logLines: described(COUNT, `Lines that the tool can log. Further lines are dropped. ${OWN}`),
  nestedCalls: described(
    COUNT,
    `Calls that the tool can make to other tools. Further calls are refused. ${OWN}`,
  ),
  file: described(SIZE, `The bytes that the tool can write to files. ${OWN}`),
  net: described(SIZE, `The bytes that the tool can send and receive over the network. ${OWN}`),
  cpu: described(
    DURATION,
    `The CPU time of each process, rounded up to seconds: only in the sandbox \`process\`. ${OWN}`,
  ),
  processes: described(
    COUNT,
    `Processes and threads at once: in the sandboxes \`process\` and \`microvm\`. ${OWN}`,
  ),
  processMemory: described(
    SIZE,
    `The address space of each process: only in the sandbox \`process\`. ${OWN}`,
  ),
  waitTime: described(
    DURATION,
    `The time for which the call can wait for people in all: only in the sandbox \`quickjs\`. ${OWN}`,
  ),
};

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
