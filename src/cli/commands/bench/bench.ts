import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { DURATION_FORM, parseDuration } from "../../../base/units.ts";
import { ConfigError } from "../../../config/problem.ts";
import { ToolDispatchEngine } from "../../../engine/engine.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import { joinShown, ShownText, shown, toPrintableJson } from "../../../rendering/shown.ts";
import { openSandboxes } from "../../../sandboxes/open-sandboxes.ts";
import { UNDECLARED_SIDE_EFFECTS } from "../../../tool/side-effects.ts";
import { loadConfig } from "../../config/load-config.ts";
import { UsageError } from "../../errors.ts";
import { showProgress } from "../../progress.ts";
import {
  EXIT_INTERRUPTED,
  EXIT_OK,
  EXIT_TOOL_FAILED,
  type ExitCode,
  print,
  showProblems,
  type Terminal,
} from "../../terminal.ts";
import { ConfiguredServers } from "../mcp/servers.ts";
import { type InputMessage, readMessage } from "../read-message.ts";
import { type Load, MAX_OUTSTANDING, makeCalls } from "./load.ts";
import { type BenchResult, benchResult, isSameMachine, Latencies, parseBenchResult } from "./result.ts";

const MAX_CONCURRENCY = 10_000;

const MAX_RATE = 1_000_000;

const MAX_CALLS = 1_000_000_000;

const DEFAULT_DURATION = "10s";

/** The duration if only a number of calls is given. */
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

/** Upper bounds of a result. Default of each: no bound. */
interface Thresholds {
  /** Milliseconds. */
  readonly p50: number | undefined;
  /** Milliseconds. */
  readonly p99: number | undefined;
  /** The share of failed calls, 0 to 1. */
  readonly failed: number | undefined;
}

/** The load per core above which other programs distort the figures. */
const BUSY_LOAD = 0.3;

const BAR_COLUMNS = 40;

const FIGURES = ["p50", "p90", "p99", "p999", "max"] as const;

const HEADINGS = { p50: "p50", p90: "p90", p99: "p99", p999: "p99.9", max: "max" } as const;

/** Options of `sandgate bench`. */
interface BenchOptions {
  readonly config: string;
  /** A message with the calls; `-` is standard input. */
  readonly file: string;
  readonly load: Omit<Load, "signal">;
  readonly warmUpMs: number;
  readonly thresholds: Thresholds;
  /** Whether tools that do more than read may be called. */
  readonly allowsEffects: boolean;
  /** The file to which the result is saved. Default: it is not saved. */
  readonly save: string | undefined;
  /** An earlier result to compare with. Default: none. */
  readonly compare: string | undefined;
  readonly json: boolean;
}

/**
 * Dispatches the calls of a message repeatedly, and prints how long they took. Nothing is recorded in the
 * journal of the config, and no person is asked.
 *
 * @throws {ConfigError} if the config is invalid.
 * @throws {MessageError} if the message is invalid.
 * @throws {UsageError} if there is nothing to call, a tool does more than read, or a file cannot be used.
 */
