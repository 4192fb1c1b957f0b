import { workerData } from "node:worker_threads";

/**
 * A thread of the validating process, which ends that process when it takes too much memory or CPU time: while V8
 * compiles, nothing else there runs. The signal tells which of the two it was. It is started with the most CPU time,
 * in ms, that all threads together may take.
 */
const MAX_BYTES = 1_536 * 1_024 * 1_024;
const LOOK_EACH_MS = 10;

const maxCpuMs: number = workerData;
const never = new Int32Array(new SharedArrayBuffer(4));
for (;;) {
  if (process.memoryUsage.rss() >= MAX_BYTES) process.kill(process.pid, "SIGKILL");
  const { user, system } = process.cpuUsage();
  if (user + system >= maxCpuMs * 1_000) process.kill(process.pid, "SIGTERM");
  Atomics.wait(never, 0, 0, LOOK_EACH_MS);
}
