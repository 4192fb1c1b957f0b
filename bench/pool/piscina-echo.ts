import { Piscina } from "piscina";
import type { OpenCase } from "../harness/case.ts";
import { INPUT, isInput } from "../setting.ts";

/** The module of the echo that runs in threads, ours and others'. */
export const ECHO_MODULE: URL = new URL("../fixtures/echo-worker.mjs", import.meta.url);

/**
 * Opens piscina's own round trip with an echo.
 *
 * @param tasksPerThread How many tasks wait in each thread. 16 is what brought it the most calls a second.
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
