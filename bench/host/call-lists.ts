import { strictEqual } from "node:assert";
import { setTimeout as delay } from "node:timers/promises";
import { defineTool, HostPolicy, openSandboxes, ToolDispatchEngine, ToolRegistry } from "sandgate";
import type { Case, OpenCase, Question } from "../harness/case.ts";

const CALLS = 100;
const WAIT_MS = 5;
/** The default of `dispatchAll`. */
const CONCURRENCY = 4;

/** What a list of calls costs whose tools change nothing and wait, beside the same waits in `Promise.all`. */
export const callLists: Question = {
  name: "host-call-list",
  cases: [
    waits(CONCURRENCY),
    { name: `dispatchAll, ${CONCURRENCY} at once (the default)`, open: () => openList() },
    { name: "dispatchAll, one after the other", open: () => openList(1) },
    waits(CALLS),
    { name: "dispatchAll, all at once", floor: waits(CALLS).name, open: () => openList(CALLS) },
  ],
};

/** Waits as often as the calls do, in lanes that take the next one as soon as they can. */
function waits(concurrency: number): Case {
  const name = `${CALLS} waits of ${WAIT_MS} ms in Promise.all, ${concurrency} at once`;
  const run = async (): Promise<number> => {
    let done = 0;
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next++ < CALLS) {
        await delay(WAIT_MS);
        done++;
      }
    };
    await Promise.all(Array.from({ length: concurrency }, lane));
    return done;
  };
  return { name, floor: name, open: () => ({ run, check: (done) => strictEqual(done, CALLS) }) };
}

async function openList(concurrency?: number): Promise<OpenCase> {
  const sandboxes = await openSandboxes();
  const tool = defineTool({
    name: "wait",
    description: "",
    inputSchema: {},
    sideEffects: "read",
    host: () => delay(WAIT_MS),
  });
  const registry = new ToolRegistry().register(tool);
  const ctx = { registry, policy: new HostPolicy(), sandboxes, sessionId: "bench" };
  const engine = new ToolDispatchEngine();
  const calls = Array.from({ length: CALLS }, (_, id) => ({ id: `${id}`, name: "wait", arguments: "{}" }));
  return {
    run: () => engine.dispatchAll(calls, ctx, concurrency === undefined ? {} : { concurrency }),
    check: (executions) => {
      const all = executions as { readonly success: boolean }[];
      strictEqual(all.filter(({ success }) => success).length, CALLS);
    },
    close: () => sandboxes.close(),
  };
}
