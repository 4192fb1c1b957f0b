import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { ToolDispatchEngine } from "sandgate";
import { percentile } from "../harness/statistics.ts";
import { INPUT, INPUT_TEXT, outputOf } from "../setting.ts";
import { type Footprint, footprint } from "./footprint.ts";
import { type MixedTools, openMixedTools } from "./mixed-tools.ts";

/** The results of one tool's calls. */
export interface SoakedTool {
  readonly name: string;
  readonly calls: number;
  /** The number of failures and wrong results. */
  readonly errors: number;
  /** The first error, as the model would read it. */
  readonly firstError?: string;
  /** Milliseconds from the moment at which the call was due, so that waiting counts. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** The results of a soak. */
export interface SoakResult {
  readonly seconds: number;
  readonly callsPerSecond: number;
  readonly tools: readonly SoakedTool[];
  /** The process after the first calls, after the last ones, and after everything has been closed. */
  readonly start: Footprint;
  readonly end: Footprint;
  readonly closed: Footprint;
}

/** Calls per second of all tools together. */
const CALLS_PER_SECOND = 200;
/** After this many calls, threads, connections and compiled code exist. */
const WARM_UP_CALLS = 400;

/** Calls every tool in turn, at a steady rate that does not depend on the results. */
export async function soak(seconds: number): Promise<SoakResult> {
  const tools = await openMixedTools();
  try {
    await callAtRate(tools, WARM_UP_CALLS);
    const start = footprint();
    const all = await callAtRate(tools, seconds * CALLS_PER_SECOND);
    const end = footprint();
    await tools.close();
    const results = tools.names.map((name) => summary(name, all.get(name) ?? []));
    return {
      seconds,
      callsPerSecond: CALLS_PER_SECOND,
      tools: results,
      start,
      end,
      closed: footprint(),
    };
  } finally {
    await tools.close();
  }
}

interface SoakedCall {
  readonly ms: number;
  readonly error: string | undefined;
}

async function callAtRate(tools: MixedTools, count: number): Promise<Map<string, SoakedCall[]>> {
  const engine = new ToolDispatchEngine();
  const all = new Map(tools.names.map((name): [string, SoakedCall[]] => [name, []]));
  const running = new Set<Promise<void>>();
  const begun = performance.now();
  for (let i = 0; i < count; i++) {
    const due = begun + (i * 1_000) / CALLS_PER_SECOND;
    const early = due - performance.now();
    if (early > 0) await sleep(early);
    const name = tools.names[i % tools.names.length] ?? "";
    // A timer can fire early, and the call with it.
    const from = Math.min(due, performance.now());
    const call = { id: `call ${i}`, name, arguments: INPUT_TEXT };
    const run = engine.dispatch(call, tools.context).then((execution) => {
      const output = outputOf(execution);
      const isRight = isDeepStrictEqual(output, INPUT);
      const error = isRight ? undefined : (execution?.error?.message ?? "a wrong answer");
      all.get(name)?.push({ ms: performance.now() - from, error });
      running.delete(run);
    });
    running.add(run);
  }
  await Promise.all(running);
  return all;
}

function summary(name: string, calls: readonly SoakedCall[]): SoakedTool {
  const times = calls.map(({ ms }) => ms);
  const errors = calls.flatMap(({ error }) => error ?? []);
  const [firstError] = errors;
  return {
    name,
    calls: calls.length,
    errors: errors.length,
    ...(firstError !== undefined && { firstError }),
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    maxMs: percentile(times, 1),
  };
}
