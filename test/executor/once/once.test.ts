import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { defineTool } from "../../../src/engine/tool.ts";
import { signRequest } from "../../../src/remote-protocol/signatures/sign-request.ts";
import {
  type Answer,
  CountingTool,
  dispatch,
  dispatchBody,
  executionOf,
  HeldTool,
  problemOf,
  send,
  startExecutor,
  until,
} from "../harness.ts";
import { SlowlyEnding } from "../slowly-ending.ts";

describe("repeated calls", () => {
  test("a repeated call gets the first execution, and does not run again", async () => {
    const counting = new CountingTool();
    const executor = await startExecutor([counting.tool]);
    const first = await dispatch(executor, dispatchBody({ name: "count", arguments: { a: 1, b: 2 } }));
    // The order of members, the limits and the timeout do not matter.
    const again = await dispatch(
      executor,
      dispatchBody({ name: "count", arguments: { b: 2, a: 1 } }, { limits: { wallTimeMs: 9 }, timeoutMs: 9 }),
    );
    expect(again.text).toBe(first.text);
    expect([first, again].map(({ headers }) => headers["idempotency-replayed"])).toEqual([undefined, "true"]);
    expect(counting.calls).toBe(1);
  });

  test("a repeated call that still runs waits for the same execution", async () => {
    const held = new HeldTool();
    const executor = await startExecutor([held.tool]);
    const body = dispatchBody({ name: "hold" });
    const answers = Array.from({ length: 10 }, () => dispatch(executor, body));
    await until(() => held.started.length > 0);
    const stream = dispatch(executor, body, { headers: { accept: "text/event-stream" } });
    const metrics = async (): Promise<string> =>
      (await send(executor, { method: "GET", path: "/metrics" })).text;
    while (!(await metrics()).includes("sandgate_replays_total 10"));
    held.releaseAll();
    const texts = (await Promise.all(answers)).map(({ text }) => text);
    expect(new Set(texts).size).toBe(1);
    expect((await stream).text).toBe(`event: execution\ndata: ${texts[0]}\n\n`);
    expect(held.started).toEqual(["call"]);
  });

  test("a repeated id with other arguments or another name is refused", async () => {
    const counting = new CountingTool();
    const executor = await startExecutor([counting.tool]);
    await dispatch(executor, dispatchBody({ name: "count", arguments: { a: 1 } }));
    for (const call of [
      { name: "count", arguments: { a: 2 } },
      { name: "other", arguments: { a: 1 } },
    ]) {
      expect(problemOf(await dispatch(executor, dispatchBody(call)))).toBe("409 call_id_conflict");
    }
    expect(counting.calls).toBe(1);
  });

  test("a repeated id in another session or of another caller is another call", async () => {
    const counting = new CountingTool();
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const token = "0123456789abcdef";
    const executor = await startExecutor([counting.tool], { keys: new Map([["k", publicKey]]), token });
    const bearer = { headers: { authorization: `Bearer ${token}` } };
    const body = dispatchBody({ name: "count" });
    executionOf(await dispatch(executor, body, bearer));
    executionOf(await dispatch(executor, dispatchBody({ name: "count" }, { session: "other" }), bearer));
    expect(counting.calls).toBe(2);
    const signed = signRequest(
      { method: "POST", authority: executor.address, path: "/v1/dispatch", body },
      { keyId: "k", privateKey },
    );
    executionOf(await dispatch(executor, body, { headers: { ...signed } }));
    expect(counting.calls).toBe(3);
  });

  test("a repeated call does not run again if its execution is no longer kept", async () => {
    const counting = new CountingTool();
    const executor = await startExecutor([counting.tool], {
      limits: { window: { calls: 10, bytes: 1, ageMs: 60_000 } },
    });
    await dispatch(executor, dispatchBody({ name: "count" }));
    expect(problemOf(await dispatch(executor, dispatchBody({ name: "count" })))).toBe("410 result_forgotten");
    expect(counting.calls).toBe(1);
  });
});