export async function bench(options: BenchOptions, terminal: Terminal): Promise<ExitCode> {
  const load = loadavg()[0] ?? 0;
  const earlier = options.compare === undefined ? undefined : await readResult(options.compare);
  await using servers = new ConfiguredServers("warning");
  const loaded = await loadConfig(options.config, servers);
  const { problems, registry, policy } = loaded;
  if (policy === undefined || problems.some(({ severity }) => severity === "error")) {
    throw new ConfigError(problems);
  }
  await print(terminal.stderr, showProblems(problems));
  const { calls } = await readMessage(options.file, "auto", registry, terminal);
  checkCalls(calls, registry, options);
  await using sandboxes = await openSandboxes(loaded.sandboxOptions);
  sandboxes.ensureExit();
  const { signal } = terminal;
  const context = { ...loaded.context, registry, policy, sandboxes, ...(signal && { signal }) };
  let hasRun = false;
  const measure = (part: Omit<Load, "signal">, latencies: Latencies, outcomes: Map<string, number>) => {
    const sessionId = randomUUID();
    const engine = new ToolDispatchEngine();
    return makeCalls({ ...part, signal }, async (index, dueAt) => {
      const call = calls[index % calls.length] as (typeof calls)[number];
      const execution = await engine.dispatch({ ...call, id: `bench_${index}` }, { ...context, sessionId });
      latencies.record(performance.now() - dueAt);
      // Only hooks abort calls, and there are none here.
      const outcome = `${execution?.error?.code ?? "ok"} (${execution?.sandbox ?? "no sandbox"})`;
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      hasRun ||= execution?.sandbox != null;
    });
  };
  const progress = showProgress(terminal, "measuring", options.warmUpMs + options.load.durationMs);
  if (options.warmUpMs > 0) {
    await measure({ ...options.load, durationMs: options.warmUpMs }, new Latencies(), new Map());
  }
  const latencies = new Latencies();
  const outcomes = new Map<string, number>();
  const made = await measure(options.load, latencies, outcomes);
  progress[Symbol.dispose]();
  if (signal?.aborted) return EXIT_INTERRUPTED;
  const succeeded = [...outcomes].reduce(
    (sum, [name, count]) => sum + (name.startsWith("ok ") ? count : 0),
    0,
  );
  const { rate, concurrency } = options.load;
  const result = benchResult(
    {
      load: { ...(rate === undefined ? { concurrency } : { rate }), calls: made.calls },
      isSaturated: made.isSaturated,
      callsPerSecond: Number(((made.calls * 1_000) / made.elapsedMs).toPrecision(4)),
      outcomes: Object.fromEntries([...outcomes].sort(([, one], [, other]) => other - one)),
      failed: made.calls === 0 ? 0 : (made.calls - succeeded) / made.calls,
      latencyMs: latencies.summary(),
      histogram: latencies.bands(),
    },
    load,
  );
  await print(terminal.stdout, options.json ? toPrintableJson(result) : reportOf(result, earlier));
  if (options.save !== undefined) await saveResult(options.save, result);
  if (made.calls > 0 && !hasRun)
    await print(
      terminal.stderr,
      shown`no call reached a sandbox (${Object.keys(result.outcomes).join(", ")}): the figures say how fast calls are refused, and nothing about the tools`,
    );
  const missed = exceeded(result, options.thresholds);
  await print(terminal.stderr, joinShown(missed, "\n"));
  return missed.length > 0 || result.isSaturated ? EXIT_TOOL_FAILED : EXIT_OK;
}

/** @throws {UsageError} if there are no calls, or one of them has effects that should not be repeated. */
function checkCalls(calls: InputMessage["calls"], registry: ToolRegistry, options: BenchOptions): void {
  if (calls.length === 0) throw new UsageError(shown`${options.file}: the message has no tool calls`);
  if (options.allowsEffects) return;
  for (const { name } of calls) {
    const tool = registry.get(name);
    const { sideEffects = UNDECLARED_SIDE_EFFECTS } = tool ?? { sideEffects: "none" };
    if (sideEffects === "none" || sideEffects === "read") continue;
    throw new UsageError(
      shown`the tool '${name}' is of class '${sideEffects}', and its calls would be repeated: use --allow-effects if that is harmless`,
    );
  }
}

async function readResult(file: string): Promise<BenchResult> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw new UsageError(shown`--compare: ${file} cannot be read: ${(error as Error).message}`);
  }
  let result: BenchResult | undefined;
  try {
    result = parseBenchResult(text);
  } catch (error) {
    throw new UsageError(shown`--compare: ${file} ${(error as TypeError).message}`);
  }
  if (result === undefined)
    throw new UsageError(shown`--compare: ${file} is not a result that sandgate bench --save wrote`);
  return result;
}

async function saveResult(file: string, result: BenchResult): Promise<void> {
  try {
    await writeFile(file, `${JSON.stringify(result, undefined, 2)}\n`);
  } catch (error) {
    throw new UsageError(shown`--save: ${file} cannot be written: ${(error as Error).message}`);
  }
}

