import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { AbandonedThreads } from "../../../src/sandboxes/threads/abandoned-threads.ts";
import type { PoolOutcome, PoolTaskOptions } from "../../../src/sandboxes/threads/pool-task.ts";
import { WorkerPool, type WorkerPoolOptions } from "../../../src/sandboxes/threads/worker-pool.ts";
import type { Step } from "../../fixtures/pool/entry.ts";

const entry = new URL("../../fixtures/pool/entry.ts", import.meta.url).href;
const SILENT = { output: () => {}, log: () => {} };

const pools: WorkerPool[] = [];
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
});

function open(options: WorkerPoolOptions): WorkerPool {
  const pool = new WorkerPool({ entry }, options);
  pools.push(pool);
  return pool;
}

interface Ran {
  readonly threadId: number;
  readonly artifact?: unknown;
  readonly reply?: string;
}

function run(
  pool: WorkerPool,
  step: Step,
  options: Partial<PoolTaskOptions> = {},
): Promise<PoolOutcome<Ran>> {
  return pool.run<Ran>(step, { wallTimeMs: undefined, signal: undefined, observer: SILENT, ...options });
}

const ANSWER: Step = { kind: "answer" };
const SPIN_FOREVER: Step = { kind: "spin", ms: 1e9 };
const isReturned = ({ status }: PoolOutcome<Ran>): boolean => status === "returned";

describe("threads of a pool", () => {
  test("a thread runs one task at a time, and waiting ones move to a thread as soon as it is free", async () => {
    const pool = open({ threads: 2 });
    await Promise.all([run(pool, ANSWER), run(pool, ANSWER)]);
    const long = run(pool, SPIN_FOREVER, { wallTimeMs: 2_000 });
    const short = Array.from({ length: 20 }, () => run(pool, { kind: "spin", ms: 1 }));
    const outcomes = await Promise.race([long, Promise.all(short)]);
    expect(outcomes).toHaveLength(20);
    expect((outcomes as PoolOutcome<Ran>[]).every(isReturned)).toBe(true);
    expect(await long).toMatchObject({ status: "timeout", started: true });
  });

  test("ending a thread ends its running task, but not those that wait in it", async () => {
    const pool = open({ threads: 1 });
    const running = run(pool, SPIN_FOREVER, { wallTimeMs: 50 });
    const waiting = Array.from({ length: 40 }, () => run(pool, ANSWER));
    expect(await running).toMatchObject({ status: "timeout", started: true });
    expect((await Promise.all(waiting)).every(isReturned)).toBe(true);
  });

  test.each<[Step, string]>([
    [{ kind: "exit" }, "exit code 3"],
    [{ kind: "throw later" }, "the step threw later"],
  ])("a thread that breaks ends its running task, but not those that wait in it: $kind", async (step, reason) => {
    const pool = open({ threads: 1 });
    const running = run(pool, step);
    const waiting = Array.from({ length: 20 }, () => run(pool, ANSWER));
    const outcome = await running;
    expect(outcome).toMatchObject({ status: "crashed", started: true });
    expect(String((outcome as { error?: unknown }).error)).toContain(reason);
    expect((await Promise.all(waiting)).every(isReturned)).toBe(true);
  });

  test("a thread that breaks before this process has read any message from it does not end the tasks that wait in it", async () => {
    const pool = open({ threads: 1 });
    const running = run(pool, { kind: "exit" });
    const waiting = Array.from({ length: 20 }, () => run(pool, ANSWER));
    await Promise.resolve();
    // Blocks this thread until the other one has ended.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
    expect(await running).toMatchObject({ status: "crashed", started: true });
    expect((await Promise.all(waiting)).every(isReturned)).toBe(true);
  });

  test("a thread continues after a task that throws", async () => {
    const pool = open({ threads: 1 });
    const before = await run(pool, ANSWER);
    expect(await run(pool, { kind: "throw" })).toMatchObject({ status: "crashed" });
    expect(await run(pool, ANSWER)).toMatchObject({ result: (before as { result?: Ran }).result });
  });

  test("a thread continues after tasks that cannot be sent to it, and runs those that were sent with them", async () => {
    const pool = open({ threads: 1 });
    await run(pool, ANSWER);
    const unsendable = { ...ANSWER, left: () => {} } as Step;
    // The first task is sent to an idle thread, and the others are sent together while it works.
    for (const busyWith of [unsendable, { kind: "spin", ms: 20 } satisfies Step]) {
      const first = run(pool, busyWith);
      const together = await Promise.all(
        [ANSWER, unsendable, ANSWER, unsendable].map((step) => run(pool, step)),
      );
      expect(together).toMatchObject([
        { status: "returned" },
        { status: "crashed", started: false },
        { status: "returned" },
        { status: "crashed", started: false },
      ]);
      expect((await first).status).toBe(busyWith === unsendable ? "crashed" : "returned");
    }
    const many = await Promise.all(Array.from({ length: 100 }, () => run(pool, ANSWER)));
    expect(many.every(isReturned)).toBe(true);
  });

  test("a thread gets an artifact even if the first task that needs it could not be sent", async () => {
    const pool = open({ threads: 1 });
    const artifact = { name: "a", value: "needed" };
    const unsendable = { ...ANSWER, left: () => {} } as Step;
    expect((await run(pool, unsendable, { artifact })).status).toBe("crashed");
    expect(await run(pool, ANSWER, { artifact })).toMatchObject({ result: { artifact: "needed" } });
  });

  test("a thread that fails to start is not restarted, and its tasks get the reason", async () => {
    const broken = new WorkerPool({ entry: `${entry}.missing` }, { threads: 1 });
    pools.push(broken);
    const outcomes = await Promise.all([run(broken, ANSWER), run(broken, ANSWER)]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: "unavailable", reason: expect.stringContaining("missing") });
    }
  });

  test("all output of a task arrives before its result", async () => {
    const pool = open({ threads: 1 });
    const chunks: string[] = [];
    const observer = { output: (chunk: string) => void chunks.push(chunk), log: () => {} };
    await run(pool, { kind: "tell", lines: 500 }, { observer });
    expect(chunks).toHaveLength(500);
    expect(chunks.at(-1)).toBe("499 ");
  });
});

