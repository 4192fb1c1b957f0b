import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { ConfigError } from "../../../config/problem.ts";
import { ToolDispatchEngine } from "../../../engine/engine.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import { toPrintableJson } from "../../../rendering/printable-json.ts";
import { joinShown, shown } from "../../../rendering/shown.ts";
import { openSandboxes } from "../../../sandboxes/open-sandboxes.ts";
import { UNDECLARED_SIDE_EFFECTS } from "../../../tool/side-effects.ts";
import { loadConfig } from "../../config/load-config.ts";
import { UsageError } from "../../errors.ts";
import { showProblems } from "../../terminal/problems.ts";
import { showProgress } from "../../terminal/progress.ts";
import {
  EXIT_INTERRUPTED,
  EXIT_OK,
  EXIT_TOOL_FAILED,
  type ExitCode,
  print,
  type Terminal,
} from "../../terminal/terminal.ts";
import { ConfiguredServers } from "../mcp/servers.ts";
import { type InputMessage, readMessage } from "../read-message.ts";
import { Latencies } from "./latencies.ts";
import { type Load, makeCalls } from "./load.ts";
import { reportOf } from "./report.ts";
import { type BenchResult, benchResult, parseBenchResult } from "./result.ts";
import { exceeded, type Thresholds } from "./thresholds.ts";

/** Options of `sandgate bench`. */
export interface BenchOptions {
  readonly config: string;
  /** A message with the calls; `-` is standard input. */
  readonly file: string;
  readonly load: Omit<Load, "signal">;
  readonly warmUpMs: number;
  readonly thresholds: Thresholds;
  /** Whether tools may be called that do more than reading. */
  readonly allowsEffects: boolean;
  /** Where the result is kept. Default: nowhere. */
  readonly save: string | undefined;
  /** An earlier result. Default: the result is compared with nothing. */
  readonly compare: string | undefined;
  readonly json: boolean;
}

/**
 * Dispatches the calls of a message over and over, and prints how long they took. Nothing is recorded in the journal of
 * the config, and no person is asked.
 *
 * @throws {ConfigError} if the config is invalid.
 * @throws {MessageError} if the message is invalid.
 * @throws {UsageError} if there is nothing to call, a tool does more than reading, or a file cannot be used.
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
  const missed = exceeded(result, options.thresholds);
  await print(terminal.stderr, joinShown(missed, "\n"));
  return missed.length > 0 || result.isSaturated ? EXIT_TOOL_FAILED : EXIT_OK;
}

/** @throws {UsageError} unless there are calls, and none does what should not be done over and over. */
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
