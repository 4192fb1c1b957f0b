import { Piscina } from "piscina";
import type { Question } from "./measure.ts";
import { dispatchCase, INPUT, isInput } from "./setting.ts";

/** What does a call in a thread cost, beside the pool's own round trip? */
export async function worker(): Promise<Question> {
  const module = new URL("fixtures/echo-worker.mjs", import.meta.url);
  const pool = new Piscina({ filename: module.href, minThreads: 1, maxThreads: 1 });
  const ours = await dispatchCase("dispatch of a worker tool", "host", { worker: { module } });
  return {
    name: "worker",
    floor: { name: "piscina run() of an echo", run: () => pool.run(INPUT), check: isInput },
    cases: [ours.case],
    close: async () => void (await Promise.all([ours.close(), pool.destroy()])),
  };
}
