import { describe, expect, test } from "vitest";
import type { Tool } from "../../../src/engine/tool.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { MemorySuspensionStore } from "../../../src/programs/stores/recorded-store.ts";
import { openSuspensions } from "../../../src/programs/suspension/suspensions.ts";
import type { SuspendedTask } from "../../../src/sandboxes/contract/suspension.ts";
import { engineBuild } from "../../../src/sandboxes/quickjs/suspension/engine-build.ts";
import { fuzzHeaps, fuzzStored, Suspended } from "./fuzz.ts";
import { Lives } from "./lives.ts";
import { KEY, program, programPolicy } from "./setting.ts";

const SOURCE = `export default async (input, { tools }) => tools.call("pay", { to: "x" });`;
const pay = (description = ""): Tool =>
  ({
    name: "pay",
    description,
    inputSchema: { type: "object" },
    sideEffects: "write",
    host: () => 7,
  }) as Tool;
const SUSPENDED = "The suspended call of tool 'program' cannot continue: ";
const UNKNOWN = "; whether it took effect is not known";

/** Suspends a program in one life, and returns what came of it in the next one. */
async function nextLife(
  change: (lives: Lives) => Parameters<Lives["begin"]>[0] | Promise<Parameters<Lives["begin"]>[0]>,
) {
  const lives = new Lives([program(SOURCE), pay()]);
  const first = await lives.begin();
  await first.call();
  await first.waits(1);
  const second = await lives.begin(await change(lives));
  const result = await second.result();
  expect(second.sessions.openConfirmations()).toEqual([]);
  expect(await second.suspensions.list()).toEqual([]);
  return result;
}

