import { describe, expect, test } from "vitest";
import { Attempts } from "../../../src/restate/calls/attempts.ts";
import type { GatedDispatchOptions } from "../../../src/restate/calls/gated-dispatch.ts";
import type { DurableCall } from "../../../src/sessions/durable/durable-runtime.ts";
import { executionOf, INQUIRY } from "../../sessions/store/records.ts";

const { id: _id, askedAt: _askedAt, expiresAt: _expiresAt, ...question } = INQUIRY;
const call = { sessionId: "s", turnId: "t", messageId: "m", call: { id: "c", name: "tool" } } as DurableCall;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const asking = (): GatedDispatchOptions => ({
  idempotencyKey: "key",
  inquiries: { timeoutMs: 1_000, ask: async () => "nobody" },
  start: async ({ inquiries, signal }) => {
    const cancelled = new Promise((resolve) => signal.addEventListener("abort", resolve));
    await Promise.race([cancelled, inquiries.ask(question as never)]);
    return executionOf("call");
  },
});

describe("The attempts of a process", () => {
  test("give a call up that waits for a person when its connection has ended", async () => {
    const attempts = new Attempts();
    const { dispatch, leave, token } = attempts.open("i", call, asking());
    await dispatch.advance([]);
    leave();
    await turn();
    expect(await dispatch.advance([])).toMatchObject({ kind: "ended" });
    expect(attempts.open("i", call, asking()).token).not.toBe(token);
  });

  test("keep a call that has come again before the end of its first connection was seen", async () => {
    const attempts = new Attempts();
    const first = attempts.open("i", call, asking());
    await first.dispatch.advance([]);
    const second = attempts.open("i", call, asking());
    first.leave();
    await turn();
    expect(second.token).toBe(first.token);
    expect(await second.dispatch.advance([])).toMatchObject({ kind: "asks" });
    second.leave();
    await turn();
    expect(await second.dispatch.advance([])).toMatchObject({ kind: "ended" });
  });
});
