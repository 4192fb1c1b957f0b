import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { Ingress } from "../../../src/restate/connection/ingress.ts";
import { RestateSessionStore } from "../../../src/restate/store/session-store.ts";
import {
  ALLOWED,
  APPROVAL,
  CALL,
  CONFIRMATION,
  DENIED,
  executionOf,
  MESSAGE,
  SESSION,
} from "../../sessions/store/records.ts";
import { type RestateStores, startRestateStores } from "./restate-stores.ts";

let restate: RestateStores;
beforeAll(async () => {
  restate = await startRestateStores();
});
afterAll(() => restate[Symbol.asyncDispose]());

let prefix: string;
beforeEach(() => {
  prefix = restate.newPrefix();
});

/** Opens a store as a server of its own has it. */
function openStore(options: { readonly prefix?: string; readonly retryMs?: number } = {}) {
  const ingress = new Ingress({ urls: [restate.node.ingress], retryMs: options.retryMs ?? 30_000 });
  const store = new RestateSessionStore({ ingress, prefix: options.prefix ?? prefix });
  return {
    store,
    [Symbol.asyncDispose]: async () => {
      store.close();
      await ingress.close();
    },
  };
}

describe("Stores of two servers on one Restate", () => {
  test("see what the other one has written", async () => {
    await using one = openStore();
    await using other = openStore();
    expect(await one.store.addSession(SESSION)).toBe(true);
    expect(await other.store.addSession({ ...SESSION, mode: "manual" })).toBe(false);
    await other.store.addMessage(MESSAGE);
    await one.store.setMode("s1", "manual");
    expect(await other.store.sessions()).toEqual([{ ...SESSION, mode: "manual" }]);
    expect(await one.store.unfinishedMessages()).toEqual([MESSAGE]);
  });

  test("let one of them claim a call", async () => {
    await using one = openStore();
    await using other = openStore();
    await one.store.addSession(SESSION);
    await one.store.addMessage(MESSAGE);
    const claims = await Promise.all(
      Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? one : other).store.claim(CALL)),
    );
    expect(claims.filter(({ state }) => state === "fresh")).toHaveLength(1);
    expect(claims.filter(({ state }) => state === "begun")).toHaveLength(9);
  });

  test("agree on the first resolution of a confirmation", async () => {
    await using one = openStore();
    await using other = openStore();
    await one.store.addSession(SESSION);
    await one.store.addConfirmation(CONFIRMATION);
    const [first, second] = await Promise.all([
      one.store.resolveConfirmation("q1", ALLOWED),
      other.store.resolveConfirmation("q1", DENIED),
    ]);
    expect([ALLOWED, DENIED]).toContainEqual(first);
    expect(second).toEqual(first);
    expect(await other.store.confirmation("q1")).toEqual({ confirmation: CONFIRMATION, resolution: first });
  });

  test("use an approval no more often than it allows", async () => {
    await using one = openStore();
    await using other = openStore();
    await one.store.addSession(SESSION);
    await one.store.addApproval({ ...APPROVAL, calls: 3 });
    const uses = await Promise.all([one, other, one, other, one].map(({ store }) => store.useApproval("q1")));
    expect(uses.filter((isCovered) => isCovered)).toHaveLength(3);
  });

  test("have nothing in common if they have different prefixes", async () => {
    await using one = openStore();
    await using other = openStore({ prefix: restate.newPrefix() });
    await one.store.addSession(SESSION);
    await one.store.addMessage(MESSAGE);
    await one.store.addConfirmation(CONFIRMATION);
    expect(await other.store.sessions()).toEqual([]);
    expect(await other.store.confirmation("q1")).toBeUndefined();
    expect(await other.store.addSession(SESSION)).toBe(true);
    expect(await other.store.messages("s1", "t1")).toEqual([]);
  });
});

