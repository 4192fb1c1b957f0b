import { describe, expect, test } from "vitest";
import type { DispatchEvent } from "../../src/engine/call/events.ts";
import type { ToolExecution } from "../../src/engine/call/execution.ts";
import { toToolResult } from "../../src/engine/call/messages.ts";
import { allow, ask, deny, type RuntimePolicy } from "../../src/policy/policy.ts";
import { answerTo, call, Gate, testSessions, tool } from "./harness.ts";

const HOST = { sandbox: "host" } as const;
const write = (): ReturnType<typeof tool> =>
  tool("write_file", "write", (input) => `wrote ${JSON.stringify(input)}`);

const types = (events: readonly DispatchEvent[]): readonly string[] => events.map(({ type }) => type);

describe("a call that asks", () => {
  test("runs after a person allowed it, whom an event told of it", async () => {
    const { sessions, events, nextInquiry } = await testSessions([
      { ...write(), paths: [{ argument: "/path", access: "write" }] },
    ]);
    const session = await sessions.open({ principal: { id: "ann", kind: "user" } });
    const turn = session.turn();
    const result = turn.dispatch(
      call("c1", "write_file", { path: "src/auth.ts", password: "AKIAIOSFODNN7EXAMPLE" }),
    );
    const inquiry = await nextInquiry();
    const requested = events.find(({ type }) => type === "tool.confirmation_requested");
    expect(requested).toMatchObject({
      requestId: inquiry.id,
      callId: "c1",
      turnId: turn.id,
      sessionId: session.id,
      toolName: "write_file",
      sideEffects: "write",
      projectedChanges: ["src/auth.ts"],
      digest: inquiry.digest,
      grant: HOST,
      choices: ["allow", "deny", "always"],
      question: "Run the tool 'write_file' (write)?",
      expiresAt: inquiry.askedAt + 300_000,
      missing: "1 secret hidden",
      principal: { id: "ann" },
    });
    expect(JSON.stringify(requested)).not.toContain("AKIA");
    expect(inquiry.shown.arguments).toBe('{"password":"AKIAIOSFODNN7EXAMPLE","path":"src/auth.ts"}');
    expect(types(events)).not.toContain("tool.started");
    const outcome = await session.answer(inquiry.id, answerTo(inquiry, "allow"));
    expect(outcome).toMatchObject({ outcome: "resolved", resolution: { decision: "allow", by: "eve" } });
    expect(await result).toMatchObject({
      success: true,
      confirmation: { by: "eve", digest: inquiry.digest },
    });
    expect(types(events)).toEqual([
      "tool.decided",
      "tool.confirmation_requested",
      "tool.confirmation_resolved",
      "tool.decided",
      "tool.started",
      "tool.completed",
    ]);
    expect(events[2]).toMatchObject({ requestId: inquiry.id, decision: "allow", by: "eve" });
  });

  test("does not run if a person denies it", async () => {
    const { sessions, events, nextInquiry } = await testSessions([write()]);
    const session = await sessions.open();
    const result = session.turn().dispatch(call("c1", "write_file"));
    const inquiry = await nextInquiry();
    await session.answer(inquiry.id, answerTo(inquiry, "deny"));
    const error = { code: "user_denied", effect: "none", message: "User denied this operation." };
    expect(await result).toMatchObject({ success: false, error });
    expect(types(events)).not.toContain("tool.started");
  });

  test("ends after the time-out if nobody answers, and a later answer is gone", async () => {
    const { sessions, events, nextInquiry } = await testSessions([write()], {
      confirmations: { timeoutMs: 1_000 },
    });
    const session = await sessions.open();
    const result = session.turn().dispatch(call("c1", "write_file"));
    const inquiry = await nextInquiry();
    const message = "Nobody confirmed this operation within 1s";
    expect(await result).toMatchObject({ error: { code: "confirmation_timeout", effect: "none", message } });
    expect(await session.answer(inquiry.id, answerTo(inquiry, "allow"))).toEqual({ outcome: "gone" });
    expect(events.at(-2)).toMatchObject({ type: "tool.confirmation_resolved", decision: "timeout" });
  });

  test("asks those who listen later too", async () => {
    const { sessions, nextInquiry } = await testSessions([write()]);
    const session = await sessions.open();
    const result = session.turn().dispatch(call("c1", "write_file"));
    const inquiry = await nextInquiry();
    const seen: unknown[] = [];
    const disconnect = sessions.onInquiry((event) => seen.push(event));
    disconnect();
    sessions.onInquiry((event) => seen.push(event));
    expect(seen).toEqual([
      { type: "requested", inquiry },
      { type: "requested", inquiry },
    ]);
    expect(session.openInquiries()).toEqual([inquiry]);
    await session.answer(inquiry.id, answerTo(inquiry, "allow"));
    expect(await result).toMatchObject({ success: true });
    expect(session.openInquiries()).toEqual([]);
  });

  test("takes the first of two answers at once, 1,000 times, and tells both the same", async () => {
    const { sessions, nextInquiry } = await testSessions([tool("write_file", "write")]);
    const session = await sessions.open();
    const turn = session.turn();
    for (let round = 0; round < 1_000; round++) {
      const result = turn.dispatch(call(`c${round}`, "write_file"));
      const inquiry = await nextInquiry();
      const answers = [answerTo(inquiry, "allow", "eve"), answerTo(inquiry, "deny", "bob")];
      if (round % 2 === 1) answers.reverse();
      const outcomes = await Promise.all(answers.map((answer) => session.answer(inquiry.id, answer)));
      expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(["lost", "resolved"]);
      const [one, other] = outcomes.map((outcome) => "resolution" in outcome && outcome.resolution);
      expect(one).toEqual(other);
      const { success } = (await result) as ToolExecution;
      expect(one).toMatchObject({ decision: success ? "allow" : "deny" });
    }
  });

  test("accepts no answer that is forged, stale, replayed, or for another session", async () => {
    const { sessions, nextInquiry } = await testSessions([write()]);
    const [a, b] = [await sessions.open(), await sessions.open()];
    const first = a.turn().dispatch(call("c1", "write_file", { path: "a" }));
    const inquiry = await nextInquiry();
    const forged = { ...answerTo(inquiry, "allow"), digest: "0".repeat(64) };
    expect(await a.answer(inquiry.id, forged)).toEqual({ outcome: "other-digest" });
    expect(await a.answer("01ARZ3NDEKTSV4RRFFQ69G5FAV", answerTo(inquiry, "allow"))).toEqual({
      outcome: "unknown",
    });
    expect(b.openInquiries()).toEqual([]);
    expect(await b.answer(inquiry.id, answerTo(inquiry, "allow"))).toEqual({ outcome: "unknown" });
    expect(a.openInquiries()).toEqual([inquiry]);
    await a.answer(inquiry.id, answerTo(inquiry, "allow"));
    expect(await first).toMatchObject({ success: true });
    // The same call in another session, and in another message of the same one, has another digest.
    const again = [a.turn().dispatch(call("c1", "write_file", { path: "a" }))];
    const second = await nextInquiry();
    again.push(b.turn().dispatch(call("c1", "write_file", { path: "a" })));
    const third = await nextInquiry();
    expect(new Set([inquiry, second, third].map(({ digest }) => digest)).size).toBe(3);
    expect(await a.answer(second.id, answerTo(inquiry, "allow"))).toEqual({ outcome: "other-digest" });
    expect(await a.answer(inquiry.id, answerTo(inquiry, "deny", "bob"))).toMatchObject({ outcome: "lost" });
    await a.answer(second.id, answerTo(second, "deny"));
    await b.answer(third.id, answerTo(third, "deny"));
    for (const result of again) expect(await result).toMatchObject({ error: { code: "user_denied" } });
  });

  test("is cancelled with its turn, and an answer to it is gone", async () => {
    const { sessions, events, nextInquiry } = await testSessions([write()]);
    const turn = (await sessions.open()).turn();
    const result = turn.dispatch(call("c1", "write_file"));
    const inquiry = await nextInquiry();
    await turn.cancel();
    expect(await result).toMatchObject({ error: { code: "cancelled", effect: "none" } });
    expect(await sessions.answer(inquiry.id, answerTo(inquiry, "allow"))).toEqual({ outcome: "gone" });
    expect(events.filter(({ type }) => type === "tool.confirmation_resolved")).toMatchObject([
      { decision: "cancelled" },
    ]);
    expect(types(events)).not.toContain("tool.started");
  });

  test("is refused beyond 32 open questions of a principal", async () => {
    const { sessions } = await testSessions([write()], { limits: { concurrency: 64 } });
    const session = await sessions.open({ principal: { id: "ann", kind: "agent" } });
    const turn = session.turn();
    const calls = Array.from({ length: 33 }, (_, index) => call(`c${index}`, "write_file"));
    const results = turn.dispatchAll(calls);
    const refused = await Promise.race(
      calls
        .map(async (_call, index) => (await results)[index])
        .concat([
          (async () => {
            while (session.openInquiries().length < 32) await new Promise((resolve) => setImmediate(resolve));
            return null;
          })(),
        ]),
    );
    expect(refused).toBeNull();
    await turn.cancel();
    const codes = (await results).map((execution) => execution?.error?.code);
    expect(codes.filter((code) => code === "permission_denied")).toHaveLength(1);
    expect(codes.filter((code) => code === "cancelled")).toHaveLength(32);
  });
});

