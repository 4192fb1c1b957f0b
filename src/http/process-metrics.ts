import { readdirSync, readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { PACKAGE_FOLDER } from "../base/package-folder.ts";
import { type Metric, single } from "./metrics.ts";

/** Milliseconds between two measurements of the event loop's lag. */
const RESOLUTION_MS = 20;
const QUANTILES = [50, 99] as const;

/** Measures this process. The lags are those since the last time that they were read. */
export class ProcessMetrics implements Disposable {
  readonly #delays: ReturnType<typeof monitorEventLoopDelay> = monitorEventLoopDelay({
    resolution: RESOLUTION_MS,
  });
  readonly #build: Metric;

  constructor() {
    this.#delays.enable();
    const labels = { version: ownVersion(), node: process.versions.node };
    const help = "The versions of Sandgate and Node.js.";
    this.#build = { name: "sandgate_build_info", type: "gauge", help, samples: [{ labels, value: 1 }] };
  }

  /** @returns `process_open_fds` only on Linux. */
  read(): readonly Metric[] {
    const { user, system } = process.cpuUsage();
    const descriptors = openDescriptors();
    const metrics = [
      this.#build,
      single(
        "process_cpu_seconds_total",
        "counter",
        "CPU time of all threads, in seconds.",
        (user + system) / 1e6,
      ),
      single("process_resident_memory_bytes", "gauge", "Resident memory.", process.memoryUsage.rss()),
      single(
        "process_start_time_seconds",
        "gauge",
        "When the process started, in seconds since the epoch.",
        performance.timeOrigin / 1_000,
      ),
      ...(descriptors === undefined
        ? []
        : [single("process_open_fds", "gauge", "Open file descriptors.", descriptors)]),
      ...QUANTILES.map((quantile) =>
        single(
          `nodejs_eventloop_lag_p${quantile}_seconds`,
          "gauge",
          `The event loop's lag since the last scrape: percentile ${quantile}.`,
          lag(this.#delays.percentile(quantile)),
        ),
      ),
      single(
        "nodejs_eventloop_lag_max_seconds",
        "gauge",
        "The event loop's lag since the last scrape: the longest.",
        lag(this.#delays.max),
      ),
    ];
    this.#delays.reset();
    return metrics;
  }

  [Symbol.dispose](): void {
    this.#delays.disable();
  }
}

/** A delay in ns, which includes the interval between two measurements, as a lag in seconds. */
function lag(ns: number): number {
  // Without any measurement, the least and the greatest are far out of range.
  const seconds = ns / 1e9 - RESOLUTION_MS / 1e3;
  return Number.isFinite(seconds) && seconds > 0 && ns < 1e15 ? seconds : 0;
}

function ownVersion(): string {
  try {
    return String(JSON.parse(readFileSync(new URL("package.json", PACKAGE_FOLDER), "utf8")).version);
  } catch {
    // A hardened process may read little more than the code.
    return "unknown";
  }
}

function openDescriptors(): number | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    // One of them is the folder's own.
    return readdirSync("/proc/self/fd").length - 1;
  } catch {
    // A process may be forbidden to read it.
    return undefined;
  }
}
