import { Piscina } from "piscina";
import type { OpenCase } from "../harness/case.ts";
import { INPUT, isInput } from "../setting.ts";

/** The module of the echo that runs in all thread pools. */
export const ECHO_MODULE: URL = new URL("../fixtures/echo-worker.mjs", import.meta.url);

/**
 * Opens a case with piscina's round trip of an echo.
 *
 * @param tasksPerThread How many tasks wait in each thread. 16 has the highest throughput.
 */
export function openPiscinaEcho(threads: number, tasksPerThread = 1): OpenCase {
  const pool = new Piscina({
    filename: ECHO_MODULE.href,
    minThreads: threads,
    maxThreads: threads,
    concurrentTasksPerWorker: tasksPerThread,
  });
  return { run: () => pool.run(INPUT), check: isInput, close: () => pool.destroy() };
}
