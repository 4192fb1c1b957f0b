import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { ask, deny, type RuntimePolicy } from "../../../src/policy/policy.ts";
import { programTools } from "../../../src/programs/program-tools.ts";
import { MemorySuspensionStore } from "../../../src/programs/stores/recorded-store.ts";
import type { Confirmation } from "../../../src/sessions/confirmations/confirmation.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { Lives } from "./lives.ts";
import { counted, program, programPolicy } from "./setting.ts";

const ALL = `export default async ({ to }, { tools }) => {
  const kept = new Map([["a", 1]]);
  const paid = await Promise.all(to.map((each) => tools.call("pay", { to: each }).catch((error) => error.code)));
  return { paid, kept: kept.get("a") };
}`;

describe("A program that waits for a person", () => {
  test("continues in another process, with the same questions, and makes each call once", async () => {
    const calls: string[] = [];
    const lives = new Lives([program(ALL), counted("pay", calls)]);
    const first = await lives.begin();
    await first.call({ to: ["x", "y", "z"] });
    const asked = await first.waits(3);
    const second = await lives.begin();
    const again = await second.waits(3);
    expect(again).toEqual(asked);
    for (const [index, confirmation] of again.toReversed().entries()) {
      await second.answer(confirmation, index === 1 ? "deny" : "allow");
    }
    expect((await second.result()).output).toEqual({ paid: [7, "user_denied", 7], kept: 1 });
    expect(calls.toSorted()).toEqual(["pay x", "pay z"]);
    expect(await second.suspensions.list()).toEqual([]);
  });

  test("goes on after any answer, and is suspended anew for the others", async () => {
    const calls: string[] = [];
    const lives = new Lives([program(ALL), counted("pay", calls)]);
    const first = await lives.begin();
    await first.call({ to: ["x", "y", "z"] });
    await first.waits(3);
    for (const left of [3, 2, 1]) {
      const life = await lives.begin();
      const [confirmation] = await life.waits(left);
      if (confirmation !== undefined) await life.answer(confirmation);
      if (left > 1) await life.suspended();
      else expect(await life.result()).toMatchObject({ output: { paid: [7, 7, 7] } });
    }
    expect(calls).toHaveLength(3);
  });

  test.each([
    ["asks", true],
    ["denies everything", false],
  ])("keeps what a person approved beyond its call if the process died before, and the policy then %s", async (_what, asks) => {
    const calls: string[] = [];
    const rules = (effect: "ask" | "deny"): RuntimePolicy => ({
      check: (request) => {
        if (request.tool.name !== "pay") return programPolicy().check(request);
        return effect === "deny"
          ? deny("no")
          : ask("Pay?", { grant: { sandbox: "host" }, remember: "session" });
      },
    });
    const lives = new Lives([program(ALL), counted("pay", calls)]);
    const first = await lives.begin({ policy: rules("ask") });
    await first.call({ to: ["x"] });
    const [confirmation] = await first.waits(1);
    await first.suspended();
    // The answer is written, and nothing of what follows from it.
    const answer = { decision: "allow", choice: "always", by: "ann", at: Date.now() } as const;
    await lives.sessionStore.resolveConfirmation((confirmation as Confirmation).id, answer);
    const second = await lives.begin({ policy: rules(asks ? "ask" : "deny") });
    expect((await second.result()).output).toMatchObject({ paid: [asks ? 7 : "permission_denied"] });
    const session = second.sessions.get((confirmation as Confirmation).sessionId);
    expect(session?.approvals()).toMatchObject([{ approval: { tools: ["pay"], by: "ann" } }]);
  });

  test("stays suspended when its sessions are closed", async () => {
    const calls: string[] = [];
    const lives = new Lives([program(ALL), counted("pay", calls)]);
    const first = await lives.begin();
    const [results] = await first.call({ to: ["x"] });
    const asked = await first.waits(1);
    await first.sessions.close();
    expect((await results)?.[0]?.error?.code).toBe("cancelled");
    const second = await lives.begin();
    expect(await second.waits(1)).toEqual(asked);
    await second.answer((await second.waits(1))[0] as never);
    expect((await second.result()).output).toMatchObject({ paid: [7] });
  });

  test("is forgotten when its turn is cancelled, in this process or in the next one", async () => {
    const lives = new Lives([program(ALL), counted("pay", [])]);
    const first = await lives.begin();
    await first.call({ to: ["x"] });
    await first.waits(1);
    const second = await lives.begin();
    await second.waits(1);
    await second.sessions.get("s1")?.cancel();
    expect(await second.result()).toMatchObject({ error: { code: "cancelled" } });
    expect(second.sessions.openConfirmations()).toEqual([]);
    expect(await second.suspensions.list()).toEqual([]);
  });

  test("does not hold the places of its session while it waits", async () => {
    const lives = new Lives([program(ALL), counted("pay", []), counted("read", [], { sideEffects: "read" })]);
    const life = await lives.begin({ limits: { concurrency: 1 } });
    await life.call({ to: ["x"] });
    await life.waits(1);
    const turn = life.sessions.get("s1")?.turn();
    expect(await turn?.dispatch({ id: "r", name: "read", arguments: { to: "a" } })).toMatchObject({
      output: 7,
    });
    await life.answer((await life.waits(1))[0] as never);
  });

  test("can wait for 64 answers in any order, in two processes", async () => {
    const calls: string[] = [];
    const lives = new Lives([program(ALL), counted("pay", calls)]);
    const to = Array.from({ length: 64 }, (_, index) => `${index}`);
    const first = await lives.begin();
    await first.call({ to });
    await first.waits(32);
    const second = await lives.begin();
    for (let left = 64; left > 0; left--) {
      const open = await second.waits(Math.min(left, 32));
      await second.answer(open[(left * 7) % open.length] as never);
    }
    expect((await second.result()).output).toMatchObject({ paid: to.map(() => 7) });
    expect(calls.toSorted()).toEqual(to.map((each) => `pay ${each}`).toSorted());
  });

  test("goes on with the programs that it called, which wait themselves", async () => {
    const calls: string[] = [];
    const inner = `export default async ({ to }, { tools }) => 1 + (await tools.call("pay", { to }));`;
    const outer = `export default async (input, { tools }) =>
      (await Promise.all(["x", "y"].map((to) => tools.call("program_inner", { to })))).join();`;
    const tools = [
      program(outer, { name: "program" }),
      program(inner, { name: "program_inner" }),
      counted("pay", calls),
    ];
    const policy = programPolicy();
    const lives = new Lives(tools);
    const first = await lives.begin({ policy });
    await first.call();
    const asked = await first.waits(2, 3);
    const second = await lives.begin({ policy });
    expect(await second.waits(2, 3)).toEqual(asked);
    for (const confirmation of asked) await second.answer(confirmation);
    expect((await second.result()).output).toBe("8,8");
    expect(calls.toSorted()).toEqual(["pay x", "pay y"]);
    expect(await second.suspensions.list()).toEqual([]);
  });

  test("may be code of the model, whose calls are reported from before and after", async () => {
    const calls: string[] = [];
    const pay = counted("pay", calls);
    const read = counted("read", calls, { sideEffects: "read" });
    const registry = new ToolRegistry().register(pay).register(read);
    const policy = programPolicy({}, ["run_program"]);
    const lives = new Lives([pay, read, ...programTools(registry)]);
    const first = await lives.begin({ policy });
    const code = `const before = await tools.read({ to: "r" }); return before + (await tools.pay({ to: "x" }));`;
    await first.call({ code }, "run_program");
    await first.waits(1);
    const second = await lives.begin({ policy });
    await second.answer((await second.waits(1))[0] as never);
    const { output, work } = await second.result();
    expect(output).toBe(14);
    expect(work).toMatchObject({
      calls: [{ tool: "read" }, { tool: "pay", decision: { allowedBy: "eve" } }],
    });
    expect(calls).toEqual(["read r", "pay x"]);
  });
});

