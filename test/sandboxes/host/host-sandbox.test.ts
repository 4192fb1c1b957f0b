import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import type { ResourceLimits } from "../../../src/policy/grant/limits.ts";
import { allow } from "../../../src/policy/policy.ts";
import { BoundGrant } from "../../../src/sandboxes/contract/bound-grant.ts";
import type { SandboxOutcome } from "../../../src/sandboxes/contract/outcome.ts";
import type { SandboxTask } from "../../../src/sandboxes/contract/sandbox.ts";
import { HostSandbox } from "../../../src/sandboxes/host/host-sandbox.ts";
import type { HostContext, HostInstance } from "../../../src/tool/implementations/implementations.ts";
import { contextFor, dispatchTool, hostTool, recordEvents } from "../../engine/helpers.ts";

async function run(
  host: Parameters<typeof hostTool>[0] | { create(): HostInstance },
  limits: ResourceLimits = {},
): Promise<ToolExecution> {
  const policy = { check: () => allow({ sandbox: "host", limits }) };
  return dispatchTool(await contextFor([hostTool(host as never)], { policy }));
}

const EMPTY = {};

describe("host functions", () => {
  test("a host function gets the call's ids and the embedder's value unchanged", async () => {
    const embedder = { user: new Map() };
    const seen: Partial<HostContext>[] = [];
    const tool = hostTool((_input, { callId, sessionId, toolName, embedder: passed }) => {
      seen.push({ callId, sessionId, toolName, embedder: passed });
    });
    await dispatchTool(await contextFor([tool], { embedder }));
    expect(seen).toEqual([{ callId: "call", sessionId: "session", toolName: "tool", embedder }]);
    expect(seen[0]?.embedder).toBe(embedder);
  });

  test("a host function streams output and log lines as events only while it runs", async () => {
    const { events, seen } = recordEvents();
    let late: HostContext | undefined;
    const tool = hostTool((_input, context) => {
      context.onOutput("first");
      context.logger.warn("careful");
      late = context;
      return "end";
    });
    await dispatchTool(await contextFor([tool], { events }));
    late?.onOutput("too late");
    late?.logger.info("too late");
    expect(seen).toMatchObject([
      { type: "tool.started", grant: { sandbox: "host" } },
      { type: "tool.output", chunk: "first" },
      { type: "tool.log", level: "warn", message: "careful" },
      { type: "tool.completed", execution: { output: "end" } },
    ]);
  });

  test("a host function can destructure its context", async () => {
    const { events, seen } = recordEvents();
    const cancel = new AbortController();
    const known: unknown[] = [];
    let heard = false;
    const tool = hostTool(
      async (_input, { callId, sessionId, toolName, embedder, signal, logger, onOutput }) => {
        const { debug, info, warn, error } = logger;
        for (const log of [debug, info, warn, error]) log("line");
        for (const chunk of ["first", "second"]) onOutput(chunk);
        known.push(callId, sessionId, toolName, embedder);
        const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
        cancel.abort();
        await aborted;
        heard = true;
      },
    );
    await dispatchTool(await contextFor([tool], { events, embedder: "it", signal: cancel.signal }));
    expect(known).toEqual(["call", "session", "tool", "it"]);
    expect(heard).toBe(true);
    expect(seen.filter(({ type }) => type === "tool.log" || type === "tool.output")).toMatchObject([
      ...["debug", "info", "warn", "error"].map((level) => ({ level, message: "line" })),
      ...["first", "second"].map((chunk) => ({ chunk })),
    ]);
  });

  test("the chunks of all copies of onOutput are counted together", async () => {
    const { receipt, output } = await run((_input, context) => {
      const { onOutput } = context;
      onOutput("12");
      context.onOutput("345");
      return "";
    });
    expect([output, receipt.used.outputBytes]).toEqual(["", 7]);
  });

  test("the chunks of a host function count against its output limit", async () => {
    const { error } = await run(
      async (_input, context) => {
        for (let i = 0; i < 100; i++) context.onOutput("x".repeat(10));
        await new Promise((resolve) => setTimeout(resolve, 1));
        return "done";
      },
      { outputBytes: 500 },
    );
    expect(error).toMatchObject({ code: "limit_exceeded", message: "Tool exceeded 500 B output limit" });
  });

  test("the signal of a host function is aborted at its deadline, and a late result is dropped", async () => {
    let heard = false;
    const { error, output } = await run(
      (_input, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            heard = true;
            resolve("late");
          });
        }),
      { wallTimeMs: 20 },
    );
    expect([heard, output]).toEqual([true, null]);
    // The function finished its work, which matters for retries.
    expect(error).toMatchObject({ code: "timeout", effect: "committed" });
  });

  test("the receipt of a host function that does not stop at its deadline says that it may still run", async () => {
    const stubborn = await run(() => new Promise(() => {}), { wallTimeMs: 10 });
    expect(stubborn.error).toMatchObject({ code: "timeout", effect: "unknown" });
    expect(stubborn.receipt.mayStillRun).toBe(true);
    const stopping = await run(
      (_input, { signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
      { wallTimeMs: 10 },
    );
    expect(stopping.error?.code).toBe("timeout");
    expect(stopping.receipt).not.toHaveProperty("mayStillRun");
  });

  test("a host function that is cancelled before it returns its promise is not awaited", async () => {
    const cancel = new AbortController();
    const tool = hostTool(() => {
      cancel.abort();
      return new Promise(() => {});
    });
    const { error } = await dispatchTool(await contextFor([tool], { signal: cancel.signal }));
    expect(error?.code).toBe("cancelled");
  });

  test("a host function that blocks the process beyond its deadline times out, although its work is done", async () => {
    const { error } = await run(
      () => {
        const end = performance.now() + 30;
        while (performance.now() < end);
        return "done";
      },
      { wallTimeMs: 10 },
    );
    expect(error).toMatchObject({ code: "timeout", effect: "committed" });
  });

  test("a host function that reads its signal only after the deadline finds it aborted", async () => {
    let aborted: boolean | undefined;
    await run(
      async (_input, context) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        aborted = context.signal.aborted;
      },
      { wallTimeMs: 5 },
    );
    await expect.poll(() => aborted).toBe(true);
  });
});

