import { describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { Session } from "../../../src/sessions/session.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { planTools } from "../../../src/toolsets/toolsets.ts";
import { answerTo, call, type TestSessions, testSessions, tool } from "../harness.ts";

const TOOLS = [
  ...planTools(),
  tool("read", "read"),
  tool("write", "write"),
  tool("shell", "execute", undefined, { confirm: "prompt" }),
];
const PLAN = { plan: "1. Read. 2. Write." };
const NOT_APPROVED = "Permission denied: only reading is allowed until the plan is approved";

const run = (session: Session, name: string, args = {}): Promise<ToolExecution | null> =>
  session.turn().dispatch(call("c", name, args));

/** Submits a plan, and answers. */
async function submit(
  { sessions, nextConfirmation }: TestSessions,
  session: Session,
  decision: "allow" | "deny",
): Promise<ToolExecution | null> {
  const submitted = run(session, "submit_plan", PLAN);
  const confirmation = await nextConfirmation();
  await sessions.answer(confirmation.id, answerTo(confirmation, decision));
  return submitted;
}

describe("in the mode plan", () => {
  test("calls can only read until a person has approved a plan, and run as in autonomous then", async () => {
    const opened = await testSessions(TOOLS);
    const session = await opened.sessions.open({ mode: "plan" });
    expect(await run(session, "read")).toMatchObject({ success: true });
    for (const name of ["write", "shell"]) {
      expect((await run(session, name))?.error).toMatchObject({
        code: "permission_denied",
        message: NOT_APPROVED,
        effect: "none",
      });
    }
    expect(await submit(opened, session, "allow")).toMatchObject({ output: { approved: true } });
    expect(session).toMatchObject({ mode: "plan", isPlanApproved: true });
    expect(await run(session, "write")).toMatchObject({ success: true });
    // Autonomous lifts the levels of classes, not a tool's own.
    const shell = run(session, "shell");
    const confirmation = await opened.nextConfirmation();
    await opened.sessions.answer(confirmation.id, answerTo(confirmation, "deny"));
    expect((await shell)?.error?.code).toBe("user_denied");
    await opened.sessions.close();
  });

  test("a plan that a person denies changes nothing", async () => {
    const opened = await testSessions(TOOLS);
    const session = await opened.sessions.open({ mode: "plan" });
    expect((await submit(opened, session, "deny"))?.error?.message).toBe("User denied this operation.");
    expect(session.isPlanApproved).toBe(false);
    expect((await run(session, "write"))?.error?.message).toBe(NOT_APPROVED);
    await opened.sessions.close();
  });

  test("the confirmation is one about a plan, says what approving means, and offers no 'always'", async () => {
    const { sessions, nextConfirmation, events } = await testSessions(TOOLS);
    const session = await sessions.open({ mode: "plan" });
    const submitted = run(session, "submit_plan", PLAN);
    const confirmation = await nextConfirmation();
    expect(confirmation).toMatchObject({ kind: "plan", choices: ["allow", "deny"] });
    expect(confirmation.shown.question).toContain("Afterwards, calls run as in the mode autonomous");
    expect(confirmation.shown.inputSummary.text).toContain(PLAN.plan);
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "tool.confirmation_requested",
        kind: "plan",
        requestId: confirmation.id,
      }),
    );
    await session.cancel();
    expect((await submitted)?.error?.code).toBe("cancelled");
    expect(session.isPlanApproved).toBe(false);
    await sessions.close();
  });

  test("a person can change the plan, which the model reads", async () => {
    const { sessions, nextConfirmation } = await testSessions(TOOLS);
    const session = await sessions.open({ mode: "plan" });
    const submitted = run(session, "submit_plan", PLAN);
    const confirmation = await nextConfirmation();
    await sessions.answer(confirmation.id, {
      ...answerTo(confirmation, "allow"),
      arguments: { plan: "1. Read only." },
    });
    expect(await submitted).toMatchObject({
      success: true,
      arguments: { plan: "1. Read only." },
      confirmation: { by: "eve", editedDigest: expect.any(String) },
    });
    expect(session.isPlanApproved).toBe(true);
    await sessions.close();
  });

  test("a tool that the configuration denies is not promised after a plan, and a denied call counts in no quota", async () => {
    const { sessions } = await testSessions(TOOLS, {
      confirmations: { tools: { shell: "deny" } },
      limits: { calls: 1 },
    });
    const session = await sessions.open({ mode: "plan" });
    expect((await run(session, "shell"))?.error?.message).not.toBe(NOT_APPROVED);
    expect((await run(session, "write"))?.error?.message).toBe(NOT_APPROVED);
    expect((await run(session, "read"))?.success).toBe(true);
    await sessions.close();
  });
});

describe("the approval of a plan", () => {
  test("is told to listeners with who gave it, once", async () => {
    const opened = await testSessions(TOOLS);
    const changes: unknown[] = [];
    opened.sessions.onModeChange((change) => changes.push(change));
    const session = await opened.sessions.open({ mode: "plan" });
    await submit(opened, session, "allow");
    await submit(opened, session, "allow");
    expect(changes).toMatchObject([{ sessionId: session.id, mode: "plan", isPlanApproved: true, by: "eve" }]);
    await opened.sessions.close();
  });

  test("ends when the mode is set again", async () => {
    const opened = await testSessions(TOOLS);
    const session = await opened.sessions.open({ mode: "plan" });
    await submit(opened, session, "allow");
    await session.setMode("plan");
    expect(session.isPlanApproved).toBe(false);
    expect((await run(session, "write"))?.error?.message).toBe(NOT_APPROVED);
    await opened.sessions.close();
  });

  test("changes nothing in a mode that awaits no plan", async () => {
    const opened = await testSessions(TOOLS);
    const session = await opened.sessions.open({ mode: "manual" });
    await submit(opened, session, "allow");
    expect(session).toMatchObject({ mode: "manual", isPlanApproved: false });
    const read = run(session, "read");
    const confirmation = await opened.nextConfirmation();
    await opened.sessions.answer(confirmation.id, answerTo(confirmation, "deny"));
    expect((await read)?.error?.code).toBe("user_denied");
    await opened.sessions.close();
  });

  test("survives a restart, also one between the answer and the call", async () => {
    const store = new MemorySessionStore();
    const before = await testSessions(TOOLS, { store });
    const session = await before.sessions.open({ id: "s1", mode: "plan" });
    await submit(before, session, "allow");
    await before.sessions.open({ id: "s2", mode: "plan" });
    void before.sessions
      .get("s2")
      ?.turn({ id: "t" })
      .dispatchAll([call("c", "submit_plan", PLAN)]);
    const waiting = await before.nextConfirmation();
    await before.sessions.close();
    const after = await testSessions(TOOLS, { store });
    expect(after.sessions.get("s1")).toMatchObject({ mode: "plan", isPlanApproved: true });
    const other = after.sessions.get("s2") as Session;
    expect(other.isPlanApproved).toBe(false);
    await after.sessions.answer(waiting.id, answerTo(waiting, "allow"));
    const [resumed] = after.sessions.takeResumed();
    expect(await resumed?.results).toMatchObject([{ success: true }]);
    expect(other.isPlanApproved).toBe(true);
    await after.sessions.close();
  });
});
