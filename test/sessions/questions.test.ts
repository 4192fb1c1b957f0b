import { describe, expect, test } from "vitest";
import { Redaction } from "../../src/redaction/redaction.ts";
import type { PersonAnswer } from "../../src/sessions/confirmations/answer.ts";
import type { ToolQuestion } from "../../src/sessions/confirmations/confirmation.ts";
import { MemorySessionStore } from "../../src/sessions/store/memory-store.ts";
import type { HostContext } from "../../src/tool/implementations/implementations.ts";
import type { Question, QuestionAnswer } from "../../src/tool/question.ts";
import { call, Gate, testSessions, tool } from "./harness.ts";

const WHICH = { question: "Which file?", choices: ["a.ts", "b.ts", "c.ts"] } as const;

/** A tool that asks, and returns the answer. */
const asking = (question: Question, more: object = {}): ReturnType<typeof tool> =>
  tool("asks", "none", async (_input, { ask }) => ({ answer: await ask(question as never) }), more);

const reply = ({ digest }: ToolQuestion, answer: QuestionAnswer, by = "eve"): PersonAnswer => ({
  decision: "answer",
  digest,
  answer,
  by,
});

describe("a question of a tool", () => {
  test("is a confirmation, whose answer the tool gets", async () => {
    const { sessions, events, nextQuestion } = await testSessions([asking({ question: "Which name?" })]);
    const session = await sessions.open({ principal: { id: "ann", kind: "user" } });
    const turn = session.turn();
    const result = turn.dispatch(call("c1", "asks"));
    const confirmation = await nextQuestion();
    expect(confirmation).toMatchObject({
      kind: "question",
      callId: "c1",
      turnId: turn.id,
      sessionId: session.id,
      principal: "ann",
      shown: { toolName: "asks", sideEffects: "none", question: "Which name?", multiple: false },
      choices: ["answer", "deny"],
    });
    expect(session.openConfirmations()).toEqual([confirmation]);
    const outcome = await session.answer(confirmation.id, reply(confirmation, "Zoë"));
    expect(outcome).toMatchObject({ outcome: "resolved", resolution: { decision: "answer", by: "eve" } });
    expect(await result).toMatchObject({ success: true, output: { answer: "Zoë" } });
    expect(events.map(({ type }) => type)).toEqual([
      "tool.decided",
      "tool.started",
      "tool.confirmation_requested",
      "tool.confirmation_resolved",
      "tool.completed",
    ]);
    expect(events[2]).toMatchObject({
      kind: "question",
      requestId: confirmation.id,
      question: "Which name?",
      missing: "",
      multiple: false,
      digest: confirmation.digest,
      choices: ["answer", "deny"],
      expiresAt: confirmation.askedAt + 300_000,
    });
    expect(events[3]).toMatchObject({ decision: "answer", by: "eve" });
    expect(JSON.stringify(events[3])).not.toContain("Zoë");
  });

  test("takes one of its choices, or several if it says so", async () => {
    for (const [question, answer] of [
      [WHICH, "b.ts"],
      [{ ...WHICH, multiple: true }, ["c.ts", "a.ts"]],
    ] as const) {
      const { sessions, nextQuestion } = await testSessions([asking(question)]);
      const session = await sessions.open();
      const result = session.turn().dispatch(call("c1", "asks"));
      const confirmation = await nextQuestion();
      await session.answer(confirmation.id, reply(confirmation, answer));
      expect(await result).toMatchObject({ output: { answer } });
    }
  });

  test.each([
    [{ question: "?" }, ["", "x".repeat(16_001), ["a"], "\ud800", undefined, 3]],
    [WHICH, ["d.ts", "", ["a.ts"], "A.ts", 0]],
    [{ ...WHICH, multiple: true }, ["a.ts", [], ["d.ts"], ["a.ts", "a.ts"], [["a.ts"]]]],
  ])("stays open if an answer does not fit: %j", async (question, answers) => {
    const { sessions, nextQuestion } = await testSessions([asking(question)]);
    const session = await sessions.open();
    const result = session.turn().dispatch(call("c1", "asks"));
    const confirmation = await nextQuestion();
    const { digest } = confirmation;
    for (const answer of answers) {
      expect(await session.answer(confirmation.id, reply(confirmation, answer as never))).toMatchObject({
        outcome: "invalid",
      });
    }
    for (const more of [{ arguments: {} }, { approval: { tools: ["*"], for: "session" } }] as const) {
      const given = { ...reply(confirmation, "a.ts"), ...more };
      expect(await session.answer(confirmation.id, given)).toMatchObject({ outcome: "invalid" });
    }
    expect(
      await session.answer(confirmation.id, { decision: "deny", digest, answer: "a", by: "eve" }),
    ).toMatchObject({ outcome: "invalid" });
    const other = reply({ ...confirmation, digest: "0".repeat(64) }, "a.ts");
    expect(await session.answer(confirmation.id, other)).toEqual({ outcome: "other-digest" });
    expect(session.openConfirmations()).toEqual([confirmation]);
    await session.answer(confirmation.id, { decision: "deny", digest, by: "eve" });
    expect(await result).toMatchObject({
      error: { code: "user_denied", message: "User declined to answer the question.", effect: "none" },
    });
  });

  test("takes the first of two answers, and tells both of it", async () => {
    const { sessions, nextQuestion } = await testSessions([asking(WHICH)]);
    const session = await sessions.open();
    const result = session.turn().dispatch(call("c1", "asks"));
    const confirmation = await nextQuestion();
    const outcomes = await Promise.all([
      session.answer(confirmation.id, reply(confirmation, "b.ts", "ann")),
      session.answer(confirmation.id, reply(confirmation, "c.ts", "bob")),
    ]);
    const resolution = { by: "ann", answer: "b.ts" };
    expect(outcomes).toMatchObject([
      { outcome: "resolved", resolution },
      { outcome: "lost", resolution },
    ]);
    const again = await session.answer(confirmation.id, reply(confirmation, "b.ts", "ann"));
    expect(again).toMatchObject({ outcome: "resolved", resolution });
    const changed = await session.answer(confirmation.id, reply(confirmation, "c.ts", "ann"));
    expect(changed).toMatchObject({ outcome: "lost", resolution });
    expect(await result).toMatchObject({ output: { answer: "b.ts" } });
  });

  test("never counts as an approval, and an approval is no answer to it", async () => {
    const write = tool("write_file", "write");
    const { sessions, nextQuestion, nextConfirmation } = await testSessions([
      asking({ question: "Allow?" }),
      write,
    ]);
    const session = await sessions.open();
    const turn = session.turn();
    const result = turn.dispatch(call("c1", "asks"));
    const confirmation = await nextQuestion();
    for (const decision of ["allow", "always"] as const) {
      const given = { ...reply(confirmation, "yes"), decision };
      expect(await session.answer(confirmation.id, given)).toMatchObject({ outcome: "invalid" });
    }
    await session.answer(confirmation.id, reply(confirmation, "always"));
    expect(await result).toMatchObject({ success: true });
    expect(session.approvals()).toEqual([]);
    const written = turn.dispatch(call("c2", "write_file"));
    const asked = await nextConfirmation();
    const answer = { decision: "answer", answer: "yes", digest: asked.digest, by: "eve" } as const;
    expect(await session.answer(asked.id, answer)).toMatchObject({ outcome: "invalid" });
    await session.answer(asked.id, { decision: "deny", digest: asked.digest, by: "eve" });
    expect(await written).toMatchObject({ error: { code: "user_denied" } });
  });

  test.each([
    [1_000, undefined, "1s"],
    [1_000, 60_000, "1s"],
    [undefined, 500, "500ms"],
  ])("waits for %s ms, and the tool for %s ms at most", async (timeoutMs, own, text) => {
    const { sessions, nextQuestion } = await testSessions(
      [asking({ question: "?", ...(own !== undefined && { timeoutMs: own }) })],
      { ...(timeoutMs !== undefined && { confirmations: { timeoutMs } }) },
    );
    const session = await sessions.open();
    const result = session.turn().dispatch(call("c1", "asks"));
    const confirmation = await nextQuestion();
    expect(confirmation.expiresAt - confirmation.askedAt).toBe(
      Math.min(timeoutMs ?? 300_000, own ?? 300_000),
    );
    expect(await result).toMatchObject({
      error: { code: "confirmation_timeout", message: `Nobody answered within ${text}`, effect: "none" },
    });
    expect(await session.answer(confirmation.id, reply(confirmation, "late"))).toEqual({ outcome: "gone" });
  });

  test("leaves the effect of a call that can change something unknown if it fails", async () => {
    const { sessions, nextQuestion } = await testSessions(
      [{ ...asking({ question: "?" }), sideEffects: "write" }],
      { confirmations: { default: { write: "auto" } } },
    );
    const session = await sessions.open();
    const result = session.turn().dispatch(call("c1", "asks"));
    const { id, digest } = await nextQuestion();
    await session.answer(id, { decision: "deny", digest, by: "eve" });
    expect(await result).toMatchObject({ error: { code: "user_denied", effect: "unknown" } });
  });

  test("stops the wall time of its call", async () => {
    const { promise: isAnswered, resolve: answered } = Promise.withResolvers<void>();
    const slow = tool(
      "asks",
      "none",
      async (_input, { ask, signal }) => {
        const answer = await ask({ question: "?" });
        answered();
        await new Promise((_, reject) =>
          signal.addEventListener("abort", () => reject(new Error("stopped"))),
        );
        return answer;
      },
      { timeoutMs: 200 },
    );
    const { sessions, nextQuestion } = await testSessions([slow]);
    const session = await sessions.open();
    const result = session.turn().dispatch(call("c1", "asks"));
    const confirmation = await nextQuestion();
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(session.openConfirmations()).toEqual([confirmation]);
    await session.answer(confirmation.id, reply(confirmation, "a"));
    await isAnswered;
    // It goes on from where it stood.
    const execution = await result;
    expect(execution).toMatchObject({
      error: { code: "timeout", message: "Tool exceeded 200ms wall time limit" },
    });
    expect(execution?.receipt.used.wallTimeMs).toBeGreaterThanOrEqual(200);
  });

  test("takes no place of the session, but that of its tool", async () => {
    const gate = new Gate();
    const { sessions, nextQuestion } = await testSessions(
      [asking({ question: "?" }, { maxConcurrent: 1 }), tool("gate", "none", gate.host)],
      { limits: { concurrency: 1 } },
    );
    const session = await sessions.open();
    const results = session
      .turn()
      .dispatchAll([call("c1", "asks"), call("c2", "asks"), call("c3", "gate"), call("c4", "gate")]);
    const first = await nextQuestion();
    await gate.hasBegun(1);
    expect(session.openConfirmations()).toEqual([first]);
    // The answered call waits until there is a place, like all others.
    await session.answer(first.id, reply(first, "one"));
    gate.release("c3");
    await gate.hasBegun(2);
    gate.release("c4");
    const second = await nextQuestion();
    expect(second.callId).toBe("c2");
    await session.answer(second.id, reply(second, "two"));
    const executions = await results;
    expect(executions.map((execution) => execution?.output)).toEqual([
      { answer: "one" },
      { answer: "two" },
      "c3",
      "c4",
    ]);
    expect(gate.mostAtOnce).toBe(1);
  });

  test("ends with its call", async () => {
    let context: HostContext | undefined;
    const { sessions, nextQuestion } = await testSessions([
      asking({ question: "?" }),
      tool("leaves", "none", (_input, given) => {
        context = given;
        given.ask({ question: "nobody waits" }).catch(() => {});
        return "left";
      }),
    ]);
    const session = await sessions.open();
    const turn = session.turn();
    const cancelled = turn.dispatch(call("c1", "asks"));
    const confirmation = await nextQuestion();
    await turn.cancel();
    expect(await cancelled).toMatchObject({ error: { code: "cancelled" } });
    expect(await session.answer(confirmation.id, reply(confirmation, "late"))).toEqual({ outcome: "gone" });
    expect(await session.turn().dispatch(call("c2", "leaves"))).toMatchObject({ output: "left" });
    expect(session.openConfirmations()).toEqual([]);
    await expect(context?.ask({ question: "?" })).rejects.toMatchObject({ code: "cancelled" });
    expect(session.openConfirmations()).toEqual([]);
  });

  test("is denied beyond 32 of a principal", async () => {
    const { sessions } = await testSessions([
      tool("asks", "none", async (_input, { ask }) => {
        const asked = Array.from({ length: 33 }, () =>
          ask({ question: "?" }).catch(({ message }) => message),
        );
        return Promise.race(asked);
      }),
    ]);
    const session = await sessions.open();
    const message = "Permission denied: nobody is available to answer the question";
    expect(await session.turn().dispatch(call("c1", "asks"))).toMatchObject({ output: message });
    expect(session.openConfirmations()).toEqual([]);
  });

  test("is shown without secrets and without anything that it does not look like", async () => {
    const text = `${"x".repeat(3_000)} AKIAIOSFODNN7EXAMPLE \u202egpj.exe`;
    const { sessions, events, nextQuestion } = await testSessions(
      [asking({ question: text, choices: ["AKIAIOSFODNN7EXAMPLE"] })],
      { redaction: new Redaction() },
    );
    const session = await sessions.open();
    const result = session.turn().dispatch(call("c1", "asks"));
    const { id, shown, digest } = await nextQuestion();
    expect(shown.question).toBe(text);
    expect(shown.questionSummary.missing).toMatch(/^1,\d{3} characters left out, 1 secret hidden$/);
    expect(shown.questionSummary.text).toContain("\\u202e");
    expect(shown.questionSummary.text).not.toMatch(/AKIA|\u202e/);
    expect(JSON.stringify(events.find(({ type }) => type === "tool.confirmation_requested"))).not.toContain(
      "AKIA",
    );
    await session.answer(id, { decision: "deny", digest, by: "eve" });
    await result;
  });

  test("is cancelled by a restart, after which its call is unknown", async () => {
    const store = new MemorySessionStore();
    const first = await testSessions([asking({ question: "?" })], { store });
    const session = await first.sessions.open({ id: "s" });
    void session.turn({ id: "t" }).dispatchAll([call("c1", "asks")], { messageId: "m" });
    const confirmation = await first.nextQuestion();
    // The first process is gone without a word: its sessions are never closed.
    const second = await testSessions([asking({ question: "?" })], { store });
    const [message] = (await (await second.sessions.get("s")?.findTurn("t"))?.messages()) ?? [];
    expect(message?.executions).toMatchObject([{ error: { code: "execution_error", effect: "unknown" } }]);
    expect(second.sessions.openConfirmations()).toEqual([]);
    expect(await second.sessions.answer(confirmation.id, reply(confirmation, "late"))).toEqual({
      outcome: "gone",
    });
    await session.cancel();
  });
});