describe("errors of host tools", () => {
  const thrownBy = async (thrown: unknown): Promise<string | undefined> =>
    (
      await run(() => {
        throw thrown;
      })
    ).error?.message;

  test("the message of a host tool's error omits this machine's folders", async () => {
    expect(await thrownBy(new Error(`cannot open ${process.cwd()}/a/b, ${tmpdir()}/x`))).toBe(
      "cannot open a/b, x",
    );
    expect(await thrownBy(`is ${process.cwd()} there?`)).toBe("is . there?");
    expect(await thrownBy(new Error(`in ${pathToFileURL(process.cwd()).href}/a.js`))).toBe("in a.js");
  });

  test("the message of a host tool's error keeps paths that only resemble this machine's folders", async () => {
    const message = `https://example.org${tmpdir()}/y and ${tmpdir()}fs and ${tmpdir()}.old`;
    expect(await thrownBy(new Error(message))).toBe(message);
  });

  test("the message of a host tool's error omits the paths of system errors", async () => {
    const message = await run(() => readFile("/no/such/place/key.pem")).then(({ error }) => error?.message);
    expect(message).toBe("ENOENT: no such file or directory, open 'key.pem'");
  });

  test.each<[string, unknown, string]>([
    ["a string", "plain words", "plain words"],
    ["an object", { status: 7 }, '{"status":7}'],
    ["undefined", undefined, "Tool failed without a message"],
    ["null", null, "Tool failed without a message"],
    ["a symbol", Symbol("s"), "Tool failed without a message"],
    [
      "a proxy that throws",
      new Proxy({}, { getPrototypeOf: () => Number("x") as never }),
      "Tool failed without a message",
    ],
  ])("a host tool can throw %s", async (_case, thrown, message) => {
    expect(await thrownBy(thrown)).toBe(message);
  });
});