describe("a person who answers", () => {
  test("can change the arguments, of which the model reads first", async () => {
    const { sessions, nextInquiry } = await testSessions([
      {
        ...write(),
        inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
      },
    ]);
    const session = await sessions.open();
    const result = session.turn().dispatch(call("c1", "write_file", { path: "/etc/passwd" }));
    const inquiry = await nextInquiry();
    const edit = (path: unknown): Promise<unknown> =>
      session.answer(inquiry.id, { ...answerTo(inquiry, "allow"), arguments: { path } as never });
    expect(await edit(1)).toEqual({
      outcome: "invalid",
      problem: "Invalid arguments: /path must be string",
    });
    expect(session.openInquiries()).toEqual([inquiry]);
    expect(await edit("notes.txt")).toMatchObject({ outcome: "resolved" });
    const execution = (await result) as ToolExecution;
    expect(execution).toMatchObject({
      arguments: { path: "notes.txt" },
      output: 'wrote {"path":"notes.txt"}',
      confirmation: { digest: inquiry.digest, editedDigest: expect.stringMatching(/^[\da-f]{64}$/) },
    });
    expect(toToolResult(execution).content[0]).toEqual({
      type: "text",
      text: '[A person changed the arguments to {"path":"notes.txt"}]',
    });
  });

  test("cannot change them to what the policy denies", async () => {
    const policy: RuntimePolicy = {
      check: ({ input }) => ((input as { bad?: true }).bad ? deny("bad") : allow(HOST)),
    };
    const { sessions, nextInquiry } = await testSessions([write()], { policy });
    const session = await sessions.open();
    const result = session.turn().dispatch(call("c1", "write_file"));
    const inquiry = await nextInquiry();
    const edited = { ...answerTo(inquiry, "allow"), arguments: { bad: true } };
    expect(await session.answer(inquiry.id, edited)).toMatchObject({ outcome: "invalid" });
    await session.answer(inquiry.id, answerTo(inquiry, "deny"));
    expect(await result).toMatchObject({ error: { code: "user_denied" } });
  });

  test("is asked once with 'always', and again in another session", async () => {
    const { sessions, events, nextInquiry } = await testSessions([write(), tool("write_other", "write")]);
    const [a, b] = [await sessions.open(), await sessions.open()];
    const first = a.turn().dispatch(call("c1", "write_file", { path: "a" }));
    const inquiry = await nextInquiry();
    await a.answer(inquiry.id, answerTo(inquiry, "always"));
    expect(await first).toMatchObject({ success: true });
    expect(await a.turn().dispatch(call("c2", "write_file", { path: "b" }))).toMatchObject({ success: true });
    expect(types(events).filter((type) => type === "tool.confirmation_requested")).toHaveLength(1);
    expect(a.approvals()).toMatchObject([{ approval: { tools: ["write_file"], for: "session", by: "eve" } }]);
    const others = [
      a.turn().dispatch(call("c3", "write_other")),
      b.turn().dispatch(call("c4", "write_file", { path: "a" })),
    ];
    await nextInquiry();
    await nextInquiry();
    expect(b.approvals()).toEqual([]);
    await Promise.all([a.cancel(), b.cancel()]);
    for (const other of others) expect(await other).toMatchObject({ error: { code: "cancelled" } });
  });

  test("is asked again after the approval was revoked, which another session cannot do", async () => {
    const { sessions, nextInquiry } = await testSessions([write()]);
    const [a, b] = [await sessions.open(), await sessions.open()];
    const first = a.turn().dispatch(call("c1", "write_file"));
    const inquiry = await nextInquiry();
    await a.answer(inquiry.id, answerTo(inquiry, "always"));
    await first;
    const [{ approval }] = a.approvals() as [ReturnType<typeof a.approvals>[number]];
    expect(await b.revokeApproval(approval.id)).toBe(false);
    expect(await a.revokeApproval(approval.id)).toBe(true);
    const second = a.turn().dispatch(call("c2", "write_file"));
    await nextInquiry();
    await a.cancel();
    expect(await second).toMatchObject({ error: { code: "cancelled" } });
  });

  test("can limit what is remembered to calls of a scope, of which the answered one is none", async () => {
    const { sessions, events, nextInquiry } = await testSessions([tool("send_mail", "network")]);
    const session = await sessions.open();
    const send = (amount: number): Promise<unknown> =>
      session.turn().dispatch(call("c", "send_mail", { amount }));
    const first = send(500);
    const inquiry = await nextInquiry();
    await session.answer(inquiry.id, {
      ...answerTo(inquiry, "always"),
      approval: { tools: ["send_*"], when: { "/amount": { range: { max: 100 } } }, for: 3_600_000, calls: 2 },
    });
    await first;
    expect(await Promise.all([send(100), send(1)])).toMatchObject([{ success: true }, { success: true }]);
    const asked = (): number => types(events).filter((type) => type === "tool.confirmation_requested").length;
    expect(asked()).toBe(1);
    const tooMany = send(1);
    await nextInquiry();
    const tooMuch = send(101);
    await nextInquiry();
    await session.cancel();
    expect(await Promise.all([tooMany, tooMuch])).toMatchObject([{ success: false }, { success: false }]);
  });

  test("is asked once by 'prompt_once', whatever the answer of allowing", async () => {
    const { sessions, nextInquiry } = await testSessions([tool("read", "read")], {
      confirmations: { tools: { read: "prompt_once" } },
    });
    const session = await sessions.open();
    const first = session.turn().dispatch(call("c1", "read"));
    const inquiry = await nextInquiry();
    await session.answer(inquiry.id, answerTo(inquiry, "allow"));
    await first;
    expect(await session.turn().dispatch(call("c2", "read"))).toMatchObject({ success: true });
  });
});

