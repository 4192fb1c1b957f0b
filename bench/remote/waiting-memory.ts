import type { Case } from "../harness/case.ts";

/** By then, every call waits for its server and none has a response, because the servers take 100 ms. */
const LOOK_AFTER_MS = 80;

/** Measures how much the memory of the process grows while calls wait for their responses. */
export function withMemoryWatch(calls: number, subject: Case): Case {
  return {
    ...subject,
    open: async () => {
      const opened = await subject.open();
      let most = 0;
      const run = async (): Promise<unknown> => {
        const before = process.memoryUsage.rss();
        const running = opened.run();
        const looking = setTimeout(() => {
          most = Math.max(most, process.memoryUsage.rss() - before);
        }, LOOK_AFTER_MS);
        try {
          return await running;
        } finally {
          clearTimeout(looking);
        }
      };
      const observed = (): Record<string, number> => {
        const grown = most;
        most = 0;
        return { "KiB of memory for each call that waits": grown / calls / 1_024 };
      };
      return { ...opened, run, observed };
    },
  };
}
