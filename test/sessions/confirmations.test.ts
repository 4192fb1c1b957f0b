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
    const { sessions, events, nextConfirmation } = await testSessions([
      { ...write(), paths: [{ argument: "/path", access: "write" }] },
    ]);
    const session = await sessions.open({ principal: { id: "ann", kind: "user" } });
    const turn = session.turn();
    const result = turn.dispatch(
      call("c1", "write_file", { path: "src/auth.ts", password: "AKIAIOSFODNN7EXAMPLE" }),
    );
    const confirmation = await nextConfirmation();
    const requested = events.find(({ type }) => type === "tool.confirmation_requested");
    expect(requested).toMatchObject({
      requestId: confirmation.id,
      callId: "c1",
      turnId: turn.id,
      sessionId: session.id,
      toolName: "write_file",
      sideEffects: "write",
      projectedChanges: ["src/auth.ts"],
      digest: confirmation.digest,
      grant: HOST,
      choices: ["allow", "deny", "always"],
      question: "Run the tool 'write_file' (write)?",
      expiresAt: confirmation.askedAt + 300_000,
      missing: "1 secret hidden",
      principal: { id: "ann" },
    });
    expect(JSON.stringify(requested)).not.toContain("AKIA");
    expect(confirmation.shown.arguments).toBe('{"password":"AKIAIOSFODNN7EXAMPLE","path":"src/auth.ts"}');
    expect(types(events)).not.toContain("tool.started");
    const outcome = await session.answer(confirmation.id, answerTo(confirmation, "allow"));
    expect(outcome).toMatchObject({ outcome: "resolved", resolution: { decision: "allow", by: "eve" } });
    expect(await result).toMatchObject({
      success: true,
      confirmation: { by: "eve", digest: confirmation.digest },
    });
    expect(types(events)).toEqual([
      "tool.decided",
      "tool.confirmation_requested",
      "tool.confirmation_resolved",
      "tool.decided",
      "tool.started",
      "tool.completed",
    ]);
    expect(events[2]).toMatchObject({ requestId: confirmation.id, decision: "allow", by: "eve" });
  });

  test("does not run if a person denies it", async () => {
    const { sessions, events, nextConfirmation } = await testSessions([write()]);
    const session = await sessions.open();
    const result = session.turn().dispatch(call("c1", "write_file"));
    const confirmation = await nextConfirmation();
    await session.answer(confirmation.id, answerTo(confirmation, "deny"));
    const error = { code: "user_denied", effect: "none", message: "User denied this operation." };
    expect(await result).toMatchObject({ success: false, error });
    expect(types(events)).not.toContain("tool.started");
  });

  test("ends after the time-out if nobody answers, and a later answer is gone", async () => {
    const { sessions, events, nextConfirmation } = await testSessions([write()], {
      confirmations: { timeoutMs: 1_000 },
    });
    const session = await sessions.open();
    const result = session.turn().dispatch(call("c1", "write_file"));
    const confirmation = await nextConfirmation();
    const message = "Nobody confirmed this operation within 1s";
    expect(await result).toMatchObject({ error: { code: "confirmation_timeout", effect: "none", message } });
    expect(await session.answer(confirmation.id, answerTo(confirmation, "allow"))).toEqual({
      outcome: "gone",
    });
    expect(events.at(-2)).toMatchObject({ type: "tool.confirmation_resolved", decision: "timeout" });
  });

  test("asks those who listen later too", async () => {
    const { sessions, nextConfirmation } = await testSessions([write()]);
    const session = await sessions.open();
    const result = session.turn().dispatch(call("c1", "write_file"));
    const confirmation = await nextConfirmation();
    const seen: unknown[] = [];
    const disconnect = sessions.onConfirmation((event) => seen.push(event));
    disconnect();
    sessions.onConfirmation((event) => seen.push(event));
    expect(seen).toEqual([
      { type: "requested", confirmation },
      { type: "requested", confirmation },
    ]);
    expect(session.openConfirmations()).toEqual([confirmation]);
    await session.answer(confirmation.id, answerTo(confirmation, "allow"));
    expect(await result).toMatchObject({ success: true });
    expect(session.openConfirmations()).toEqual([]);
  });

  test("takes the first of two answers at once, 1,000 times, and tells both the same", async () => {
    const { sessions, nextConfirmation } = await testSessions([tool("write_file", "write")]);
    const session = await sessions.open();
    const turn = session.turn();
    for (let round = 0; round < 1_000; round++) {
      const result = turn.dispatch(call(`c${round}`, "write_file"));
      const confirmation = await nextConfirmation();
      const answers = [answerTo(confirmation, "allow", "eve"), answerTo(confirmation, "deny", "bob")];
      if (round % 2 === 1) answers.reverse();
      const outcomes = await Promise.all(answers.map((answer) => session.answer(confirmation.id, answer)));
      expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(["lost", "resolved"]);
      const [one, other] = outcomes.map((outcome) => "resolution" in outcome && outcome.resolution);
      expect(one).toEqual(other);
      const { success } = (await result) as ToolExecution;
      expect(one).toMatchObject({ decision: success ? "allow" : "deny" });
    }
  });

  test("accepts no answer that is forged, stale, replayed, or for another session", async () => {
    const { sessions, nextConfirmation } = await testSessions([write()]);
    const [a, b] = [await sessions.open(), await sessions.open()];
    const first = a.turn().dispatch(call("c1", "write_file", { path: "a" }));
    const confirmation = await nextConfirmation();
    const forged = { ...answerTo(confirmation, "allow"), digest: "0".repeat(64) };
    expect(await a.answer(confirmation.id, forged)).toEqual({ outcome: "other-digest" });
    expect(await a.answer("01ARZ3NDEKTSV4RRFFQ69G5FAV", answerTo(confirmation, "allow"))).toEqual({
      outcome: "unknown",
    });
    expect(b.openConfirmations()).toEqual([]);
    expect(await b.answer(confirmation.id, answerTo(confirmation, "allow"))).toEqual({ outcome: "unknown" });
    expect(a.openConfirmations()).toEqual([confirmation]);
    await a.answer(confirmation.id, answerTo(confirmation, "allow"));
    expect(await first).toMatchObject({ success: true });
    // The same call in another session, and in another message of the same one, has another digest.
    const again = [a.turn().dispatch(call("c1", "write_file", { path: "a" }))];
    const second = await nextConfirmation();
    again.push(b.turn().dispatch(call("c1", "write_file", { path: "a" })));
    const third = await nextConfirmation();
    expect(new Set([confirmation, second, third].map(({ digest }) => digest)).size).toBe(3);
    expect(await a.answer(second.id, answerTo(confirmation, "allow"))).toEqual({ outcome: "other-digest" });
    expect(await a.answer(confirmation.id, answerTo(confirmation, "deny", "bob"))).toMatchObject({
      outcome: "lost",
    });
    await a.answer(second.id, answerTo(second, "deny"));
    await b.answer(third.id, answerTo(third, "deny"));
    for (const result of again) expect(await result).toMatchObject({ error: { code: "user_denied" } });
  });

  test("is cancelled with its turn, and an answer to it is gone", async () => {
    const { sessions, events, nextConfirmation } = await testSessions([write()]);
    const turn = (await sessions.open()).turn();
    const result = turn.dispatch(call("c1", "write_file"));
    const confirmation = await nextConfirmation();
    await turn.cancel();
    expect(await result).toMatchObject({ error: { code: "cancelled", effect: "none" } });
    expect(await sessions.answer(confirmation.id, answerTo(confirmation, "allow"))).toEqual({
      outcome: "gone",
    });
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
            while (session.openConfirmations().length < 32)
              await new Promise((resolve) => setImmediate(resolve));
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
    const { sessions, nextConfirmation } = await testSessions([
      {
        ...write(),
        inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
      },
    ]);
    const session = await sessions.open();
    const result = session.turn().dispatch(call("c1", "write_file", { path: "/etc/passwd" }));
    const confirmation = await nextConfirmation();
    const edit = (path: unknown): Promise<unknown> =>
      session.answer(confirmation.id, { ...answerTo(confirmation, "allow"), arguments: { path } as never });
    expect(await edit(1)).toEqual({
      outcome: "invalid",
      problem: "Invalid arguments: /path must be string",
    });
    expect(session.openConfirmations()).toEqual([confirmation]);
    expect(await edit("notes.txt")).toMatchObject({ outcome: "resolved" });
    const execution = (await result) as ToolExecution;
    expect(execution).toMatchObject({
      arguments: { path: "notes.txt" },
      output: 'wrote {"path":"notes.txt"}',
      confirmation: { digest: confirmation.digest, editedDigest: expect.stringMatching(/^[\da-f]{64}$/) },
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
    const { sessions, nextConfirmation } = await testSessions([write()], { policy });
    const session = await sessions.open();
    const result = session.turn().dispatch(call("c1", "write_file"));
    const confirmation = await nextConfirmation();
    const edited = { ...answerTo(confirmation, "allow"), arguments: { bad: true } };
    expect(await session.answer(confirmation.id, edited)).toMatchObject({ outcome: "invalid" });
    await session.answer(confirmation.id, answerTo(confirmation, "deny"));
    expect(await result).toMatchObject({ error: { code: "user_denied" } });
  });

  test("is asked once with 'always', and again in another session", async () => {
    const { sessions, events, nextConfirmation } = await testSessions([
      write(),
      tool("write_other", "write"),
    ]);
    const [a, b] = [await sessions.open(), await sessions.open()];
    const first = a.turn().dispatch(call("c1", "write_file", { path: "a" }));
    const confirmation = await nextConfirmation();
    await a.answer(confirmation.id, answerTo(confirmation, "always"));
    expect(await first).toMatchObject({ success: true });
    expect(await a.turn().dispatch(call("c2", "write_file", { path: "b" }))).toMatchObject({ success: true });
    expect(types(events).filter((type) => type === "tool.confirmation_requested")).toHaveLength(1);
    expect(a.approvals()).toMatchObject([{ approval: { tools: ["write_file"], for: "session", by: "eve" } }]);
    const others = [
      a.turn().dispatch(call("c3", "write_other")),
      b.turn().dispatch(call("c4", "write_file", { path: "a" })),
    ];
    await nextConfirmation();
    await nextConfirmation();
    expect(b.approvals()).toEqual([]);
    await Promise.all([a.cancel(), b.cancel()]);
    for (const other of others) expect(await other).toMatchObject({ error: { code: "cancelled" } });
  });

  test("is asked again after the approval was revoked, which another session cannot do", async () => {
    const { sessions, nextConfirmation } = await testSessions([write()]);
    const [a, b] = [await sessions.open(), await sessions.open()];
    const first = a.turn().dispatch(call("c1", "write_file"));
    const confirmation = await nextConfirmation();
    await a.answer(confirmation.id, answerTo(confirmation, "always"));
    await first;
    const [{ approval }] = a.approvals() as [ReturnType<typeof a.approvals>[number]];
    expect(await b.revokeApproval(approval.id)).toBe(false);
    expect(await a.revokeApproval(approval.id)).toBe(true);
    const second = a.turn().dispatch(call("c2", "write_file"));
    await nextConfirmation();
    await a.cancel();
    expect(await second).toMatchObject({ error: { code: "cancelled" } });
  });

  test("can limit what is remembered to calls of a scope, of which the answered one is none", async () => {
    const { sessions, events, nextConfirmation } = await testSessions([tool("send_mail", "network")]);
    const session = await sessions.open();
    const send = (amount: number): Promise<unknown> =>
      session.turn().dispatch(call("c", "send_mail", { amount }));
    const first = send(500);
    const confirmation = await nextConfirmation();
    await session.answer(confirmation.id, {
      ...answerTo(confirmation, "always"),
      approval: { tools: ["send_*"], when: { "/amount": { range: { max: 100 } } }, for: 3_600_000, calls: 2 },
    });
    await first;
    expect(await Promise.all([send(100), send(1)])).toMatchObject([{ success: true }, { success: true }]);
    const asked = (): number => types(events).filter((type) => type === "tool.confirmation_requested").length;
    expect(asked()).toBe(1);
    const tooMany = send(1);
    await nextConfirmation();
    const tooMuch = send(101);
    await nextConfirmation();
    await session.cancel();
    expect(await Promise.all([tooMany, tooMuch])).toMatchObject([{ success: false }, { success: false }]);
  });

  test("is asked once by 'prompt_once', whatever the answer of allowing", async () => {
    const { sessions, nextConfirmation } = await testSessions([tool("read", "read")], {
      confirmations: { tools: { read: "prompt_once" } },
    });
    const session = await sessions.open();
    const first = session.turn().dispatch(call("c1", "read"));
    const confirmation = await nextConfirmation();
    await session.answer(confirmation.id, answerTo(confirmation, "allow"));
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
    const { sessions, nextConfirmation } = await testSessions([{ ...write(), ...more }], {
      policy,
      confirmations,
    });
    const session = await sessions.open({ mode });
    const result = session.turn().dispatch(call("c1", "write_file"));
    const confirmation = await nextConfirmation();
    expect(confirmation.choices).toEqual(["allow", "deny"]);
    expect(await session.answer(confirmation.id, answerTo(confirmation, "always"))).toMatchObject({
      outcome: "invalid",
    });
    await session.answer(confirmation.id, answerTo(confirmation, "allow"));
    expect(await result).toMatchObject({ success: true });
  });
});