describe("'always' is not offered", () => {
  test.each([
    ["for a tool that always asks", { confirm: "always" }, {}, "cautious", undefined],
    ["in the mode manual", {}, {}, "manual", undefined],
    ["for a tool that is configured to ask", {}, { tools: { write_file: "prompt" } }, "cautious", undefined],
    ["if the policy asks each time", {}, {}, "autonomous", ask("Sure?", { grant: HOST })],
  ] as const)("%s", async (_case, more, confirmations, mode, decision) => {
    const policy: RuntimePolicy = { check: () => decision ?? allow(HOST) };
    const { sessions, nextInquiry } = await testSessions([{ ...write(), ...more }], {
      policy,
      confirmations,
    });
    const session = await sessions.open({ mode });
    const result = session.turn().dispatch(call("c1", "write_file"));
    const inquiry = await nextInquiry();
    expect(inquiry.choices).toEqual(["allow", "deny"]);
    expect(await session.answer(inquiry.id, answerTo(inquiry, "always"))).toMatchObject({
      outcome: "invalid",
    });
    await session.answer(inquiry.id, answerTo(inquiry, "allow"));
    expect(await result).toMatchObject({ success: true });
  });
});

describe("a policy that asks", () => {
  test("accepts an approval only if its rule says so", async () => {
    const policy: RuntimePolicy = { check: () => ask("Sure?", { grant: HOST, remember: "session" }) };
    const { sessions, nextInquiry } = await testSessions([tool("read", "read")], { policy });
    const session = await sessions.open({ mode: "autonomous" });
    const first = session.turn().dispatch(call("c1", "read"));
    const inquiry = await nextInquiry();
    expect(inquiry).toMatchObject({ choices: ["allow", "deny", "always"], shown: { question: "Sure?" } });
    await session.answer(inquiry.id, answerTo(inquiry, "always"));
    await first;
    expect(await session.turn().dispatch(call("c2", "read"))).toMatchObject({ success: true });
  });

  test("asks anew, once, if it grants more after the answer", async () => {
    let calls = 0;
    const policy: RuntimePolicy = {
      check: () => allow({ sandbox: "host", limits: { wallTimeMs: 1_000 * ++calls } }),
    };
    const { sessions, nextInquiry } = await testSessions([write()], { policy });
    const session = await sessions.open();
    const result = session.turn().dispatch(call("c1", "write_file"));
    const [first] = [await nextInquiry()];
    await session.answer(first.id, answerTo(first, "allow"));
    const second = await nextInquiry();
    expect(second.digest).not.toBe(first.digest);
    await session.answer(second.id, answerTo(second, "allow"));
    expect(await result).toMatchObject({ error: { code: "permission_denied", effect: "none" } });
  });
});

