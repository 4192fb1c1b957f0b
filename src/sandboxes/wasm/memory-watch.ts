/**
 * A thread of the validating process, which ends that process when it takes too much memory: while V8 compiles,
 * nothing else there runs.
 */
const MAX_BYTES = 1_536 * 1_024 * 1_024;
const LOOK_EACH_MS = 10;

const never = new Int32Array(new SharedArrayBuffer(4));
while (process.memoryUsage.rss() < MAX_BYTES) Atomics.wait(never, 0, 0, LOOK_EACH_MS);
process.kill(process.pid, "SIGKILL");
