import { cpus } from "node:os";
import { openDiff } from "./diff.ts";

/** Compares two policies on a journal of a million calls, twice, and prints how long it takes: `npm run bench:policy-diff`. */
const opened = await openDiff(1_000_000);
try {
  for (let round = 1; round <= 2; round++) {
    const [startedAt, before] = [performance.now(), process.cpuUsage()];
    const answer = await opened.run();
    const wall = performance.now() - startedAt;
    const { user, system } = process.cpuUsage(before);
    opened.check(answer);
    const [seconds, cpu] = [wall / 1_000, (user + system) / 1_000_000].map((each) => each.toFixed(1));
    process.stdout.write(`round ${round}: ${seconds} s, ${cpu} s of CPU time in all threads\n`);
  }
  process.stdout.write(`${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.versions.node}\n`);
} finally {
  await opened.close?.();
}