test("nobody is asked about a call that could not run", async () => {
  const policy: RuntimePolicy = { check: () => allow({ sandbox: "wasm" }) };
  const { sessions, events } = await testSessions([write()], { policy });
  const execution = await (await sessions.open()).turn().dispatch(call("c1", "write_file"));
  expect(execution).toMatchObject({ error: { code: "sandbox_unavailable" } });
  expect(types(events)).not.toContain("tool.confirmation_requested");
});

test("a question of a nested call names its caller, and ends with it", async () => {
  const source = 'export default (_input, { tools }) => tools.call("write_file", {});';
  const policy: RuntimePolicy = {
    check: ({ tool: { sandboxes } }) =>
      sandboxes.includes("quickjs")
        ? allow({ sandbox: "quickjs", capabilities: { tools: ["*"] } })
        : allow(HOST),
  };
  const outer = {
    name: "outer",
    description: "",
    inputSchema: {},
    sideEffects: "none",
    quickjs: { source },
  } as const;
  const { sessions, nextInquiry } = await testSessions([outer, write()], { policy });
  const session = await sessions.open();
  const first = session.turn().dispatch(call("c1", "outer"));
  const inquiry = await nextInquiry();
  expect(inquiry).toMatchObject({ parent: "c1", callId: "c1/1", shown: { toolName: "write_file" } });
  await session.answer(inquiry.id, answerTo(inquiry, "allow"));
  expect(await first).toMatchObject({ success: true, output: "wrote {}" });
  const second = session.turn().dispatch(call("c2", "outer"));
  await nextInquiry();
  await session.cancel();
  expect(await second).toMatchObject({ error: { code: "cancelled" } });
  expect(session.openInquiries()).toEqual([]);
});

test("a slow approval holds up no sibling that runs", async () => {
  const gate = new Gate();
  const { sessions, nextInquiry } = await testSessions([write(), tool("read", "read", gate.host)]);
  const session = await sessions.open();
  const results = session
    .turn()
    .dispatchAll([call("w", "write_file"), ...["a", "b", "c", "d"].map((id) => call(id, "read"))]);
  const inquiry = await nextInquiry();
  await gate.hasBegun(4);
  gate.release("a", "b", "c", "d");
  await session.answer(inquiry.id, answerTo(inquiry, "deny"));
  const codes = (await results).map((execution) => execution?.error?.code);
  expect(codes).toEqual(["user_denied", undefined, undefined, undefined, undefined]);
});