describe("A store on Restate, whose messages have at most 32 MiB", () => {
  const executionOfLength = (mebibytes: number): ToolExecution => ({
    ...executionOf("call_0"),
    output: "x".repeat(mebibytes * 1_048_576),
  });
  const calls = Array.from({ length: 4 }, (_, index) => ({
    id: `call_${index}`,
    name: "read",
    arguments: {},
  }));

  test("returns executions that are longer together", async () => {
    await using opened = openStore();
    const { store } = opened;
    await store.addSession(SESSION);
    await store.addMessage({ ...MESSAGE, calls });
    await Promise.all(calls.map(({ id }) => store.end({ ...CALL, callId: id }, executionOfLength(9))));
    const kept = await store.calls("s1", "t1", "m1");
    expect(kept.map(({ execution }) => (execution?.output as string).length)).toEqual(
      calls.map(() => 9 * 1_048_576),
    );
    const claims = await Promise.all(calls.map(({ id }) => store.claim({ ...CALL, callId: id })));
    expect(claims.map(({ state }) => state)).toEqual(calls.map(() => "ended"));
  });

  test("says of an execution that is longer alone that it was too long", async () => {
    await using opened = openStore();
    const { store } = opened;
    await store.addSession(SESSION);
    await store.addMessage(MESSAGE);
    await store.end(CALL, executionOfLength(33));
    expect(store.problem).toBeUndefined();
    expect(await store.claim(CALL)).toMatchObject({
      state: "ended",
      execution: {
        success: false,
        error: { effect: "committed", message: expect.stringContaining("too long") },
      },
    });
  });
});

describe("A store whose node of Restate is killed", () => {
  test("has everything after it has started again", async () => {
    await using opened = openStore();
    const { store } = opened;
    await store.addSession(SESSION);
    await store.addMessage(MESSAGE);
    await store.claim(CALL);
    await store.end(CALL, executionOf("call_0"));
    await store.addConfirmation(CONFIRMATION);
    await store.addApproval(APPROVAL);
    await store.useApproval("q1");
    await restate.node.kill();
    await restate.node.start();
    await using later = openStore();
    expect(await later.store.sessions()).toEqual([SESSION]);
    expect(await later.store.calls("s1", "t1", "m1")).toEqual([
      { callId: "call_0", state: "ended", execution: executionOf("call_0") },
      { callId: "call_1", state: "not-begun" },
    ]);
    expect(await later.store.confirmation("q1")).toEqual({ confirmation: CONFIRMATION });
    expect(await later.store.approvals()).toEqual([{ approval: APPROVAL, used: 1 }]);
  });

  test("applies each operation that was under way once", async () => {
    await using opened = openStore();
    const { store } = opened;
    await store.addSession(SESSION);
    await store.addApproval(APPROVAL);
    for (let round = 0; round < 3; round++) {
      const messageId = `m${round}`;
      await store.addMessage({ ...MESSAGE, messageId });
      const call = { ...CALL, messageId };
      const used = Array.from({ length: 5 }, () => store.useApproval("q1"));
      const claimed = store.claim(call);
      const counted = store.count(call, "write_file");
      await sleep(2 * round);
      await restate.node.kill();
      await restate.node.start();
      // A second run of an operation whose answer was lost would answer that it had been done before.
      expect([await claimed, await counted]).toEqual([{ state: "fresh" }, true]);
      await Promise.all(used);
    }
    expect(await store.counts("s1")).toEqual(new Map([["write_file", 3]]));
    expect((await store.approvals()).map(({ used }) => used)).toEqual([15]);
  });

  test("says why it cannot write, until it can again", async () => {
    await using opened = openStore({ retryMs: 100 });
    const { store } = opened;
    await store.addSession(SESSION);
    expect(store.problem).toBeUndefined();
    await restate.node.kill();
    await expect(store.addMessage(MESSAGE)).rejects.toMatchObject({ code: "restate_failed" });
    expect(store.problem).toMatch(/Restate cannot be reached/);
    await restate.node.start();
    await expect.poll(() => store.problem, { timeout: 30_000 }).toBeUndefined();
    expect(await store.addMessage(MESSAGE)).toBeUndefined();
  });
});

describe("A store whose worker cannot be reached", () => {
  test("rejects what is not answered in time, and says so", async () => {
    await using without = await startRestateStores();
    const { ingress } = without;
    const store = new RestateSessionStore({ ingress, timeoutMs: 1_000 });
    await store.addSession(SESSION);
    await without.closeWorker();
    await expect(store.addMessage(MESSAGE)).rejects.toMatchObject({
      code: "restate_failed",
      mayHaveBegun: true,
      message: "Restate did not answer within 1000 ms",
    });
    expect(store.problem).toBe("Restate did not answer within 1000 ms");
    store.close();
  });
});