describe("host factories", () => {
  test("a host factory creates an instance for each call", async () => {
    let made = 0;
    const create = (): HostInstance => {
      const number = ++made;
      return { execute: () => number, cancel: async () => true };
    };
    const ctx = await contextFor([hostTool({ create } as never)]);
    expect([(await dispatchTool(ctx)).output, (await dispatchTool(ctx)).output]).toEqual([1, 2]);
  });

  test("a host factory can have a member 'module' that is undefined", async () => {
    const create = (): HostInstance => ({ execute: () => "made", cancel: async () => true });
    const { output } = await dispatchTool(
      await contextFor([hostTool({ create, module: undefined } as never)]),
    );
    expect(output).toBe("made");
  });

  test("an instance that a host factory returns a second time is refused before it runs", async () => {
    let runs = 0;
    const instance: HostInstance = { execute: () => ++runs, cancel: async () => true };
    const ctx = await contextFor([hostTool({ create: () => instance } as never)]);
    expect((await dispatchTool(ctx)).output).toBe(1);
    const second = await dispatchTool(ctx);
    expect(second.error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    expect(runs).toBe(1);
  });

  test("a host factory's instance is cancelled once at the deadline, even if cancel() throws", async () => {
    let cancelled = 0;
    const cancel = async (): Promise<boolean> => {
      cancelled++;
      throw new Error("cannot stop");
    };
    const create = (): HostInstance => ({ execute: () => new Promise(() => {}), cancel });
    const { error } = await run({ create }, { wallTimeMs: 10 });
    expect(error).toMatchObject({ code: "timeout", effect: "unknown" });
    expect(cancelled).toBe(1);
  });

  test("a host factory that throws fails the call with its message", async () => {
    const create = (): HostInstance => {
      throw new Error("out of instances");
    };
    expect((await run({ create })).error).toMatchObject({
      code: "execution_error",
      message: "out of instances",
    });
  });

  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["a number", 7],
    ["a promise", Promise.resolve({})],
    ["an object without execute()", { cancel: async () => true }],
  ])("a host factory that returns %s fails the call before anything runs", async (_case, made) => {
    const { error } = await run({ create: () => made as HostInstance });
    expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
  });
});

describe("outcomes of asynchronous host functions", () => {
  const task = (host: () => unknown): SandboxTask => {
    const unbound = {
      callId: "call",
      sessionId: "session",
      toolName: "tool",
      implementations: { host },
      input: EMPTY,
      canonical: new CanonicalJson(EMPTY),
      limits: {},
      capabilities: {},
      signal: undefined,
      observer: { output: () => {}, log: () => {} },
      embedder: undefined,
    };
    return {
      ...unbound,
      grant: new BoundGrant({ ...unbound, sandbox: "host", definition: unbound.canonical }),
    };
  };

  test("the outcome of a host function can be awaited several times, before and after it ends", async () => {
    const outcome = new HostSandbox().run(task(async () => "done"));
    const statusOf = async (): Promise<SandboxOutcome["status"]> => (await outcome).status;
    const early = [statusOf(), statusOf(), statusOf()];
    expect(await Promise.all(early)).toEqual(["completed", "completed", "completed"]);
    expect(await statusOf()).toBe("completed");
  });

  test("closing the sandbox ends a host function that never settles", async () => {
    const sandbox = new HostSandbox();
    const outcome = sandbox.run(task(() => new Promise(() => {})));
    const told = Promise.resolve(outcome);
    await sandbox.close();
    expect(await told).toMatchObject({ status: "cancelled", effect: "unknown" });
  });
});
