import { describe, expect, test } from "vitest";
import type { Tool } from "../../src/engine/tool.ts";
import { allow, type RuntimePolicy } from "../../src/policy/policy.ts";
import { answerTo, call, Gate, testSessions, tool } from "./harness.ts";

const calls = (name: string, count: number, from = 1): ReturnType<typeof call>[] =>
  Array.from({ length: count }, (_, index) => call(`c${index + from}`, name));

describe("the calls of a message", () => {
  test("begin four at a time, the others wait in order, and the results are in request order", async () => {
    const gate = new Gate();
    const { sessions } = await testSessions([tool("wait", "read", gate.host)]);
    const turn = (await sessions.open()).turn();
    const results = turn.dispatchAll(calls("wait", 6));
    await gate.hasBegun(4);
    expect(gate.begun).toEqual(["c1", "c2", "c3", "c4"]);
    gate.release("c3");
    await gate.hasBegun(5);
    gate.release("c1");
    await gate.hasBegun(6);
    expect(gate.begun.slice(4)).toEqual(["c5", "c6"]);
    gate.release("c6", "c5", "c4", "c2");
    expect((await results).map((execution) => execution?.output)).toEqual([
      "c1",
      "c2",
      "c3",
      "c4",
      "c5",
      "c6",
    ]);
    expect(gate.mostAtOnce).toBe(4);
  });

  test("run at once even if they change something, up to the configured number", async () => {
    const gate = new Gate();
    const { sessions } = await testSessions([tool("write", "write", gate.host)], {
      limits: { concurrency: 2 },
    });
    const turn = (await sessions.open({ mode: "autonomous" })).turn();
    const results = turn.dispatchAll(calls("write", 3));
    await gate.hasBegun(2);
    gate.release("c1", "c2");
    await gate.hasBegun(3);
    gate.release("c3");
    expect((await results).every((execution) => execution?.success)).toBe(true);
    expect(gate.mostAtOnce).toBe(2);
  });

  test.each([
    ["the tool says so", { maxConcurrent: 1 }, {}],
    ["the limits say so", {}, { perTool: { shell: 1 } }],
    ["both say so, by the lower number", { maxConcurrent: 3 }, { perTool: { shell: 1 } }],
  ])("run one at a time if %s, while other tools go on", async (_who, more, limits) => {
    const shell = new Gate();
    const other = new Gate();
    const { sessions } = await testSessions(
      [tool("shell", "read", shell.host, more), tool("other", "read", other.host)],
      { limits },
    );
    const turn = (await sessions.open()).turn();
    const results = turn.dispatchAll([...calls("shell", 3), call("o1", "other")]);
    await other.hasBegun(1);
    for (const [index, id] of ["c1", "c2", "c3"].entries()) {
      await shell.hasBegun(index + 1);
      expect(shell.begun).toHaveLength(index + 1);
      shell.release(id);
    }
    other.release("o1");
    expect((await results).map((execution) => execution?.success)).toEqual([true, true, true, true]);
    expect(shell.mostAtOnce).toBe(1);
  });

  test("wait until those of an earlier message of the session have ended", async () => {
    const gate = new Gate();
    const { sessions } = await testSessions([tool("wait", "read", gate.host)]);
    const session = await sessions.open();
    const first = session.turn().dispatchAll(calls("wait", 2));
    const second = session.turn().dispatchAll(calls("wait", 2, 3));
    await gate.hasBegun(2);
    gate.release("c1");
    // A call of its own waits for no message, and shows that nothing else has begun.
    const alone = session.turn().dispatch(call("alone", "wait"));
    await gate.hasBegun(3);
    expect(gate.begun).toEqual(["c1", "c2", "alone"]);
    gate.release("c2", "alone");
    await first;
    await gate.hasBegun(5);
    gate.release("c3", "c4");
    expect(await second).toHaveLength(2);
    await alone;
  });

  test("do not run if they have the same id", async () => {
    const ran: string[] = [];
    const { sessions } = await testSessions([tool("run", "none", (_input, { callId }) => ran.push(callId))]);
    const turn = (await sessions.open()).turn();
    const results = await turn.dispatchAll([call("same", "run"), call("other", "run"), call("same", "run")]);
    const text = 'Invalid tool call: several calls of the message have the id "same"';
    const invalid = { code: "validation_error", effect: "none", message: text };
    expect(results).toMatchObject([{ error: invalid }, { success: true }, { error: invalid }]);
    expect(ran).toEqual(["other"]);
  });

  test("do not run if their message was cut off", async () => {
    const { sessions } = await testSessions([tool("run", "none")]);
    const turn = (await sessions.open()).turn();
    const cut = { ...call("c1", "run"), cutOff: true as const };
    const message = "Tool call was not run: its message was cut off";
    const error = { code: "cancelled", effect: "none", message };
    expect(await turn.dispatchAll([cut])).toMatchObject([{ error }]);
    expect(await turn.dispatch(cut)).toMatchObject({ error });
  });
});

describe("a call that waits for a person", () => {
  test("holds up no sibling, and its result is at its place", async () => {
    const { sessions, nextConfirmation } = await testSessions(
      [tool("write", "write"), tool("read", "read")],
      {
        limits: { concurrency: 1 },
      },
    );
    const session = await sessions.open();
    const turn = session.turn();
    const results = turn.dispatchAll([call("w", "write"), call("r1", "read"), call("r2", "read")]);
    const confirmation = await nextConfirmation();
    // The readers end, although the only place was the writer's.
    const alone = await turn.dispatch(call("r3", "read"));
    expect(alone).toMatchObject({ success: true });
    await session.answer(confirmation.id, answerTo(confirmation, "allow"));
    expect((await results).map((execution) => execution?.output)).toEqual([
      "write ran",
      "read ran",
      "read ran",
    ]);
  });

  test("waits for a place after the answer", async () => {
    const gate = new Gate();
    const { sessions, nextConfirmation } = await testSessions(
      [tool("write", "write", gate.host), tool("wait", "read", gate.host)],
      { limits: { concurrency: 1 } },
    );
    const session = await sessions.open();
    const results = session.turn().dispatchAll([call("w", "write"), call("r", "wait")]);
    const confirmation = await nextConfirmation();
    await gate.hasBegun(1);
    await session.answer(confirmation.id, answerTo(confirmation, "allow"));
    expect(gate.begun).toEqual(["r"]);
    gate.release("r");
    await gate.hasBegun(2);
    expect(gate.ended).toEqual(["r"]);
    gate.release("w");
    expect((await results).map((execution) => execution?.output)).toEqual(["w", "r"]);
    expect(gate.mostAtOnce).toBe(1);
  });
});

test("nested calls take no place, and none of their caller's tool", async () => {
  const source = `export default async ({ depth }, { tools }) =>
    depth > 0 ? 1 + (await tools.call("nest", { depth: depth - 1 })) : 0;`;
  const nest: Tool = { name: "nest", description: "", inputSchema: { type: "object" }, quickjs: { source } };
  const policy: RuntimePolicy = {
    check: () => allow({ sandbox: "quickjs", capabilities: { tools: ["*"] } }),
  };
  const { sessions } = await testSessions([{ ...nest, sideEffects: "none", maxConcurrent: 1 }], {
    policy,
    limits: { concurrency: 1, calls: 5 },
  });
  const turn = (await sessions.open()).turn();
  expect(await turn.dispatch(call("c1", "nest", { depth: 2 }))).toMatchObject({ success: true, output: 2 });
  // They count in the quotas: three calls were made, and the third of these is one too many.
  expect(await turn.dispatch(call("c2", "nest", { depth: 2 }))).toMatchObject({ success: false });
});
