import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../../src/engine/call/execution.ts";
import { type Executor, startExecutor } from "../../../../src/executor/executor.ts";
import { HostPolicy } from "../../../../src/policy/policy.ts";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { executorTools } from "../../../fixtures/executor/tools.ts";
import { callOn, execution, RawPeer, response } from "./setting.ts";

const sandboxes = await openSandboxes();
afterAll(() => sandboxes.close());

const start = (limits: { inFlight?: number; queued?: number } = {}): Promise<Executor> =>
  startExecutor({
    listen: "127.0.0.1:0",
    registry: executorTools(),
    policy: new HostPolicy(),
    sandboxes,
    limits,
  });

const originOf = ({ receipt }: ToolExecution): string | undefined => receipt.used.contacted?.at(-1)?.origin;

describe("several executors behind one tool", () => {
  test("executors take turns, and the one with the fewest calls gets the next", async () => {
    await using one = await start();
    await using other = await start();
    const urls = [`http://${one.address}`, `http://${other.address}`];
    const running = Array.from({ length: 6 }, () =>
      callOn(urls, "sleep", sandboxes, { input: { ms: 300, answer: 1 } }),
    );
    const counts = new Map<string | undefined, number>();
    for (const each of await Promise.all(running)) {
      counts.set(originOf(each), (counts.get(originOf(each)) ?? 0) + 1);
    }
    expect([...counts.values()]).toEqual([3, 3]);
  });

  test("executors replace one that is unreachable", async () => {
    await using one = await start();
    const urls = ["http://127.0.0.1:1", `http://${one.address}`];
    for (let n = 0; n < 8; n++) {
      const result = await callOn(urls, "echo", sandboxes, { input: { n } });
      expect(result.output).toEqual({ n });
      expect(originOf(result)).toBe(urls[1]);
    }
  });

  test("executors replace one that is overloaded", async () => {
    await using full = await start({ inFlight: 1, queued: 1 });
    await using free = await start();
    const busy = [0, 1].map(() =>
      callOn(`http://${full.address}`, "sleep", sandboxes, { input: { ms: 600, answer: 1 } }),
    );
    await sleep(50);
    const urls = [`http://${full.address}`, `http://${free.address}`];
    const results = await Promise.all(
      Array.from({ length: 4 }, (_, n) => callOn(urls, "echo", sandboxes, { input: { n } })),
    );
    expect(results.map(({ output }) => output)).toEqual([0, 1, 2, 3].map((n) => ({ n })));
    expect((await Promise.all(busy)).map(({ success }) => success)).toEqual([true, true]);
  });

  test("executors do not get calls that another one may have run", async () => {
    const breaking = new RawPeer();
    const honest = new RawPeer();
    const urls = [await breaking.start(), await honest.start()];
    breaking.answer((socket) => socket.resetAndDestroy());
    honest.answer((socket, request) => socket.write(response(200, execution(request))));
    const results: ToolExecution[] = [];
    for (let n = 0; n < 4; n++) {
      results.push(await callOn(urls, "tool", sandboxes, { limits: { wallTimeMs: 1_000 }, input: { n } }));
    }
    const failed = results.filter(({ success }) => !success);
    expect(failed).toHaveLength(breaking.seen.length);
    for (const { error } of failed) expect(error?.effect).toBe("unknown");
    expect(breaking.seen.length + honest.seen.length).toBe(4);
    await Promise.all([breaking.stop(), honest.stop()]);
  });
});
