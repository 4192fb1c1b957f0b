import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Tool } from "../../../src/engine/tool.ts";
import { MemorySuspensionStore } from "../../../src/programs/stores/recorded-store.ts";
import { SqliteSuspensionStore } from "../../../src/programs/stores/sqlite-store.ts";
import { RestateSessionStore } from "../../../src/restate/store/session-store.ts";
import { RestateSuspensionStore } from "../../../src/restate/store/suspension-store.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { SqliteSessionStore } from "../../../src/sessions/store/sqlite-store.ts";
import { startRestateStores } from "../../restate/store/restate-stores.ts";
import { Lives, type LivesStores } from "./lives.ts";
import { counted, program } from "./setting.ts";

/** The stores of processes that come one after the other, by where they are. */
const STORES: readonly (readonly [string, () => Promise<LivesStores & AsyncDisposable>])[] = [
  [
    "in memory",
    async () => ({
      sessions: new MemorySessionStore(),
      programs: new MemorySuspensionStore(),
      [Symbol.asyncDispose]: async () => {},
    }),
  ],
  [
    "in files",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "sandgate-lives-"));
      const sessions = new SqliteSessionStore(join(folder, "sessions.db"));
      const programs = new SqliteSuspensionStore(join(folder, "programs.db"));
      const dispose = async (): Promise<void> => {
        sessions.close();
        programs.close();
        rmSync(folder, { recursive: true });
      };
      return { sessions, programs, [Symbol.asyncDispose]: dispose };
    },
  ],
  [
    "on Restate",
    async () => {
      const restate = await startRestateStores();
      const at = { ingress: restate.ingress, prefix: restate.newPrefix() };
      const [sessions, programs] = [new RestateSessionStore(at), new RestateSuspensionStore(at)];
      const dispose = async (): Promise<void> => {
        sessions.close();
        programs.close();
        await restate[Symbol.asyncDispose]();
      };
      return { sessions, programs, [Symbol.asyncDispose]: dispose };
    },
  ],
];

describe("A call that a program made before its process was lost", () => {
  const source = `export default async (input, { tools }) => {
    const slow = ["slow_write", "slow_read", "slow_again"].map((name) =>
      tools.call(name, { to: name }).catch((error) => error.message));
    return [await tools.call("pay", { to: "x" }), ...(await Promise.all(slow))];
  }`;

  test("runs again only if that has no further effect, and keeps the result that it had", async () => {
    const calls: string[] = [];
    let runs: () => unknown = () => new Promise(() => {});
    const slow = (name: string, more: Partial<Tool>): Tool => counted(name, calls, more, () => runs());
    const tools = [
      program(source),
      slow("slow_write", {}),
      slow("slow_read", { sideEffects: "read" }),
      slow("slow_again", { idempotent: true }),
      counted("pay", calls),
    ];
    const lives = new Lives(tools);
    const first = await lives.begin();
    await first.call();
    await first.waits(1);
    while (calls.length < 3) await new Promise(setImmediate);
    runs = () => 8;
    const second = await lives.begin();
    const [confirmation] = await second.waits(1);
    if (confirmation !== undefined) await second.answer(confirmation);
    const unknown = "Tool 'slow_write' was interrupted; whether it took effect is not known";
    expect((await second.result()).output).toEqual([7, unknown, 8, 8]);
    expect(calls.filter((each) => each.startsWith("slow_write"))).toHaveLength(1);
    expect(calls.filter((each) => each.startsWith("slow_read"))).toHaveLength(2);
  });

  test.each(
    STORES,
  )("gets the same key again, and is not repeated where it may get none: stores %s", async (_, open) => {
    await using stores = await open();
    const keys: unknown[] = [];
    const ends = { now: false };
    const tool = (name: string, more: Partial<Tool>): Tool =>
      ({
        name,
        description: "",
        inputSchema: {},
        sideEffects: "write",
        idempotent: true,
        host: async (_: unknown, { idempotencyKey }: { readonly idempotencyKey?: string }) => {
          keys.push(`${name} ${idempotencyKey}`);
          return ends.now ? 8 : new Promise(() => {});
        },
        ...more,
      }) as unknown as Tool;
    const tools = [
      program(source),
      tool("slow_write", { remote: { executor: "http://127.0.0.1:9" } }),
      tool("slow_read", { idempotent: false, sideEffects: "read" }),
      tool("slow_again", {}),
      counted("pay", []),
    ];
    const lives = new Lives(tools, stores);
    const first = await lives.begin();
    await first.call();
    await first.waits(1);
    while (keys.length < 3) await new Promise(setImmediate);
    ends.now = true;
    const second = await lives.begin();
    const [confirmation] = await second.waits(1);
    if (confirmation !== undefined) await second.answer(confirmation);
    const unknown = "Tool 'slow_write' was interrupted; whether it took effect is not known";
    expect((await second.result()).output).toEqual([7, unknown, 8, 8]);
    const again = keys.filter((key) => String(key).startsWith("slow_again"));
    expect(again).toEqual([expect.stringMatching(/^slow_again [0-9a-f]{64}$/), again[0]]);
    expect(keys.filter((key) => String(key).startsWith("slow_read"))).toEqual(
      Array(2).fill("slow_read undefined"),
    );
  });

  test("keeps the result that it had", async () => {
    const calls: string[] = [];
    const lives = new Lives([
      program(source),
      ...["slow_write", "slow_read", "slow_again"].map((name) => counted(name, calls)),
      counted("pay", calls),
    ]);
    const first = await lives.begin();
    await first.call();
    await first.waits(1);
    // The program goes on when they have ended, and is written again with their results.
    while ((await first.suspensions.list())[0]?.revision !== 2) await new Promise(setImmediate);
    const second = await lives.begin();
    const [confirmation] = await second.waits(1);
    if (confirmation !== undefined) await second.answer(confirmation);
    expect((await second.result()).output).toEqual([7, 7, 7, 7]);
    expect(calls).toHaveLength(4);
  });
});