test("A call that ended while its program was being written is reported once", async () => {
  const calls: string[] = [];
  const tools = [counted("pay", calls), counted("read", calls, { sideEffects: "read" })];
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  const policy = programPolicy({}, ["run_program"]);
  const programs = new MemorySuspensionStore();
  const has = programs.hasTemplate.bind(programs);
  const put = programs.put.bind(programs);
  const stores = { sessions: new MemorySessionStore(), programs };
  const lives = new Lives([...tools, ...programTools(registry)], stores);
  // The process is lost as soon as the program is written, which waits until the call has ended.
  Object.assign(programs, {
    hasTemplate: async (digest: string) => {
      while (calls.length < 1) await new Promise(setImmediate);
      await new Promise((resolve) => setTimeout(resolve, 20));
      return has(digest);
    },
    put: (...written: Parameters<typeof put>) => {
      put(...written);
      return new Promise(() => {});
    },
  });
  const first = await lives.begin({ policy });
  const code = `return Promise.all([tools.pay({ to: "x" }), tools.read({ to: "r" })])`;
  await first.call({ code }, "run_program");
  while ((await first.suspensions.list()).length === 0) await new Promise(setImmediate);
  Object.assign(programs, { hasTemplate: has, put });
  const second = await lives.begin({ policy });
  await second.answer((await second.waits(1))[0] as never);
  const { output, work } = await second.result();
  expect(output).toEqual([7, 7]);
  expect(calls).toEqual(["read r", "pay x"]);
  expect(work?.calls.map(({ tool }) => tool)).toEqual(["read", "pay"]);
});

