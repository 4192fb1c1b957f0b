import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { ToolCall } from "../../../src/engine/call.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { defineTool } from "../../../src/engine/tool.ts";
import { allow, ask, deny, type PolicyDecision } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { PersonAnswer } from "../../../src/sessions/confirmations/answer.ts";
import type { CallConfirmation } from "../../../src/sessions/confirmations/confirmation.ts";
import type { ConfirmationOptions } from "../../../src/sessions/options.ts";
import { openSessions, type Sessions } from "../../../src/sessions/sessions.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { SqliteSessionStore } from "../../../src/sessions/store/sqlite-store.ts";
import type { SessionStore } from "../../../src/sessions/store/store.ts";

const GRANT = { sandbox: "host", limits: { wallTimeMs: 60_000 } } as const;
const asks = (): PolicyDecision => ask("Run it?", { grant: GRANT, remember: "session" });

/** A place for sessions that is opened by one process after the other. */
const STORES: Readonly<Record<string, () => () => SessionStore>> = {
  memory: () => {
    const store = new MemorySessionStore();
    return () => store;
  },
  sqlite: () => {
    const file = join(mkdtempSync(join(tmpdir(), "sandgate-")), "sessions.db");
    return () => new SqliteSessionStore(file);
  },
};

describe.each(Object.entries(STORES))("with a store in %s, a crash after an answer", (_name, openPlace) => {
  /** Processes that die before they write the end of a call, and what their tool was given. */
  async function place(confirmations: ConfirmationOptions = {}) {
    const open = openPlace();
    const sandboxes = await openSandboxes();
    const ran: unknown[] = [];
    const registry = new ToolRegistry().register(
      defineTool({
        name: "put",
        description: "Puts a number.",
        inputSchema: { type: "object", properties: { n: { type: "number" } } },
        sideEffects: "write",
        host: (input) => void ran.push(input),
      }),
    );
    const world = { decide: asks, ran, registry };
    let last: SessionStore | undefined;
    const start = async (dies: boolean): Promise<Sessions> => {
      // The process that had it is gone.
      await last?.close();
      const store = open();
      last = store;
      const sessions = await openSessions({
        registry,
        sandboxes,
        confirmations,
        policy: { check: () => world.decide() },
        store: dies ? dying(store) : store,
      });
      onTestFinished(async () => {
        if (!dies) await sessions.close();
      });
      return sessions;
    };
    onTestFinished(() => sandboxes.close());
    const renameStored = async (from: string, to: string): Promise<void> => {
      const [{ id, mode } = { id: "", mode: "" }] = (await last?.sessions()) ?? [];
      if (!mode.includes(from)) throw new Error(`the stored mode has no ${from}: ${mode}`);
      await last?.setMode(id, mode.replace(from, to));
    };
    return { ...world, world, start, renameStored };
  }

  /** Its process writes no end and no claim of a call any more. */
  function dying(store: SessionStore): SessionStore {
    return new Proxy(store, {
      get(target, name) {
        if (name === "end" || name === "claim") return () => new Promise(() => {});
        if (name === "close") return () => {};
        const member: unknown = Reflect.get(target, name);
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
  }

  async function asked(sessions: Sessions, count = 1): Promise<readonly CallConfirmation[]> {
    while (sessions.openConfirmations().length < count) await sleep(2);
    return sessions.openConfirmations() as readonly CallConfirmation[];
  }

  const answerTo = ({ digest }: CallConfirmation, rest: Partial<PersonAnswer>): PersonAnswer => ({
    decision: "allow",
    digest,
    by: "ann",
    ...rest,
  });

  /** Makes calls in a process, which dies after an answer to the first of them. */
  async function answered(
    { start }: Awaited<ReturnType<typeof place>>,
    given: Partial<PersonAnswer>,
    calls: readonly ToolCall[] = [{ id: "c0", name: "put", arguments: { n: 0 } }],
  ): Promise<void> {
    const sessions = await start(true);
    const session = await sessions.open({ id: "s" });
    void session.turn({ id: "t" }).dispatchAll(calls, { messageId: "m" });
    const confirmation = (await asked(sessions, calls.length)).find(
      ({ callId }) => callId === "c0",
    ) as CallConfirmation;
    expect(await sessions.answer(confirmation.id, answerTo(confirmation, given))).toMatchObject({
      outcome: "resolved",
    });
  }

  /** Waits for the ends of the calls. */
  async function executions(sessions: Sessions): Promise<readonly (ToolExecution | null | undefined)[]> {
    for (;;) {
      const turn = await sessions.get("s")?.findTurn("t");
      const found: readonly (ToolExecution | null | undefined)[] =
        (await turn?.messages())?.[0]?.executions ?? [];
      if (found.length > 0 && !found.includes(undefined)) return found;
      await sleep(2);
    }
  }

  const LATER: Readonly<Record<string, () => PolicyDecision>> = {
    "asks the same": asks,
    "allows everything": () => allow(GRANT),
    "asks under another grant": () =>
      ask("Run it?", { grant: { sandbox: "host", limits: { wallTimeMs: 90_000 } } }),
    "allows more": () => allow({ sandbox: "host", limits: { wallTimeMs: 90_000 } }),
  };

  test.each(Object.entries(LATER))("leaves a denial as it is if the policy then %s", async (_what, later) => {
    const at = await place();
    await answered(at, { decision: "deny" });
    at.world.decide = later;
    const sessions = await at.start(false);
    expect(await executions(sessions)).toMatchObject([{ error: { code: "user_denied" } }]);
    expect([at.ran, sessions.openConfirmations()]).toEqual([[], []]);
  });

  test("leaves a denial as it is if an approval of another call then covers it", async () => {
    const at = await place();
    const first = await at.start(true);
    const session = await first.open({ id: "s" });
    const calls = [0, 1].map((n) => ({ id: `c${n}`, name: "put", arguments: { n } }));
    void session.turn({ id: "t" }).dispatchAll(calls, { messageId: "m" });
    const [one, two] = (await asked(first, 2)) as readonly [CallConfirmation, CallConfirmation];
    await first.answer(one.id, answerTo(one, { decision: "deny" }));
    await first.answer(two.id, answerTo(two, { decision: "always" }));
    const sessions = await at.start(false);
    const found = await executions(sessions);
    expect(found.filter((execution) => execution?.error?.code === "user_denied")).toHaveLength(1);
    expect(at.ran).toEqual([{ n: two.callId === "c1" ? 1 : 0 }]);
  });

  test("leaves a denial as it is if the session is then autonomous, its tool auto and its definition another", async () => {
    const at = await place({ tools: { put: "prompt" } });
    await answered(at, { decision: "deny" });
    at.world.decide = () => allow(GRANT);
    const { tool } = at.registry.find("put") ?? {};
    at.registry.register({ ...tool, description: "Puts it elsewhere." } as never, { replace: true });
    const sessions = await at.start(false);
    expect(await executions(sessions)).toMatchObject([{ error: { code: "user_denied" } }]);
    expect(at.ran).toEqual([]);
  });

  test("runs the arguments that a person wrote, even if the policy then allows those of the model", async () => {
    const at = await place();
    await answered(at, { arguments: { n: 7 } });
    at.world.decide = () => allow(GRANT);
    const sessions = await at.start(false);
    expect(await executions(sessions)).toMatchObject([{ success: true, confirmation: { by: "ann" } }]);
    expect(at.ran).toEqual([{ n: 7 }]);
  });

  test("has a person asked again, and not the model's arguments run, if those that a person wrote were for another grant", async () => {
    const at = await place();
    await answered(at, { arguments: { n: 7 } });
    at.world.decide = LATER["allows more"] as () => PolicyDecision;
    const sessions = await at.start(false);
    const [confirmation] = (await asked(sessions)) as readonly [CallConfirmation];
    expect(at.ran).toEqual([]);
    await sessions.answer(confirmation.id, answerTo(confirmation, { decision: "deny" }));
    expect(await executions(sessions)).toMatchObject([{ error: { code: "user_denied" } }]);
    expect(at.ran).toEqual([]);
  });

  test.each([
    "allows everything",
    "denies everything",
  ])("remembers what a person approved beyond the call, even if the policy then %s", async (what) => {
    const at = await place();
    await answered(at, { decision: "always", approval: { tools: ["put"], for: "session", calls: 3 } });
    at.world.decide = what === "allows everything" ? () => allow(GRANT) : () => deny("no");
    const sessions = await at.start(false);
    expect(await executions(sessions)).toMatchObject([{ success: what === "allows everything" }]);
    expect(await sessions.get("s")?.approvals()).toMatchObject([
      { approval: { tools: ["put"], calls: 3, by: "ann" } },
    ]);
  });

  test("leaves an approval revoked that was revoked before the crash, whatever the policy then says", async () => {
    const at = await place();
    const first = await at.start(true);
    const session = await first.open({ id: "s" });
    const message = [{ id: "c0", name: "put", arguments: { n: 0 } }];
    void session.turn({ id: "t" }).dispatchAll(message, { messageId: "m" });
    const [confirmation] = (await asked(first)) as readonly [CallConfirmation];
    await first.answer(confirmation.id, answerTo(confirmation, { decision: "always" }));
    await expect.poll(() => session.approvals().length).toBe(1);
    expect(await session.revokeApproval(confirmation.id)).toBe(true);
    const sessions = await at.start(false);
    expect(await executions(sessions)).toMatchObject([{ success: true, confirmation: { by: "ann" } }]);
    const again = sessions.get("s");
    expect(await again?.readApprovals()).toEqual([]);
    void again?.turn().dispatch({ id: "c1", name: "put", arguments: { n: 1 } });
    expect(await asked(sessions)).toMatchObject([{ callId: "c1" }]);
    expect(at.ran).toEqual([{ n: 0 }]);
  });

  test.each([
    ["", "planConfirmation"],
    [" by an earlier version", "planInquiry"],
  ])("leaves a mode awaiting a new plan that was set after a plan was approved%s", async (_by, stored) => {
    const at = await place();
    at.registry.register(
      defineTool({
        name: "submit",
        description: "Submits a plan.",
        inputSchema: { type: "object" },
        sideEffects: "none",
        confirm: "plan",
        host: (input) => void at.ran.push(input),
      }),
    );
    const first = await at.start(true);
    const session = await first.open({ id: "s", mode: "plan" });
    void session
      .turn({ id: "t" })
      .dispatchAll([{ id: "c0", name: "submit", arguments: {} }], { messageId: "m" });
    const [confirmation] = (await asked(first)) as readonly [CallConfirmation];
    await first.answer(confirmation.id, answerTo(confirmation, {}));
    await expect.poll(() => session.isPlanApproved).toBe(true);
    await session.setMode("manual");
    await session.setMode("plan");
    expect(session.isPlanApproved).toBe(false);
    await at.renameStored("planConfirmation", stored);
    const sessions = await at.start(false);
    expect(await executions(sessions)).toMatchObject([{ success: true }]);
    expect(sessions.get("s")).toMatchObject({ mode: "plan", isPlanApproved: false });
  });

  test("waits for an answer to what was asked, even if the policy then allows everything", async () => {
    const at = await place();
    const first = await at.start(true);
    const session = await first.open({ id: "s" });
    void session
      .turn({ id: "t" })
      .dispatchAll([{ id: "c0", name: "put", arguments: { n: 0 } }], { messageId: "m" });
    const [before] = (await asked(first)) as readonly [CallConfirmation];
    at.world.decide = () => allow(GRANT);
    const sessions = await at.start(false);
    await sleep(20);
    expect(at.ran).toEqual([]);
    expect(sessions.openConfirmations()).toMatchObject([{ id: before.id }]);
    expect(await sessions.answer(before.id, answerTo(before, { decision: "deny" }))).toMatchObject({
      outcome: "resolved",
    });
    expect(await executions(sessions)).toMatchObject([{ error: { code: "user_denied" } }]);
    expect(at.ran).toEqual([]);
  });

  test("withdraws what was asked if the policy then denies the call", async () => {
    const at = await place();
    const first = await at.start(true);
    const session = await first.open({ id: "s" });
    void session
      .turn({ id: "t" })
      .dispatchAll([{ id: "c0", name: "put", arguments: { n: 0 } }], { messageId: "m" });
    const [before] = (await asked(first)) as readonly [CallConfirmation];
    at.world.decide = () => deny("no");
    const sessions = await at.start(false);
    expect(await executions(sessions)).toMatchObject([{ error: { code: "permission_denied" } }]);
    expect(await sessions.answer(before.id, answerTo(before, {}))).toEqual({ outcome: "gone" });
  });
});