describe("tasks", () => {
  test("a task that waits too long for a thread fails without having started", async () => {
    const pool = open({ threads: 1, maxWaitMs: 100 });
    // Starting a thread can take longer than a task may wait.
    while (!isReturned(await run(pool, ANSWER)));
    const running = run(pool, { kind: "sleep", ms: 400 });
    expect(await run(pool, ANSWER)).toEqual({
      status: "unavailable",
      reason: "no free thread within 100 ms",
      wallTimeMs: 0,
      hasWaited: true,
      waitedMs: expect.any(Number),
    });
    expect(isReturned(await running)).toBe(true);
  });

  test.each<[string, Partial<PoolTaskOptions>]>([
    ["principal", { caller: "bob", session: "1", tool: "a" }],
    ["session of the principal", { caller: "ann", session: "2", tool: "a" }],
    ["tool of the session", { caller: "ann", session: "1", tool: "b" }],
  ])("a task of another %s gets the next free thread", async (_case, other) => {
    const pool = open({ threads: 2 });
    await Promise.all([run(pool, ANSWER), run(pool, ANSWER)]);
    const begin = async (options: Partial<PoolTaskOptions>): Promise<bigint> => {
      const chunks: string[] = [];
      const observer = { ...SILENT, output: (chunk: string) => void chunks.push(chunk) };
      const outcome = await run(pool, { kind: "tell and sleep", ms: 40 }, { ...options, observer });
      expect(isReturned(outcome)).toBe(true);
      return BigInt(chunks.join(""));
    };
    const busy = Array.from({ length: 50 }, () => begin({ caller: "ann", session: "1", tool: "a" }));
    const others: { readonly submitted: bigint; readonly begun: bigint }[] = [];
    for (let i = 0; i < 3; i++) {
      await busy[8 * i];
      const beginning = begin(other);
      others.push({ submitted: process.hrtime.bigint(), begun: await beginning });
    }
    const begun = await Promise.all(busy);
    for (const one of others) {
      // Each thread may have taken a task when this one was submitted.
      const between = begun.filter((time) => time > one.submitted && time < one.begun);
      expect(between.length).toBeLessThanOrEqual(2);
    }
  });

  test("tasks of one caller that wait begin in the order of their submission, even after another one came", async () => {
    const pool = open({ threads: 1 });
    await run(pool, ANSWER);
    const ended: number[] = [];
    const busy = Array.from({ length: 200 }, async (_, i) => {
      await run(pool, ANSWER, { caller: "ann" });
      ended.push(i);
    });
    for (let i = 0; i < 20; i++) await run(pool, ANSWER, { caller: "bob" });
    await Promise.all(busy);
    expect(ended).toEqual(Array.from({ length: 200 }, (_, i) => i));
  });

  test("an outcome says how long its task waited, and what the call waited before counts", async () => {
    const pool = open({ threads: 1, maxWaitMs: 1_000 });
    while (!isReturned(await run(pool, ANSWER)));
    expect(await run(pool, ANSWER)).not.toHaveProperty("waitedMs");
    const running = run(pool, { kind: "sleep", ms: 300 });
    const waiting = run(pool, ANSWER);
    expect(await run(pool, ANSWER, { waitedMs: 990 })).toMatchObject({
      status: "unavailable",
      hasWaited: true,
    });
    await running;
    const { waitedMs = 0, wallTimeMs } = await waiting;
    expect(waitedMs).toBeGreaterThan(wallTimeMs);
  });

  test("cancelling a waiting task does not end a thread", async () => {
    const pool = open({ threads: 1 });
    const { result: before } = (await run(pool, ANSWER)) as { result?: Ran };
    const running = run(pool, { kind: "sleep", ms: 50 });
    const cancel = new AbortController();
    const waiting = run(pool, SPIN_FOREVER, { signal: cancel.signal });
    cancel.abort();
    expect(await waiting).toMatchObject({ status: "cancelled", started: false, wallTimeMs: 0 });
    await running;
    expect(await run(pool, ANSWER)).toMatchObject({ result: before });
  });

  test("cancelling a running task ends it", async () => {
    const pool = open({ threads: 1 });
    await run(pool, ANSWER);
    const cancel = new AbortController();
    const running = run(pool, SPIN_FOREVER, { signal: cancel.signal });
    await new Promise((resolve) => setTimeout(resolve, 30));
    cancel.abort();
    expect(await running).toMatchObject({ status: "cancelled", started: true });
  });

  test("a task gets its artifact in every thread, and not one that was deleted", async () => {
    const pool = open({ threads: 2 });
    const artifact = { name: "a", value: { big: "thing" } };
    const steps = Array.from({ length: 8 }, () => run(pool, { kind: "spin", ms: 2 }, { artifact }));
    for (const outcome of await Promise.all(steps)) {
      expect(outcome).toMatchObject({ result: { artifact: { big: "thing" } } });
    }
    pool.forget("a");
    const changed = { name: "a", value: "another" };
    expect(await run(pool, ANSWER, { artifact: changed })).toMatchObject({ result: { artifact: "another" } });
  });

  test("a task gets its artifact even if it has been evicted", async () => {
    const pool = open({ threads: 1 });
    for (let i = 0; i < 100; i++) {
      const artifact = { name: `n${i % 50}`, value: i % 50 };
      expect(await run(pool, ANSWER, { artifact })).toMatchObject({ result: { artifact: i % 50 } });
    }
  });
});

