import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { AgentRequest } from "../../../src/sessions/agent-tools.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { answerTo, call, Gate, tool } from "../harness.ts";
import { agentSessions, run, spawn, TOOLS } from "./harness.ts";

const DEEPER = ["spawn_agent", { prompt: "Deeper." }] as const;

describe("spawn_agent", () => {
  test("runs an agent with the prompt and the tools of the session, and returns its last text", async () => {
    let seen: AgentRequest | undefined;
    const execution = await spawn(async (request) => {
      seen = request;
      return (await run(request.session, "read")).output;
    });
    expect(execution).toMatchObject({ success: true, output: "read ran" });
    expect(seen).toMatchObject({ prompt: "Do it.", maxIterations: 15 });
    expect(seen?.tools.map(({ name }) => name)).toEqual(["look", "read", "write", "shell", "spawn_agent"]);
  });

  test("refuses the calls of the 16th message, whatever the agent does", async () => {
    const outcomes: unknown[] = [];
    await spawn(async ({ session }) => {
      const turn = session.turn();
      for (let index = 0; index < 8; index++) {
        outcomes.push((await turn.dispatch(call(`a${index}`, "look")))?.success);
        const [first] = await session.turn().dispatchAll([call(`b${index}`, "look"), call("other", "look")]);
        outcomes.push(first?.success === true || first?.error);
      }
      return "done";
    });
    expect(outcomes.slice(0, 15)).toEqual(Array.from({ length: 15 }, () => true));
    expect(outcomes[15]).toMatchObject({
      code: "permission_denied",
      message: "Permission denied: this agent had its 15 iterations: it must answer with what it knows",
      effect: "none",
    });
  });

  test("nests three deep, and no deeper", async () => {
    const errors: unknown[] = [];
    let depth = 0;
    await spawn(async ({ session }) => {
      depth++;
      const { error } = await run(session, "spawn_agent", { prompt: "Deeper." });
      if (error) errors.push(error);
      return "done";
    });
    expect(depth).toBe(3);
    expect(errors).toMatchObject([
      {
        code: "permission_denied",
        message: "Permission denied: agents may be nested three deep",
        effect: "none",
      },
    ]);
  });

  test("fails if the agent fails or ends without a text, and closes its session", async () => {
    const failing = await agentSessions(() => {
      throw new Error("the model is not there");
    });
    const session = await failing.sessions.open();
    const { error } = await run(session, "spawn_agent", { prompt: "Do it." });
    expect(error?.code).toBe("execution_error");
    expect(error?.message).not.toContain("the model is not there");
    expect(failing.sessions.list()).toEqual([session]);
    await failing.sessions.close();
    const silent = await agentSessions((() => undefined) as never);
    const other = await silent.sessions.open();
    expect((await run(other, "spawn_agent", { prompt: "Do it." })).error?.message).toBe(
      "The agent ended without a text",
    );
    await silent.sessions.close();
  });

  test("is cancelled with its session's turn: its calls end, and its session is closed", async () => {
    const gate = new Gate();
    let signal: AbortSignal | undefined;
    const opened = await agentSessions(
      async (request) => {
        signal = request.signal;
        return String((await run(request.session, "wait")).error?.code);
      },
      { tools: [tool("wait", "read", gate.host)] },
    );
    const session = await opened.sessions.open();
    const turn = session.turn();
    const spawned = turn.dispatch(call("c", "spawn_agent", { prompt: "Wait." }));
    await gate.hasBegun(1);
    expect(opened.sessions.list()).toHaveLength(2);
    await turn.cancel();
    expect((await spawned)?.error?.code).toBe("cancelled");
    expect(signal?.aborted).toBe(true);
    expect(gate.ended).toEqual(["c"]);
    expect(opened.sessions.list()).toEqual([session]);
    await opened.sessions.close();
  });

  test("leaves nothing running that the agent did not wait for", async () => {
    const gate = new Gate();
    await spawn(
      async ({ session }) => {
        void session.turn().dispatch(call("late", "wait"));
        await gate.hasBegun(1);
        return "done";
      },
      { tools: [tool("wait", "read", gate.host)] },
    );
    expect(gate.ended).toEqual(["late"]);
  });

  test("cannot be called by a tool, which has only what its own call was granted", async () => {
    const { sessions } = await agentSessions(() => "done", {
      tools: [
        {
          name: "guest",
          description: "",
          inputSchema: { type: "object" },
          quickjs: {
            source: "export default (_, { tools }) => tools.call('spawn_agent', { prompt: 'Do it.' })",
          },
        },
      ],
      policy: {
        check: ({ tool: { name } }) => ({
          decision: "allow",
          grant:
            name === "guest"
              ? { sandbox: "quickjs", limits: {}, capabilities: { tools: ["spawn_agent"] } }
              : { sandbox: "host", limits: {}, capabilities: {} },
        }),
      },
    });
    const session = await sessions.open({ mode: "autonomous" });
    const { error } = await run(session, "guest");
    expect(error?.message).toContain("only the model of a session can have an agent run");
    await sessions.close();
  });
});

