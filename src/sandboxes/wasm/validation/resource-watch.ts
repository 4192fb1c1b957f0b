import { workerData } from "node:worker_threads";

/**
 * A thread of the validating process that ends the process if it takes too much memory or CPU time. It has to be a
 * thread, because the main thread is blocked while V8 compiles. The signal shows which limit was exceeded. The thread is
 * started with the maximum CPU time of all threads together, in ms.
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
