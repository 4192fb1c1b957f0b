import { expect, test } from "vitest";
import { MessageConflictError } from "../../../src/sessions/calls/stored-messages.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import type { MessageRecord } from "../../../src/sessions/store/store.ts";
import { call, testSessions, tool } from "../harness.ts";

/** A store that fails to add the first message. */
class FailingStore {
  readonly memory = new MemorySessionStore();
  readonly #failure = Promise.withResolvers<never>();
  #isFirst = true;

  constructor() {
    const add = this.memory.addMessage.bind(this.memory);
    this.memory.addMessage = (record: MessageRecord) => {
      if (!this.#isFirst) return add(record);
      this.#isFirst = false;
      return this.#failure.promise as never;
    };
  }

  fail(): void {
    this.#failure.reject(new Error("the disk is full"));
  }
}

test.each([
  1, 2,
])("a message that comes again runs if only the first attempt could not be kept (%i more)", async (more) => {
  const store = new FailingStore();
  let runs = 0;
  const { sessions } = await testSessions([tool("look", "none", () => ++runs)], { store: store.memory });
  const turn = (await sessions.open()).turn();
  const attempt = () => turn.dispatchAll([call("c1", "look")], { messageId: "m1" });
  const first = attempt();
  const others = Array.from({ length: more }, attempt);
  store.fail();
  await expect(first).rejects.toThrow("the disk is full");
  expect(await Promise.all(others)).toMatchObject(others.map(() => [{ success: true, output: 1 }]));
  expect(await attempt()).toMatchObject([{ success: true, output: 1 }]);
  expect(runs).toBe(1);
});

test("without a store, a message that is dispatched again is refused, while it runs and after its end", async () => {
  let runs = 0;
  const { sessions } = await testSessions([tool("pay", "none", () => ++runs)]);
  const session = await sessions.open();
  const turn = session.turn();
  const attempt = () => turn.dispatchAll([call("c1", "pay")], { messageId: "m1" });
  const first = attempt();
  await expect(attempt()).rejects.toThrow("the message 'm1' was dispatched before");
  expect(await first).toMatchObject([{ output: 1 }]);
  await expect(attempt()).rejects.toThrow(MessageConflictError);
  await expect(turn.accept([call("c1", "pay")], { messageId: "m1" })).rejects.toThrow(MessageConflictError);
  expect(runs).toBe(1);
  expect(await session.turn().dispatchAll([call("c1", "pay")], { messageId: "m1" })).toMatchObject([
    { output: 2 },
  ]);
});