describe("a policy that asks", () => {
  test("accepts an approval only if its rule says so", async () => {
    const policy: RuntimePolicy = { check: () => ask("Sure?", { grant: HOST, remember: "session" }) };
    const { sessions, nextConfirmation } = await testSessions([tool("read", "read")], { policy });
    const session = await sessions.open({ mode: "autonomous" });
    const first = session.turn().dispatch(call("c1", "read"));
    const confirmation = await nextConfirmation();
    expect(confirmation).toMatchObject({
      choices: ["allow", "deny", "always"],
      shown: { question: "Sure?" },
    });
    await session.answer(confirmation.id, answerTo(confirmation, "always"));
    await first;
    expect(await session.turn().dispatch(call("c2", "read"))).toMatchObject({ success: true });
  });

  test("asks anew, once, if it grants more after the answer", async () => {
    let calls = 0;
    const policy: RuntimePolicy = {
      check: () => allow({ sandbox: "host", limits: { wallTimeMs: 1_000 * ++calls } }),
    };
    const { sessions, nextConfirmation } = await testSessions([write()], { policy });
    const session = await sessions.open();
    const result = session.turn().dispatch(call("c1", "write_file"));
    const [first] = [await nextConfirmation()];
    await session.answer(first.id, answerTo(first, "allow"));
    const second = await nextConfirmation();
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
  const { sessions, nextConfirmation } = await testSessions([outer, write()], { policy });
  const session = await sessions.open();
  const first = session.turn().dispatch(call("c1", "outer"));
  const confirmation = await nextConfirmation();
  expect(confirmation).toMatchObject({ parent: "c1", callId: "c1/1", shown: { toolName: "write_file" } });
  await session.answer(confirmation.id, answerTo(confirmation, "allow"));
  expect(await first).toMatchObject({ success: true, output: "wrote {}" });
  const second = session.turn().dispatch(call("c2", "outer"));
  await nextConfirmation();
  await session.cancel();
  expect(await second).toMatchObject({ error: { code: "cancelled" } });
  expect(session.openConfirmations()).toEqual([]);
});

test("a slow approval holds up no sibling that runs", async () => {
  const gate = new Gate();
  const { sessions, nextConfirmation } = await testSessions([write(), tool("read", "read", gate.host)]);
  const session = await sessions.open();
  const results = session
    .turn()
    .dispatchAll([call("w", "write_file"), ...["a", "b", "c", "d"].map((id) => call(id, "read"))]);
  const confirmation = await nextConfirmation();
  await gate.hasBegun(4);
  gate.release("a", "b", "c", "d");
  await session.answer(confirmation.id, answerTo(confirmation, "deny"));
  const codes = (await results).map((execution) => execution?.error?.code);
  expect(codes).toEqual(["user_denied", undefined, undefined, undefined, undefined]);
});
