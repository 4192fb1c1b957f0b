import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import type { Tool } from "../../../src/engine/tool.ts";
import { MemorySuspensionStore } from "../../../src/programs/stores/recorded-store.ts";
import type { SuspensionStore } from "../../../src/programs/stores/suspension-store.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { Lives } from "./lives.ts";
import { program } from "./setting.ts";

/** Asks a person about one call, and makes others meanwhile. */
const SOURCE = `export default async (input, { tools }) => {
  const paid = tools.call("pay", { to: "x" });
  let sum = 0;
  for (let index = 0; index < 3; index++) sum += await tools.call("read", { index });
  await new Promise((resolve) => setTimeout(resolve, 1));
  return { sum, paid: await paid };
}`;
const WRITES = ["put", "replace", "take", "claim", "end"];

/** A store of a process that dies after some more writes: then nothing of it is written or answered any more. */
class DyingStore {
  readonly store: SuspensionStore;
  /** Whether the process has died. */
  isDead = false;
  #left = Number.POSITIVE_INFINITY;

  constructor(store: SuspensionStore) {
    this.store = new Proxy(store, {
      get: (target, name: string) => {
        const method = Reflect.get(target, name) as (...args: unknown[]) => unknown;
        if (!WRITES.includes(name)) return method.bind(target);
        return async (...args: unknown[]) => {
          if (!this.isDead) {
            const result = await method.apply(target, args);
            this.isDead = --this.#left <= 0;
            if (!this.isDead) return result;
          }
          return new Promise(() => {});
        };
      },
    });
  }

  dieAfter(writes: number): void {
    this.#left = writes;
  }
}

/**
 * What a program has when its process dies after some writes.
 *
 * @param endsReads Whether its other calls end at once, while the program is written so that a person can be asked; or only
 *   when a person was asked, since when writes count then.
 */
async function outcomeAfter(writes: number, endsReads: "at once" | "once a person is asked") {
  const calls: string[] = [];
  const asked = Promise.withResolvers<void>();
  const reading = Promise.withResolvers<void>();
  const tools: readonly Tool[] = [
    program(SOURCE),
    {
      name: "read",
      description: "",
      inputSchema: { type: "object" },
      sideEffects: "read",
      host: async () => {
        reading.resolve();
        await asked.promise;
        return 1;
      },
    },
    {
      name: "pay",
      description: "",
      inputSchema: { type: "object" },
      sideEffects: "write",
      host: ({ to }: { readonly to: string }) => {
        calls.push(to);
        return 7;
      },
    } as Tool,
  ];
  const stores = { sessions: new MemorySessionStore(), programs: new MemorySuspensionStore() };
  const dying = new DyingStore(stores.programs);
  const first = await new Lives(tools, { ...stores, programs: dying.store }).begin();
  if (endsReads === "at once") {
    asked.resolve();
    dying.dieAfter(writes);
  }
  const [results] = await first.call();
  while (!dying.isDead && first.sessions.openConfirmations().length === 0) await sleep(1);
  const [confirmation] = first.sessions.openConfirmations();
  if (endsReads === "once a person is asked") {
    await reading.promise;
    dying.dieAfter(writes);
    asked.resolve();
  }
  // It has gone as far as it can when it only waits for the person.
  const isWaiting = async (): Promise<boolean> =>
    (await stores.programs.calls((await first.suspensions.list())[0]?.id ?? "")).length === 3;
  while (!dying.isDead && !(await isWaiting())) await sleep(1);
  const hasDied = dying.isDead;
  dying.isDead = true;
  void results;
  const next = await new Lives(tools, stores).begin();
  const again = await vi.waitFor(() => {
    const [open] = next.sessions.openConfirmations();
    if (open === undefined) throw new Error(`the question is lost after ${writes} writes`);
    return open;
  }, 20_000);
  // A process that died before it asked left no question.
  if (confirmation !== undefined) expect(again).toEqual(confirmation);
  await next.answer(again);
  const { output } = await next.result();
  return { hasDied, output, calls };
}

describe("A program that makes calls while a person is asked about another one", () => {
  test.each([
    "once a person is asked",
    "at once",
  ] as const)("goes on with the same question, whenever its process is killed: others end %s", async (endsReads) => {
    let writes = 1;
    for (; ; writes++) {
      const { hasDied, output, calls } = await outcomeAfter(writes, endsReads);
      expect([writes, output, calls]).toEqual([writes, { sum: 3, paid: 7 }, ["x"]]);
      if (!hasDied) break;
    }
    // The reads are claimed and end, and what waits is replaced.
    expect(writes).toBeGreaterThan(5);
  }, 120_000);
});
