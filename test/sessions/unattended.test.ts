import { describe, expect, test } from "vitest";
import type { HostContext } from "../../src/tool/implementations/implementations.ts";
import { call, Gate, testSessions, tool } from "./harness.ts";

describe("an unattended turn", () => {
  test("denies a call that a person would have to confirm, at once and without a confirmation", async () => {
    const { sessions } = await testSessions([tool("write", "write", () => "written")]);
    const session = await sessions.open();
    const turn = session.turn({ unattended: true });
    expect(await turn.dispatch(call("a", "write"))).toMatchObject({
      error: {
        code: "permission_denied",
        effect: "none",
        message: "Permission denied: tool 'write' requires confirmation, and no approver is available",
      },
    });
    expect(sessions.openConfirmations()).toEqual([]);
  });

  test("denies a question of a tool", async () => {
    const asks = (_input: unknown, { ask }: HostContext) => ask({ question: "Which one?" });
    const { sessions } = await testSessions([tool("ask", "read", asks)]);
    const session = await sessions.open();
    const result = await session.turn({ unattended: true }).dispatch(call("a", "ask"));
    expect(result).toMatchObject({ error: { code: "permission_denied" } });
  });

  test("leaves other turns of the session attended", async () => {
    const { sessions, nextConfirmation } = await testSessions([tool("write", "write", () => "written")]);
    const session = await sessions.open();
    session.turn({ unattended: true });
    const result = session.turn().dispatch(call("a", "write"));
    const { id, digest } = await nextConfirmation();
    await session.answer(id, { decision: "allow", digest, by: "carol" });
    expect(await result).toMatchObject({ success: true });
  });
});

test("a call that waits for its client lends its place, and takes one again before it goes on", async () => {
  const gate = new Gate();
  const { sessions } = await testSessions([tool("wait", "read", gate.host)], {
    limits: { concurrency: 1 },
  });
  const session = await sessions.open();
  const turn = session.turn();
  const first = turn.dispatch(call("a", "wait"));
  const second = session.turn().dispatch(call("b", "wait"));
  await gate.hasBegun(1);
  const reclaim = turn.suspendSlot("a");
  await gate.hasBegun(2);
  let hasPlace = false;
  const reclaimed = reclaim().then(() => {
    hasPlace = true;
  });
  expect(hasPlace).toBe(false);
  gate.release("b");
  await second;
  await reclaimed;
  gate.release("a");
  expect(await first).toMatchObject({ success: true });
});