test("A program that continues in another process can list its tools there", async () => {
  const registry = new ToolRegistry().register(counted("pay", []));
  const policy = programPolicy({}, ["run_program"]);
  const lives = new Lives([counted("pay", []), counted("other", []), ...programTools(registry)]);
  const first = await lives.begin({ policy });
  await first.call({ code: `await tools.pay({ to: "x" }); return Object.keys(tools);` }, "run_program");
  await first.waits(1);
  const second = await lives.begin({ policy });
  await second.answer((await second.waits(1))[0] as never);
  expect((await second.result()).output).toEqual(["pay"]);
});

describe("The time of a program that waits", () => {
  test("stands still while a person is asked, and is bounded by a limit of its own", async () => {
    const lives = new Lives([program(ALL), counted("pay", [])]);
    const life = await lives.begin({ policy: programPolicy({ wallTimeMs: 2_000, waitTimeMs: 60 }) });
    const [results] = await life.call({ to: ["x"] });
    expect((await results)?.[0]?.error).toMatchObject({
      code: "limit_exceeded",
      limit: "waitTimeMs",
      effect: "none",
      message: "Tool exceeded 60ms waiting time limit",
    });
    expect(life.sessions.openConfirmations()).toEqual([]);
    expect(await life.suspensions.list()).toEqual([]);
  });

  test("counts while no process runs it", async () => {
    const lives = new Lives([program(ALL), counted("pay", [])]);
    const policy = programPolicy({ waitTimeMs: 400 });
    const first = await lives.begin({ policy });
    await first.call({ to: ["x"] });
    await first.waits(1);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const lost = await lives.programStore.list();
    const second = await lives.begin({ policy });
    // The first process ends it as well, since it still runs in this test.
    if (lost.length > 0) expect((await second.result()).error?.limit).toBe("waitTimeMs");
    else expect(second.resumed).toEqual([]);
  });

  test("does not keep a program from being suspended that waits long for something else", async () => {
    const lives = new Lives([
      program(`export default async (input, { tools }) => tools.call("slow_read", { to: "a" });`),
      counted("slow_read", [], { sideEffects: "read" }, () => new Promise(() => {})),
    ]);
    const first = await lives.begin({ afterMs: 10 });
    await first.call();
    await first.waits(0);
    const second = await lives.begin({
      tools: [
        program(`export default async (input, { tools }) => tools.call("slow_read", { to: "a" });`),
        counted("slow_read", [], { sideEffects: "read" }, () => "done"),
      ],
    });
    expect((await second.result()).output).toBe("done");
  });
});
