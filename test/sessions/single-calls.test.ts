import { expect, test } from "vitest";
import { MemorySessionStore } from "../../src/sessions/store/memory-store.ts";
import { answerTo, call, testSessions, tool } from "./harness.ts";

test("a call that is kept in memory runs once, although its message comes again while a person is asked", async () => {
  let runs = 0;
  const { sessions, nextConfirmation } = await testSessions([tool("write", "write", () => ++runs)], {
    store: new MemorySessionStore(),
  });
  const turn = (await sessions.open()).turn();
  const result = turn.dispatch(call("a", "write"));
  const confirmation = await nextConfirmation();
  const { messageId = "" } = confirmation;
  const again = turn.dispatchAll([call("a", "write")], { messageId });
  const other = turn.dispatchAll([call("b", "write")], { messageId });
  await expect(other).rejects.toMatchObject({ code: "message_conflict" });
  await sessions.answer(confirmation.id, answerTo(confirmation, "allow"));
  expect(await result).toMatchObject({ success: true, output: 1 });
  expect(await again).toEqual([await result]);
  expect(await turn.dispatchAll([call("a", "write")], { messageId })).toEqual([await result]);
  expect(runs).toBe(1);
});

test("the messages of single calls have different ids", async () => {
  const { sessions } = await testSessions([tool("read", "read")], { store: new MemorySessionStore() });
  const turn = (await sessions.open()).turn();
  await Promise.all(["a", "b"].map((id) => turn.dispatch(call(id, "read"))));
  const messages = await turn.messages();
  expect(messages.map(({ calls }) => calls.map(({ id }) => id))).toEqual([["a"], ["b"]]);
  expect(new Set(messages.map(({ id }) => id)).size).toBe(2);
});

test("a call that the store cannot keep does not run, and its promise rejects", async () => {
  let runs = 0;
  class FullStore extends MemorySessionStore {
    override addMessage(): never {
      throw new Error("the disk is full");
    }
  }
  const { sessions } = await testSessions([tool("read", "read", () => ++runs)], { store: new FullStore() });
  const turn = (await sessions.open()).turn();
  await expect(turn.dispatch(call("a", "read"))).rejects.toThrow("the disk is full");
  expect(runs).toBe(0);
});