describe("A suspended program is refused", () => {
  test("under a policy that no longer allows it", async () => {
    const policy = new RulePolicy({ rules: [{ tools: ["program"], effect: "deny" }] });
    expect((await nextLife(() => ({ policy }))).error).toMatchObject({
      code: "permission_denied",
      effect: "unknown",
      message: "Permission denied: tool 'program' is disabled by policy",
    });
  });

  test("by a hook that aborts it, although it had begun", async () => {
    const hooks = { onToolCall: () => "abort" as const };
    expect((await nextLife(() => ({ hooks }))).error).toMatchObject({
      code: "permission_denied",
      effect: "unknown",
    });
  });

  test("under a policy that allows it less than before", async () => {
    const policy = programPolicy({ nestedCalls: 1 });
    expect((await nextLife(() => ({ policy }))).error).toMatchObject({
      code: "execution_error",
      effect: "unknown",
      message: `${SUSPENDED}the policy no longer allows what it was granted${UNKNOWN}`,
    });
  });

  test("if the definition of a tool that it may call has changed", async () => {
    const tools = [program(SOURCE), pay("now another one")];
    expect((await nextLife(() => ({ tools }))).error?.message).toBe(
      `${SUSPENDED}its definition, or that of a tool that it may call, has changed${UNKNOWN}`,
    );
  });

  test("with another key under the same id, and without its key", async () => {
    const key = new Uint8Array(32).fill(8);
    expect((await nextLife(() => ({ keys: [{ id: KEY.id, key }] }))).error?.message).toBe(
      `${SUSPENDED}it was changed, or sealed with another key${UNKNOWN}`,
    );
    expect((await nextLife(() => ({ keys: [{ id: "k2", key }] }))).error?.message).toBe(
      `${SUSPENDED}it is sealed with a key that is not known here${UNKNOWN}`,
    );
  });

  test("by another version of the engine, and without its template", async () => {
    const change =
      (of: Partial<Record<"build" | "template", string>>) => async (): Promise<string | undefined> => {
        const suspended = new Suspended();
        const stored = await suspended.begin("c1");
        const store = new MemorySuspensionStore();
        store.put(stored, []);
        const real = openSuspensions({ store, keys: [KEY] });
        const reopen = real.reopen.bind(real);
        real.reopen = async (call) => {
          const opened = await reopen(call);
          Object.assign(opened.from as object, of);
          return opened;
        };
        return (await suspended.resume("c1", real))?.error?.message;
      };
    const own = engineBuild().slice(0, 12);
    expect(await change({ build: "0123456789abcdef" })()).toBe(
      `The suspended call cannot continue: it was suspended by the build 0123456789ab of the engine, and this is ${own}: only ` +
        "the version of sandgate that suspended it goes on with it; begin it again",
    );
    expect(await change({ template: "x" })()).toBe(
      "The suspended call cannot continue: its template is not stored",
    );
  });

  test("where there is no room for it to wait, with the effect that it had before", async () => {
    const suspended = new Suspended();
    const stored = await suspended.begin("c1");
    const store = new MemorySuspensionStore();
    store.put(stored, []);
    store.addTemplate(stored.template, (await suspended.store.template(stored.template)) ?? new Uint8Array());
    const suspensions = openSuspensions({ store, keys: [KEY] });
    const reopen = suspensions.reopen.bind(suspensions);
    suspensions.reopen = async (call) => {
      const opened = await reopen(call);
      // It paid before, and has waited for its timers as often as it may.
      const from = opened.from as SuspendedTask;
      const state = { ...from.state, use: { nestedCalls: 1, effect: "unknown" }, timerWaits: 1_001 };
      Object.assign(from, { state });
      return opened;
    };
    expect((await suspended.resume("c1", suspensions))?.error).toMatchObject({
      code: "execution_error",
      effect: "unknown",
      message: "Tool waited for timers 1,000 times, the most that a call can",
    });
  });

  test("as the call of another principal", async () => {
    const suspended = new Suspended();
    const stored = await suspended.begin("c1");
    const store = new MemorySuspensionStore();
    store.put(stored, []);
    const result = await suspended.resume("c1", openSuspensions({ store, keys: [KEY] }), "mallory");
    expect(result?.error?.message).toContain("it belongs to another principal");
    expect(suspended.asked).toBe(0);
  });

  test("a second time: of two that go on with it, one does", async () => {
    const suspended = new Suspended();
    const stored = await suspended.begin("c1");
    const store = new MemorySuspensionStore();
    store.addTemplate(stored.template, (await suspended.store.template(stored.template)) ?? new Uint8Array());
    store.put(stored, []);
    const both = [1, 2].map(() => suspended.resume("c1", openSuspensions({ store, keys: [KEY] })));
    const results = await Promise.all(both);
    expect(results.filter((result) => result?.success === true)).toHaveLength(1);
    expect(suspended.paid).toBe(2);
    expect((await suspended.resume("c1", openSuspensions({ store, keys: [KEY] })))?.success).toBe(false);
  });

  test("and stays with the process that goes on with it, whatever the other one does then", async () => {
    const suspended = new Suspended();
    const stored = await suspended.begin("c1");
    const store = new MemorySuspensionStore();
    store.put(stored, []);
    store.take(stored.id, 1);
    expect((await suspended.resume("c1", openSuspensions({ store, keys: [KEY] })))?.error?.message).toContain(
      "it continued before, or was cancelled",
    );
    expect((await store.get(stored.id))?.state).toBe("taken");
    const policy = openSuspensions({ store, keys: [KEY] });
    await policy.forget({ sessionId: "s1", turnId: "t1", messageId: "", callId: "c1" });
    expect((await store.get(stored.id))?.state).toBe("taken");
  });

  test("whatever is changed of what is stored", async () => {
    expect(await fuzzStored(170, 1)).toEqual({ tried: 170, refused: 170, faults: [] });
  });

  test("or does as it likes with its own heap, and with nothing else", async () => {
    const { tried, faults } = await fuzzHeaps(40, 1);
    expect({ tried, faults }).toEqual({ tried: 40, faults: [] });
  });

  test("unless an older key that is still known sealed it", async () => {
    const lives = new Lives([program(SOURCE), pay()]);
    const first = await lives.begin();
    await first.call();
    await first.waits(1);
    const keys = [{ id: "k2", key: new Uint8Array(32).fill(9) }, KEY];
    const second = await lives.begin({ keys });
    await second.answer((await second.waits(1))[0] as never);
    expect((await second.result()).output).toBe(7);
  });
});
