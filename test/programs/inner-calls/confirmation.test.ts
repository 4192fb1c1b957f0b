import { describe, expect, test } from "vitest";
import { toToolResult } from "../../../src/engine/call/messages.ts";
import { contentText } from "../../../src/tool/content.ts";
import { answerTo, tool } from "../../sessions/harness.ts";
import { programCall, programSessions } from "./sessions.ts";

const CODE = `return tools.pay({ to: "x" }).catch(({ code, message }) => [code, message]);`;

describe("A person who is asked about a call of a program", () => {
  test("sees that call, not the program, and it runs once after the answer", async () => {
    const paid: unknown[] = [];
    const { sessions, nextConfirmation } = await programSessions([
      tool("pay", "write", (input) => {
        paid.push(input);
        return "paid";
      }),
    ]);
    const session = await sessions.open({ principal: { id: "ann", kind: "user" } });
    const running = session.turn().dispatch(programCall(CODE));
    const confirmation = await nextConfirmation();
    expect(confirmation).toMatchObject({ callId: "p/1", parent: "p", shown: { toolName: "pay" } });
    expect(paid).toEqual([]);
    await sessions.answer(confirmation.id, answerTo(confirmation, "allow"));
    const execution = await running;
    expect(execution?.output).toBe("paid");
    expect(paid).toEqual([{ to: "x" }]);
    expect(contentText(toToolResult(execution as never).content)).toContain(
      "- pay: allowed by eve, effect committed",
    );
  });

  test("can deny it, which the program learns as an error", async () => {
    const paid: unknown[] = [];
    const { sessions, nextConfirmation } = await programSessions([
      tool("pay", "write", () => paid.push("x")),
    ]);
    const session = await sessions.open({ principal: { id: "ann", kind: "user" } });
    const running = session.turn().dispatch(programCall(CODE));
    const confirmation = await nextConfirmation();
    await sessions.answer(confirmation.id, answerTo(confirmation, "deny"));
    expect((await running)?.output).toEqual(["user_denied", "User denied this operation."]);
    expect(paid).toEqual([]);
  });

  test("can approve its tool for the session, so that later programs are not asked about it", async () => {
    const { sessions, nextConfirmation } = await programSessions([tool("pay", "write", () => "paid")]);
    const session = await sessions.open({ principal: { id: "ann", kind: "user" } });
    const running = session.turn().dispatch(programCall(CODE));
    const confirmation = await nextConfirmation();
    await sessions.answer(confirmation.id, answerTo(confirmation, "always"));
    expect((await running)?.output).toBe("paid");
    const again = await session.turn().dispatch({ ...programCall(CODE), id: "q" });
    expect(again?.output).toBe("paid");
    expect(sessions.openConfirmations()).toEqual([]);
  });

  test("is not asked about a call whose program was cancelled", async () => {
    const { sessions, nextConfirmation } = await programSessions([tool("pay", "write", () => "paid")]);
    const session = await sessions.open({ principal: { id: "ann", kind: "user" } });
    const running = session.turn().dispatch(programCall(CODE));
    const confirmation = await nextConfirmation();
    await session.cancel();
    expect((await running)?.error?.code).toBe("cancelled");
    expect(sessions.openConfirmations()).toEqual([]);
    expect(await sessions.answer(confirmation.id, answerTo(confirmation, "allow"))).toEqual({
      outcome: "gone",
    });
  });
});