describe("tasks that send requests", () => {
  test("other tasks run while a task waits for the reply to its request", async () => {
    const pool = open({ threads: 2 });
    await Promise.all([run(pool, ANSWER), run(pool, ANSWER)]);
    const { promise: reply, resolve } = Promise.withResolvers<string>();
    const asking = run(pool, { kind: "ask", text: "?" }, { onRequest: () => reply });
    const others = await Promise.all(Array.from({ length: 20 }, () => run(pool, ANSWER)));
    expect(others.every(isReturned)).toBe(true);
    resolve("!");
    expect(await asking).toMatchObject({ result: { reply: "!" } });
  });

  test("a thread takes over tasks of another after a reply, and each runs once", async () => {
    const pool = open({ threads: 2, maxWaitMs: 2_000 });
    await Promise.all([run(pool, ANSWER), run(pool, ANSWER)]);
    const { promise: reply, resolve } = Promise.withResolvers<string>();
    const asking = run(pool, { kind: "ask", text: "?" }, { onRequest: () => reply });
    const chunks: string[] = [];
    const observer = { output: (chunk: string) => void chunks.push(chunk), log: () => {} };
    let count = 0;
    const others = Array.from({ length: 31 }, async () => {
      const outcome = await run(pool, { kind: "tell and sleep", ms: 5 }, { observer });
      // At this point, no task waits in the pool, and many wait in the other thread.
      if (++count === 18) resolve("!");
      return outcome;
    });
    expect((await Promise.all(others)).every(isReturned)).toBe(true);
    expect(await asking).toMatchObject({ result: { reply: "!" } });
    expect(chunks).toHaveLength(31);
  });

  test("a request that arrives after the task is cancelled is not served", async () => {
    const pool = open({ threads: 1 });
    await run(pool, ANSWER);
    const asks = new Int32Array(new SharedArrayBuffer(4));
    const cancel = new AbortController();
    const asked: unknown[] = [];
    const onRequest = async (text: unknown): Promise<unknown> => {
      asked.push(text);
      return "";
    };
    const step: Step = { kind: "ask", text: "?", asks };
    const asking = run(pool, step, { signal: cancel.signal, onRequest });
    // The request has been sent, but arrives only after the task is cancelled.
    Atomics.wait(asks, 0, 0);
    Atomics.wait(asks, 0, 1, 50);
    cancel.abort();
    expect(await asking).toMatchObject({ status: "cancelled", started: true });
    expect(asked).toEqual([]);
    expect(isReturned(await run(pool, ANSWER))).toBe(true);
  });

  test("tasks that wait for nested tasks do not starve them", async () => {
    const pool = open({ threads: 1 });
    const ask = (nesting: number): Promise<PoolOutcome<Ran>> =>
      nesting === 3
        ? run(pool, ANSWER, { nesting })
        : run(
            pool,
            { kind: "ask", text: "" },
            {
              nesting,
              onRequest: async () => (await ask(nesting + 1)).status,
            },
          );
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => ask(0)));
    for (const outcome of outcomes) expect(outcome).toMatchObject({ result: { reply: "returned" } });
  });

  test("a task that waits for a reply is ended at its deadline", async () => {
    const pool = open({ threads: 1 });
    const never = new Promise<string>(() => {});
    const asking = run(pool, { kind: "ask", text: "?" }, { wallTimeMs: 50, onRequest: () => never });
    expect(await asking).toMatchObject({ status: "timeout", started: true });
    expect(isReturned(await run(pool, ANSWER))).toBe(true);
  });
});

