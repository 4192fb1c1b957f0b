import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Session } from "../../../src/sessions/session.ts";
import { SessionStoreError } from "../../../src/sessions/session-errors.ts";
// Inside: sees what waits in memory while the disk is full, and in which order it is written later.
import { GuardedStore } from "../../../src/sessions/store/guarded-store.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { answerTo, call, Gate, testSessions, tool } from "../harness.ts";
import { CALL, CONFIRMATION, executionOf, MESSAGE, SESSION } from "./records.ts";

/** A store in memory whose disk can be full. */
class FullStore extends MemorySessionStore {
  isFull = false;
  readonly ended: string[] = [];

  override end(...args: Parameters<MemorySessionStore["end"]>): void {
    this.#requireRoom();
    this.ended.push(args[0].callId);
    super.end(...args);
  }

  override addMessage(
    ...args: Parameters<MemorySessionStore["addMessage"]>
  ): ReturnType<MemorySessionStore["addMessage"]> {
    this.#requireRoom();
    return super.addMessage(...args);
  }

  #requireRoom(): void {
    if (this.isFull) throw new Error("the disk is full");
  }
}

const warnings: string[] = [];
vi.spyOn(process, "emitWarning").mockImplementation((warning) => void warnings.push(String(warning)));
afterEach(() => void warnings.splice(0));

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(1);
}

async function filled(): Promise<{ readonly disk: FullStore; readonly store: GuardedStore }> {
  const disk = new FullStore();
  disk.addSession(SESSION);
  disk.addMessage(MESSAGE);
  disk.isFull = true;
  const store = new GuardedStore(disk);
  await store.end(CALL, executionOf("call_0"));
  return { disk, store };
}

const SECOND = { ...CALL, callId: "call_1", digest: "d1" };

describe("The end of a call that the store cannot write", () => {
  test("is read from memory, and is written in order when the store works again", async () => {
    const { disk, store } = await filled();
    await store.end(SECOND, executionOf("call_1"));
    expect(disk.ended).toEqual([]);
    expect(await store.calls("s1", "t1", "m1")).toMatchObject([{ state: "ended" }, { state: "ended" }]);
    disk.isFull = false;
    await until(() => store.problem === undefined);
    expect(disk.ended).toEqual(["call_0", "call_1"]);
    expect(disk.calls("s1", "t1", "m1")).toMatchObject([
      { state: "ended", execution: { output: { callId: "call_0" } } },
      { state: "ended", execution: { output: { callId: "call_1" } } },
    ]);
    await store.close();
  });

  test("keeps every call, message and allowing answer waiting until it is written", async () => {
    const { disk, store } = await filled();
    disk.addConfirmation(CONFIRMATION);
    const allow = { decision: "allow", by: "bob", at: 1 } as const;
    expect(store.problem).toBe("the disk is full");
    expect(() => store.claim(SECOND)).toThrow(SessionStoreError);
    expect(() => store.addMessage({ ...MESSAGE, messageId: "m2" })).toThrow(SessionStoreError);
    expect(() => store.resolveConfirmation("q1", allow)).toThrow(SessionStoreError);
    expect(disk.confirmation("q1")).not.toHaveProperty("resolution");
    expect(await store.resolveConfirmation("q1", { ...allow, decision: "deny" })).toMatchObject({
      by: "bob",
    });
    disk.isFull = false;
    await until(() => store.problem === undefined);
    expect(await store.claim(SECOND)).toEqual({ state: "fresh" });
    await store.close();
  });

  test("is tried once more when the store is closed", async () => {
    const { disk, store } = await filled();
    disk.isFull = false;
    await store.close();
    expect(disk.ended).toEqual(["call_0"]);
    expect(warnings.join()).not.toContain("closed without");
  });

  test("is warned of if it is lost", async () => {
    const { store } = await filled();
    await store.close();
    expect(warnings).toEqual([
      "The store of sessions cannot be written, so no call runs: the disk is full",
      "The store of sessions was closed without the ends of 1 calls: after a restart, they are unknown",
    ]);
  });

  test("takes a bounded amount of memory", async () => {
    const { disk, store } = await filled();
    const large = { ...executionOf("call_1"), output: "x".repeat(40_000_000) };
    store.end(SECOND, large);
    store.end({ ...SECOND, callId: "call_2" }, large);
    expect(await store.calls("s1", "t1", "m1")).toMatchObject([{ state: "ended" }, { state: "ended" }]);
    disk.isFull = false;
    await until(() => store.problem === undefined);
    expect(disk.ended).toEqual(["call_0", "call_1"]);
    await store.close();
    expect(warnings.at(-1)).toContain("without the ends of 1 calls");
  });

  test("does not flood the operator if the store fails again and again", async () => {
    const { disk, store } = await filled();
    for (let round = 0; round < 5; round++) {
      disk.isFull = false;
      await until(() => store.problem === undefined);
      disk.isFull = true;
      await store.end(SECOND, executionOf("call_1"));
    }
    expect(warnings).toHaveLength(1);
    disk.isFull = false;
    await store.close();
  });
});

test("With a store that fails, a call that runs has its result, and nothing else runs until the store works again", async () => {
  const gate = new Gate();
  const disk = new FullStore();
  const ran: string[] = [];
  const write = tool("write_file", "write", (_input, { callId }) => ran.push(callId));
  const { sessions, nextConfirmation } = await testSessions([tool("wait", "read", gate.host), write], {
    store: disk,
  });
  const session: Session = await sessions.open({ id: "s1" });
  const turn = session.turn({ id: "t1" });
  const calls = [call("c1", "wait"), call("c2", "write_file")];
  const results = turn.dispatchAll(calls, { messageId: "m1" });
  await gate.hasBegun(1);
  const confirmation = await nextConfirmation();
  disk.isFull = true;
  gate.release("c1");
  await until(() => sessions.problem !== undefined);
  await expect(session.answer(confirmation.id, answerTo(confirmation, "allow"))).rejects.toBeInstanceOf(
    SessionStoreError,
  );
  await expect(session.turn().dispatch(call("c3", "write_file"))).rejects.toBeInstanceOf(SessionStoreError);
  expect((await turn.messages())[0]?.executions).toMatchObject([{ success: true, output: "c1" }, undefined]);
  disk.isFull = false;
  await until(() => sessions.problem === undefined);
  expect(disk.calls("s1", "t1", "m1")).toMatchObject([{ state: "ended" }, { state: "not-begun" }]);
  await session.answer(confirmation.id, answerTo(confirmation, "allow"));
  expect(await results).toMatchObject([{ success: true }, { success: true }]);
  expect(ran).toEqual(["c2"]);
  await sessions.close();
});