/** Describes a result, and how it compares to an earlier one. */
function reportOf(result: BenchResult, earlier: BenchResult | undefined): ShownText {
  const { machine, latencyMs, load, callsPerSecond, outcomes, failed } = result;
  const lines = [
    shown`${machine.cpu}, ${machine.cores} cores, Node.js ${machine.node}`,
    ...warningsOf(result, earlier),
    shown`${load.calls} calls, ${describe(load)}: ${callsPerSecond} calls/s, ${percent(failed)} failed`,
    new ShownText(""),
    ...table(latencyMs, earlier?.latencyMs),
    new ShownText(""),
    ...Object.entries(outcomes).map(([outcome, count]) => shown`${String(count).padStart(9)}  ${outcome}`),
    new ShownText(""),
    ...bars(result),
  ];
  if (earlier !== undefined)
    lines.push(
      new ShownText(""),
      shown`calls/s: ${ratio(callsPerSecond, earlier.callsPerSecond)} of ${earlier.callsPerSecond}`,
    );
  return joinShown(lines, "\n");
}

function warningsOf(result: BenchResult, earlier: BenchResult | undefined): readonly ShownText[] {
  const { load, cores } = result.machine;
  return [
    ...(load > cores * BUSY_LOAD
      ? [
          shown`the machine was busy before the calls began (load average ${load}): the figures depend on that`,
        ]
      : []),
    ...(result.isSaturated
      ? [
          shown`the rate could not be sustained: no calls were started while ${MAX_OUTSTANDING} were outstanding`,
        ]
      : []),
    ...(earlier !== undefined && !isSameMachine(result, earlier)
      ? [
          shown`the earlier result is from another machine or Node.js (${earlier.machine.cpu}, ${earlier.machine.node})`,
        ]
      : []),
  ];
}

function describe({ rate, concurrency }: BenchResult["load"]): string {
  return rate === undefined ? `${concurrency ?? 1} at once` : `${rate} begun per second`;
}

function table(
  now: BenchResult["latencyMs"],
  before: BenchResult["latencyMs"] | undefined,
): readonly ShownText[] {
  const row = (name: string, cells: readonly string[]): ShownText =>
    shown`${name.padEnd(8)}${cells.map((cell) => cell.padStart(11)).join("")}`;
  const rows = [
    row(
      "",
      FIGURES.map((figure) => HEADINGS[figure]),
    ),
    row(
      "ms",
      FIGURES.map((figure) => String(now[figure])),
    ),
  ];
  if (before === undefined) return rows;
  return [
    ...rows,
    row(
      "before",
      FIGURES.map((figure) => String(before[figure])),
    ),
    row(
      "ratio",
      FIGURES.map((figure) => ratio(now[figure], before[figure])),
    ),
  ];
}

function ratio(now: number, before: number): string {
  return before === 0 ? "-" : `${(now / before).toFixed(2)} ×`;
}

function bars({ histogram }: BenchResult): readonly ShownText[] {
  const most = Math.max(...histogram.map(({ count }) => count), 1);
  return histogram.map(({ to, count }) => {
    const bar = "█".repeat(Math.ceil((count / most) * BAR_COLUMNS));
    return shown`${`< ${to} ms`.padStart(12)} ${String(count).padStart(9)} ${new ShownText(bar)}`;
  });
}

/** Says which thresholds a result exceeds. */
function exceeded({ latencyMs, failed }: BenchResult, thresholds: Thresholds): readonly ShownText[] {
  const missed: ShownText[] = [];
  for (const name of ["p50", "p99"] as const) {
    const most = thresholds[name];
    if (most !== undefined && latencyMs[name] > most)
      missed.push(shown`${name} is ${latencyMs[name]} ms: more than ${most} ms`);
  }
  if (thresholds.failed !== undefined && failed > thresholds.failed)
    missed.push(shown`${percent(failed)} of the calls failed: more than ${percent(thresholds.failed)}`);
  return missed;
}

/** Formats a share for people: `0.25%`. */
function percent(share: number): string {
  return `${Number((share * 100).toFixed(3))}%`;
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