describe("slow tools", () => {
  /** Tasks that occupy their threads until the test releases them. */
  class Holding {
    readonly begun: string[] = [];
    readonly #release: (() => void)[] = [];

    run(pool: WorkerPool, tool: string): Promise<PoolOutcome<Ran>> {
      const onRequest = (): Promise<string> => {
        this.begun.push(tool);
        return new Promise((resolve) => this.#release.push(() => resolve("")));
      };
      return run(pool, { kind: "ask", text: "" }, { tool, onRequest });
    }

    /** Waits until `count` tasks have started in total. */
    async until(count: number): Promise<void> {
      while (this.begun.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
    }

    release(): void {
      this.#release.shift()?.();
    }
  }

  async function meetDeadline(pool: WorkerPool, tool: string): Promise<void> {
    const outcome = await run(pool, SPIN_FOREVER, { tool, wallTimeMs: 60 });
    expect(outcome).toMatchObject({ status: "timeout", started: true });
  }

  test("a slow tool does not occupy the threads of others, but still runs", async () => {
    const pool = open({ threads: 2 });
    await meetDeadline(pool, "slow");
    await meetDeadline(pool, "slow too");
    const holding = new Holding();
    const tools = ["slow", "slow", "slow", "slow too", "slow too", "slow too"];
    const held = tools.map((tool) => holding.run(pool, tool));
    const others = Array.from({ length: 200 }, () => run(pool, ANSWER, { tool: "quick" }));
    expect((await Promise.all(others)).every(isReturned)).toBe(true);
    // Each slow tool has one thread, so neither waits for all calls of the other.
    await holding.until(2);
    expect([...holding.begun].sort()).toEqual(["slow", "slow too"]);
    for (let count = 3; count <= tools.length; count++) {
      holding.release();
      await holding.until(count);
    }
    holding.release();
    holding.release();
    expect((await Promise.all(held)).every(isReturned)).toBe(true);
    expect([...holding.begun].sort()).toEqual([...tools].sort());
  });

  test("the waiting tasks of a tool that becomes slow leave the normal threads", async () => {
    const pool = open({ threads: 1 });
    const slow = meetDeadline(pool, "slow");
    const holding = new Holding();
    const held = Array.from({ length: 40 }, () => holding.run(pool, "slow"));
    const other = run(pool, ANSWER, { tool: "quick" });
    await slow;
    expect(isReturned(await other)).toBe(true);
    for (let count = 1; count <= held.length; count++) {
      await holding.until(count);
      holding.release();
    }
    expect((await Promise.all(held)).every(isReturned)).toBe(true);
  });

  test("a task of a slow tool waits no longer for a thread than any other", async () => {
    const pool = open({ threads: 1, maxWaitMs: 400 });
    while (!isReturned(await run(pool, ANSWER)));
    await meetDeadline(pool, "slow");
    const holding = new Holding();
    const first = holding.run(pool, "slow");
    expect(await holding.run(pool, "slow")).toMatchObject({ status: "unavailable" });
    if (holding.begun.length > 0) holding.release();
    await first;
  });

  test("closing a pool cancels the tasks of slow tools", async () => {
    const pool = open({ threads: 1 });
    await meetDeadline(pool, "slow");
    const holding = new Holding();
    const held = [holding.run(pool, "slow"), holding.run(pool, "slow")];
    await holding.until(1);
    await pool.close();
    expect(await Promise.all(held)).toMatchObject([
      { status: "cancelled", started: true },
      { status: "cancelled", started: false },
    ]);
  });
});

test("a pool works in a program that is run with --input-type or flags of V8", () => {
  const program = `
    import { WorkerPool } from ${JSON.stringify(new URL("../../../src/sandboxes/threads/worker-pool.ts", import.meta.url).href)};
    const pool = new WorkerPool({ entry: ${JSON.stringify(entry)} }, { threads: 1 });
    const options = { wallTimeMs: 5_000, observer: { output() {}, log() {} } };
    console.log((await pool.run({ kind: "answer" }, options)).status);
    await pool.close();
  `;
  const flags = ["--expose-gc", "--input-type=module", "-e", program];
  const said = execFileSync(process.execPath, flags, { encoding: "utf8" });
  expect(said.trim()).toBe("returned");
});

const threads = (): number => readdirSync("/proc/self/task").length;
const canCount = existsSync("/proc/self/task");

test.runIf(process.platform !== "win32")(
  "an abandoned thread that ends late is no longer counted, and calls of its tool run again",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "sandgate-pool-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const abandoned = new AbandonedThreads(1);
    const pool = new WorkerPool({ entry }, { threads: 1, abandoned });
    pools.push(pool);
    const reading = run(pool, { kind: "read", path: pipe }, { tool: "reader", wallTimeMs: 50 });
    expect(await reading).toMatchObject({ status: "timeout", started: true, mayStillRun: true });
    expect(abandoned.count).toBe(1);
    expect(await run(pool, ANSWER, { tool: "reader" })).toMatchObject({
      status: "unavailable",
      reason: "a thread that runs an earlier call of the tool could not be terminated",
    });
    expect(isReturned(await run(pool, ANSWER, { tool: "other" }))).toBe(true);
    await writeFile(pipe, "");
    await expect.poll(() => abandoned.count).toBe(0);
    expect(isReturned(await run(pool, ANSWER, { tool: "reader" }))).toBe(true);
  },
);

describe("closing a pool", () => {
  test.runIf(canCount)(
    `closing a pool ends all threads, even new and busy ones${canCount ? "" : " (this system does not list threads)"}`,
    async () => {
      const close = async (delayMs: number): Promise<void> => {
        const pool = new WorkerPool({ entry }, { threads: 2 });
        const running = [SPIN_FOREVER, SPIN_FOREVER, ANSWER].map((step) => run(pool, step));
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        await pool.close();
        for (const { status } of await Promise.all(running))
          expect(["cancelled", "returned"]).toContain(status);
      };
      await close(100);
      const before = threads();
      for (const delayMs of [0, 1, 5, 20, 30, 40, 60, 100]) await close(delayMs);
      await expect.poll(threads).toBeLessThanOrEqual(before);
    },
  );

  test("closing a pool waits for threads that were already being ended", async () => {
    const pool = open({ threads: 1 });
    await run(pool, ANSWER);
    const begins = new Int32Array(new SharedArrayBuffer(4));
    const cancel = new AbortController();
    const running = run(pool, { kind: "be deaf", begins }, { signal: cancel.signal });
    Atomics.wait(begins, 0, 0);
    cancel.abort();
    // This task runs in the replacement.
    await run(pool, ANSWER);
    await pool.close();
    expect(await Promise.race([running, Promise.resolve("still there")])).toMatchObject({ started: true });
  });

  test("a closed pool accepts no tasks, and can be closed again", async () => {
    const pool = open({ threads: 1 });
    await pool.close();
    await pool.close();
    expect(await run(pool, ANSWER)).toMatchObject({ status: "unavailable", reason: "the pool is closed" });
  });
});
