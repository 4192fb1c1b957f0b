import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { currentLoad, describeMachine } from "../harness/machine.ts";
import { Progress } from "../harness/progress.ts";
import type { Footprint } from "./footprint.ts";
import type { SoakResult } from "./soak.ts";

/** How often the progress is shown, in seconds. */
const STEP_S = 5;
const MAIN = fileURLToPath(new URL("soak-process.ts", import.meta.url));

/** Runs a soak and prints the results. Returns the exit code, which is 1 if any call failed. */
export async function runSoak(options: {
  readonly seconds: number;
  readonly isJson: boolean;
}): Promise<number> {
  const loadBefore = currentLoad();
  const child = fork(MAIN, [String(options.seconds)]);
  const exited = once(child, "exit");
  using progress = new Progress(process.stderr, Math.ceil(options.seconds / STEP_S));
  progress.begin("soak");
  const timer = setInterval(() => progress.begin("soak"), STEP_S * 1_000);
  timer.unref();
  void exited.then(() => clearInterval(timer));
  const [result] = (await Promise.race([once(child, "message"), exited])) as [SoakResult | number | null];
  if (result === null || typeof result === "number") throw new Error(`the soak exited with code ${result}`);
  await exited;
  const machine = describeMachine(loadBefore);
  if (options.isJson) console.log(JSON.stringify({ machine, ...result }, null, 2));
  else {
    console.log(soakTables(result));
    console.log(
      `${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, load ${machine.load.before} to ${machine.load.after}`,
    );
  }
  return result.tools.some(({ errors }) => errors > 0) ? 1 : 0;
}

function soakTables({ seconds, callsPerSecond, tools, start, end, closed }: SoakResult): string {
  const footprints: readonly (readonly [string, Footprint])[] = [
    ["start", start],
    ["end", end],
    ["closed", closed],
  ];
  return [
    `### soak: ${callsPerSecond} calls per second for ${seconds} s`,
    "",
    "| tool | calls | errors | p50 ms | p99 ms | longest ms |",
    "|---|--:|--:|--:|--:|--:|",
    ...tools.map(({ name, calls, errors, p50Ms, p99Ms, maxMs }) => {
      const times = [p50Ms, p99Ms, maxMs].map((ms) => ms.toFixed(2)).join(" | ");
      return `| ${name} | ${calls} | ${errors} | ${times} |`;
    }),
    ...tools.flatMap(({ name, firstError }) =>
      firstError === undefined ? [] : ["", `${name}: ${firstError}`],
    ),
    "",
    "| | RSS MiB | heap MiB | handles | file descriptors | threads |",
    "|---|--:|--:|--:|--:|--:|",
    ...footprints.map(([when, held]) => {
      const { rssMiB, heapMiB, handles, descriptors = "?", threads = "?" } = held;
      return `| ${when} | ${rssMiB.toFixed(0)} | ${heapMiB.toFixed(1)} | ${handles} | ${descriptors} | ${threads} |`;
    }),
    "",
  ].join("\n");
}