describe("the session of an agent", () => {
  test("is recorded with the call that runs it, and its events and records name that call", async () => {
    const store = new MemorySessionStore();
    const records: { type: string; callId: string; parent?: string }[] = [];
    const { sessions, events } = await agentSessions(
      async ({ session }) => {
        expect(store.sessions()[1]).toMatchObject({
          id: session.id,
          parent: { sessionId: "s1", callId: "c" },
        });
        return String((await run(session, "read")).output);
      },
      {
        store,
        journal: {
          begin: (record) => void records.push({ type: "begin", ...record }),
          end: (record) => void records.push({ type: "end", ...record }),
          deny: () => {},
        },
      },
    );
    await run(await sessions.open({ id: "s1" }), "spawn_agent", { prompt: "Read." });
    expect(events.filter(({ type }) => type === "tool.completed")).toMatchObject([
      { toolName: "read", parent: "s1/c" },
      { toolName: "spawn_agent" },
    ]);
    expect(records).toMatchObject([
      { type: "begin", toolName: "spawn_agent" },
      { type: "begin", toolName: "read", parent: "s1/c" },
      { type: "end", toolName: "read", parent: "s1/c" },
      { type: "end", toolName: "spawn_agent" },
    ]);
    expect(records[0]).not.toHaveProperty("parent");
    expect(store.sessions()).toHaveLength(1);
    await sessions.close();
  });

  test("is not opened again after a restart, nor are its confirmations", async () => {
    const store = new MemorySessionStore();
    const before = await agentSessions(
      async ({ session }) => String((await run(session, "write")).error?.code),
      {
        store,
      },
    );
    const session = await before.sessions.open({ id: "s1" });
    void session.turn({ id: "t" }).dispatchAll([call("c", "spawn_agent", { prompt: "Write." })]);
    await before.nextConfirmation();
    await before.sessions.close();
    const after = await agentSessions(() => "done", { store });
    expect(after.sessions.list().map(({ id }) => id)).toEqual(["s1"]);
    expect(after.sessions.openConfirmations()).toEqual([]);
    expect(store.sessions()).toHaveLength(1);
    await after.sessions.close();
  });

  test("asks a person as its own, who is told which call it works for", async () => {
    const opened = await agentSessions(async ({ session }) => String((await run(session, "write")).output));
    const session = await opened.sessions.open({ principal: { id: "ann", kind: "user" } });
    const spawned = run(session, "spawn_agent", { prompt: "Write." });
    const confirmation = await opened.nextConfirmation();
    expect(confirmation).toMatchObject({ kind: "call", principal: "ann" });
    expect(confirmation.sessionId).not.toBe(session.id);
    await opened.sessions.answer(confirmation.id, answerTo(confirmation, "allow"));
    expect((await spawned).output).toBe("write ran");
    await opened.sessions.close();
  });

  test("names the call that runs the agent in its confirmations, for a call of the agent and one of an agent below", async () => {
    const opened = await agentSessions(async ({ session, prompt }) =>
      String((await (prompt === "Deeper." ? run(session, "write") : run(session, ...DEEPER))).output),
    );
    const session = await opened.sessions.open({ id: "s1" });
    const spawned = run(session, "spawn_agent", { prompt: "Begin." });
    const confirmation = await opened.nextConfirmation();
    const [, middle] = opened.sessions.list();
    expect(confirmation.parent).toBe(`${middle?.id}/c`);
    expect(middle?.origin?.parent.id).toBe("s1");
    await opened.sessions.answer(confirmation.id, answerTo(confirmation, "allow"));
    expect((await spawned).output).toBe("write ran");
    const asked = opened.events.filter(({ type }) => type.startsWith("tool.confirmation"));
    expect(asked).toMatchObject([{ parent: `${middle?.id}/c` }, { parent: `${middle?.id}/c` }]);
    await opened.sessions.close();
  });

  test("does not use up the wall time of the calls that run agents while a person is asked", async () => {
    const asking = tool("ask", "none", async (_input, { ask }) => ask({ question: "Which?" }));
    const opened = await agentSessions(
      async ({ session, prompt }) => {
        if (prompt !== "Deeper.") return String((await run(session, ...DEEPER)).output);
        await run(session, "write");
        return String((await run(session, "ask")).output);
      },
      { tools: [...TOOLS, asking], timeoutMs: 1_500 },
    );
    const session = await opened.sessions.open();
    const spawned = run(session, "spawn_agent", { prompt: "Begin." });
    const confirmation = await opened.nextConfirmation();
    await setTimeout(1_600);
    await opened.sessions.answer(confirmation.id, answerTo(confirmation, "allow"));
    const question = await opened.nextQuestion();
    await setTimeout(1_600);
    const answer = { digest: question.digest, decision: "answer", answer: "this", by: "eve" } as const;
    await opened.sessions.answer(question.id, answer);
    expect(await spawned).toMatchObject({ success: true, output: "this" });
    await opened.sessions.close();
  });

  test("uses up the wall time of the call that runs it while no person is asked", async () => {
    const gate = new Gate();
    const execution = await spawn(async ({ session }) => String((await run(session, "wait")).error?.code), {
      tools: [tool("wait", "read", gate.host)],
      timeoutMs: 200,
    });
    expect(execution.error?.code).toBe("timeout");
  });
});

test("observers get redacted arguments of the call, and the agent gets them whole", async () => {
  const { Redaction } = await import("../../../src/redaction/redaction.ts");
  const secret = "AKIAIOSFODNN7EXAMPLE";
  let prompt = "";
  const opened = await agentSessions(
    (request) => {
      ({ prompt } = request);
      return "done";
    },
    { redaction: new Redaction(), confirmations: { tools: { spawn_agent: "prompt" } }, tools: TOOLS },
  );
  const spawned = run(await opened.sessions.open(), "spawn_agent", { prompt: `Use ${secret}.` });
  const confirmation = await opened.nextConfirmation();
  expect(confirmation.shown.inputSummary.text).not.toContain(secret);
  await opened.sessions.answer(confirmation.id, answerTo(confirmation, "allow"));
  await spawned;
  expect(prompt).toContain(secret);
  expect(JSON.stringify(opened.events)).not.toContain(secret);
  await opened.sessions.close();
});