describe("abandoned calls", () => {
  const tool = defineTool({ name: "t", description: "", inputSchema: { type: "object" }, host: () => 1 });
  const used = { wallTimeMs: 0 };
  const BODY = dispatchBody({ name: "t" });

  /**
   * Starts an executor with a call that is being cancelled, and sends two more requests for it, one as a
   * stream.
   */
  async function abandon(): Promise<{
    sandbox: SlowlyEnding;
    answers: Promise<readonly [Answer, Answer]>;
  }> {
    const sandbox = new SlowlyEnding();
    const executor = await startExecutor([tool], { sandboxes: { route: () => sandbox } });
    const gone = new AbortController();
    const first = dispatch(executor, BODY, { signal: gone.signal });
    first.catch(() => {});
    await until(() => sandbox.signals.length === 1);
    gone.abort();
    await until(() => sandbox.signals[0]?.aborted === true);
    const accept = "text/event-stream";
    const answers = Promise.all([
      dispatch(executor, BODY),
      dispatch(executor, BODY, { headers: { accept } }),
    ]);
    // Usually, both requests have arrived by then, but the result does not depend on it.
    await new Promise((resolve) => setTimeout(resolve, 50));
    return { sandbox, answers };
  }

  test("an abandoned call without effect runs again, with a new signal, for requests that arrived meanwhile", async () => {
    const { sandbox, answers } = await abandon();
    expect(sandbox.signals).toHaveLength(1);
    sandbox.end({ status: "cancelled", effect: "none", used });
    await until(() => sandbox.signals.length === 2);
    expect(sandbox.signals[1]?.aborted).toBe(false);
    sandbox.end({ status: "completed", output: "mine", effect: "committed", used });
    const [answer, stream] = await answers;
    expect(executionOf(answer)).toMatchObject({ success: true, output: "mine" });
    expect(stream.text).toBe(`event: execution\ndata: ${answer.text}\n\n`);
    // One request started the call, and the other one waited for it.
    const replayed = [answer, stream].map(({ headers }) => headers["idempotency-replayed"]);
    expect(replayed.filter((value) => value === "true")).toHaveLength(1);
    expect(sandbox.signals).toHaveLength(2);
  });

  test("an abandoned call that may have had an effect does not run again, and its failure says why it ended", async () => {
    const { sandbox, answers } = await abandon();
    sandbox.end({ status: "cancelled", effect: "unknown", used });
    const [answer, stream] = await answers;
    expect(executionOf(answer).error).toMatchObject({
      code: "cancelled",
      message: "Tool call was cancelled: the client disconnected before it finished",
      effect: "unknown",
    });
    expect(stream.text).toBe(`event: execution\ndata: ${answer.text}\n\n`);
    for (const { headers } of [answer, stream]) expect(headers["idempotency-replayed"]).toBe("true");
    expect(sandbox.signals).toHaveLength(1);
  });

  test("a call that is abandoned while a hook decides on it runs when it is repeated", async () => {
    const counting = new CountingTool();
    const asked: (() => void)[] = [];
    const executor = await startExecutor([counting.tool], {
      hooks: {
        onToolCall: () => new Promise((resolve) => asked.push(() => resolve("continue"))),
      },
    });
    const gone = new AbortController();
    dispatch(executor, dispatchBody({ name: "count" }), { signal: gone.signal }).catch(() => {});
    await until(() => asked.length === 1);
    gone.abort();
    const metrics = async (): Promise<string> =>
      (await send(executor, { method: "GET", path: "/metrics" })).text;
    while (!(await metrics()).includes("sandgate_calls_in_flight 0"));
    const again = dispatch(executor, dispatchBody({ name: "count" }));
    await until(() => asked.length === 2);
    asked[1]?.();
    const answer = await again;
    expect(executionOf(answer).success).toBe(true);
    expect(answer.headers["idempotency-replayed"]).toBeUndefined();
    expect(counting.calls).toBe(1);
  });
});

describe("load", () => {
  test("calls that do not fit in the queue are refused with retry-after, and can be sent again", async () => {
    const held = new HeldTool();
    const executor = await startExecutor([held.tool], { limits: { inFlight: 2, queued: 3 } });
    const answers: Answer[] = [];
    const all = Array.from({ length: 10 }, async (_, index) => {
      answers.push(await dispatch(executor, dispatchBody({ id: `c${index}`, name: "hold" })));
    });
    await until(() => answers.length === 5);
    expect(answers.map(problemOf)).toEqual(Array(5).fill("429 overloaded"));
    expect(answers.map(({ headers }) => headers["retry-after"])).toEqual(Array(5).fill("1"));
    expect(held.started).toHaveLength(2);
    const refused = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"];
    for (let count = 0; count < 5; count++) {
      await until(() => held.started.length > count);
      held.release();
    }
    await Promise.all(all);
    expect(answers.slice(5).map((answer) => executionOf(answer).success)).toEqual(Array(5).fill(true));
    const id = refused.find((each) => !held.started.includes(each)) as string;
    const again = dispatch(executor, dispatchBody({ id, name: "hold" }));
    await until(() => held.started.includes(id));
    held.releaseAll();
    expect(executionOf(await again).success).toBe(true);
  });

  test("a call whose timeout expires before its turn does not run", async () => {
    const held = new HeldTool();
    const executor = await startExecutor([held.tool], { limits: { inFlight: 1 } });
    const first = dispatch(executor, dispatchBody({ id: "a", name: "hold" }));
    await until(() => held.started.length === 1);
    const waiting = dispatch(executor, dispatchBody({ id: "b", name: "hold" }, { timeoutMs: 20 }));
    await new Promise((resolve) => setTimeout(resolve, 60));
    held.release();
    await first;
    expect(problemOf(await waiting)).toBe("504 deadline_passed");
    expect(held.started).toEqual(["a"]);
  });

  test("a session with many calls does not delay another session", async () => {
    const held = new HeldTool();
    const executor = await startExecutor([held.tool], { limits: { inFlight: 1 } });
    const many = ["a1", "a2", "a3"].map((id) =>
      dispatch(executor, dispatchBody({ id, name: "hold" }, { session: "many" })),
    );
    await until(() => held.started.length === 1);
    const metrics = async (): Promise<string> =>
      (await send(executor, { method: "GET", path: "/metrics" })).text;
    while (!(await metrics()).includes("sandgate_calls_queued 2"));
    const one = dispatch(executor, dispatchBody({ id: "b1", name: "hold" }, { session: "one" }));
    while (!(await metrics()).includes("sandgate_calls_queued 3"));
    for (let count = 1; count <= 4; count++) {
      held.release();
      if (count < 4) await until(() => held.started.length === count + 1);
    }
    await Promise.all([...many, one]);
    expect(held.started.indexOf("b1")).toBe(2);
  });
});
