import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Confirmation } from "../../../src/sessions/confirmations/confirmation.ts";
import type { LedgerRecord, LedgerTable, SessionStore } from "../../../src/sessions/store/store.ts";
import { ALLOWED, APPROVAL, CALL, CONFIRMATION, DENIED, executionOf, MESSAGE, SESSION } from "./records.ts";
import { type StorePlace, storeTargets } from "./targets.ts";

let place: StorePlace;
let store: SessionStore;

describe.each(storeTargets())("A session store $name", ({ open }) => {
  beforeEach(async () => {
    place = await open();
    store = await place.store();
  });
  afterEach(async () => {
    await store.close();
    await place[Symbol.asyncDispose]();
  });

  function reopen(opened: SessionStore): Promise<SessionStore> {
    return place.reopen(opened);
  }

  /** Adds the session and its message. */
  async function addMessage(): Promise<void> {
    await store.addSession(SESSION);
    await store.addMessage(MESSAGE);
  }

  describe("of sessions and messages", () => {
    test("keeps sessions as they are, in order", async () => {
      await store.addSession(SESSION);
      await store.addSession({ id: "s0", mode: "manual", kind: "worker", openedAt: 5 });
      store = await reopen(store);
      expect(await store.sessions()).toEqual([
        SESSION,
        { id: "s0", mode: "manual", kind: "worker", openedAt: 5 },
      ]);
    });

    test("refuses an id that is in use, and keeps its session", async () => {
      expect(await store.addSession(SESSION)).toBe(true);
      expect(await store.addSession({ ...SESSION, mode: "autonomous" })).toBe(false);
      expect(await store.sessions()).toEqual([SESSION]);
    });

    test("changes the mode of a session", async () => {
      await store.addSession(SESSION);
      await store.setMode("s1", "manual");
      await store.setMode("unknown", "manual");
      store = await reopen(store);
      expect(await store.sessions()).toEqual([{ ...SESSION, mode: "manual" }]);
    });

    test("lists the turns of a session in the order in which they began", async () => {
      await addMessage();
      await store.addMessage({ ...MESSAGE, turnId: "t0" });
      await store.addMessage({ ...MESSAGE, messageId: "m2" });
      store = await reopen(store);
      expect(await store.turnIds("s1")).toEqual(["t1", "t0"]);
      expect(await store.turnIds("s2")).toEqual([]);
      await store.removeTurn("s1", "t1");
      expect(await store.turnIds("s1")).toEqual(["t0"]);
    });

    test("keeps messages as they were received", async () => {
      await addMessage();
      store = await reopen(store);
      expect(await store.messages("s1", "t1")).toEqual([MESSAGE]);
      expect(await store.messages("s1", "t2")).toEqual([]);
      expect(await store.messages("s2", "t1")).toEqual([]);
    });

    test("returns the earlier message of the same id, which stays as it is", async () => {
      await addMessage();
      expect(await store.addMessage({ ...MESSAGE, calls: [] })).toEqual(MESSAGE);
      expect(await store.messages("s1", "t1")).toEqual([MESSAGE]);
      expect(await store.addMessage({ ...MESSAGE, turnId: "t2" })).toBeUndefined();
    });

    test("refuses a message of an unknown session", async () => {
      await expect(async () => store.addMessage(MESSAGE)).rejects.toThrow(
        expect.objectContaining({ code: "session_store_failed" }),
      );
    });

    test("lists the messages that have calls to end, in the order in which they came", async () => {
      await addMessage();
      const second = { ...MESSAGE, turnId: "t0", messageId: "m0" };
      const third = { ...MESSAGE, messageId: "m3" };
      await store.addMessage(second);
      await store.addMessage(third);
      await store.addMessage({ ...MESSAGE, messageId: "m4", calls: [] });
      await store.end(CALL, executionOf("call_0"));
      store = await reopen(store);
      expect(await store.unfinishedMessages()).toEqual([MESSAGE, second, third]);
      await store.end({ ...CALL, callId: "call_1" }, executionOf("call_1"));
      expect(await store.unfinishedMessages()).toEqual([second, third]);
    });

    test("removes a turn with its calls and confirmations, and nothing else", async () => {
      await addMessage();
      await store.addMessage({ ...MESSAGE, turnId: "t2" });
      await store.count(CALL, "write_file");
      await store.end(CALL, executionOf("call_0"));
      await store.addConfirmation(CONFIRMATION);
      await store.addConfirmation({ ...CONFIRMATION, id: "q2", turnId: "t2" });
      await store.removeTurn("s1", "t1");
      store = await reopen(store);
      expect(await store.messages("s1", "t1")).toEqual([]);
      expect(await store.calls("s1", "t1", "m1")).toEqual([]);
      expect(await store.confirmation("q1")).toBeUndefined();
      expect(await store.confirmation("q2")).toBeDefined();
      expect(await store.messages("s1", "t2")).toHaveLength(1);
      expect(await store.counts("s1")).toEqual(new Map([["write_file", 1]]));
    });

    test("knows which turns with messages were removed, as long as the session is there", async () => {
      await addMessage();
      await store.removeTurn("s1", "t1");
      await store.removeTurn("s1", "t2");
      await store.removeTurn("s2", "t1");
      store = await reopen(store);
      const known = async (): Promise<readonly boolean[]> =>
        Promise.all(["t1", "t2", "t3"].map(async (turnId) => store.isForgotten("s1", turnId)));
      expect([...(await known()), await store.isForgotten("s2", "t1")]).toEqual([true, false, false, false]);
      await store.removeSession("s1");
      await store.addSession(SESSION);
      expect(await known()).toEqual([false, false, false]);
    });

    test("keeps nothing of a turn that was removed for one that begins again under its id", async () => {
      await addMessage();
      await store.claim(CALL);
      await store.end(CALL, executionOf("call_0"));
      await store.removeTurn("s1", "t1");
      const later = { ...MESSAGE, receivedAt: MESSAGE.receivedAt + 1 };
      expect(await store.addMessage(later)).toBeUndefined();
      store = await reopen(store);
      expect(await store.messages("s1", "t1")).toEqual([later]);
      expect((await store.calls("s1", "t1", "m1")).map(({ state }) => state)).toEqual(
        MESSAGE.calls.map(() => "not-begun"),
      );
      expect(await store.claim(CALL)).toEqual({ state: "fresh" });
    });

    test("knows of the latest 1,000 turns of a session that they were removed", async () => {
      await store.addSession(SESSION);
      await store.addSession({ ...SESSION, id: "s2" });
      const turnIds = Array.from({ length: 1_002 }, (_, index) => `t${index}`);
      await store.addMessage({ ...MESSAGE, sessionId: "s2", turnId: "t0" });
      await store.removeTurn("s2", "t0");
      await Promise.all(turnIds.map((turnId) => store.addMessage({ ...MESSAGE, turnId })));
      await Promise.all(turnIds.map((turnId) => store.removeTurn("s1", turnId)));
      const forgotten = await Promise.all(turnIds.map((turnId) => store.isForgotten("s1", turnId)));
      expect(forgotten).toEqual(turnIds.map((_, index) => index >= 2));
      expect(await store.isForgotten("s2", "t0")).toBe(true);
    });

    test("removes a session with everything of it, except the approvals of its workspace", async () => {
      await addMessage();
      await store.claim(CALL);
      await store.count(CALL, "write_file");
      await store.addConfirmation(CONFIRMATION);
      await store.addApproval(APPROVAL);
      await store.addApproval({ ...APPROVAL, id: "q2", for: "workspace", workspace: "/srv/project" });
      await store.addApproval({ ...APPROVAL, id: "q3", for: 1_000 });
      await store.removeSession("s1");
      store = await reopen(store);
      expect(await store.sessions()).toEqual([]);
      expect(await store.unfinishedMessages()).toEqual([]);
      expect(await store.calls("s1", "t1", "m1")).toEqual([]);
      expect(await store.counts("s1")).toEqual(new Map());
      expect(await store.pendingConfirmations()).toEqual([]);
      expect((await store.approvals()).map(({ approval }) => approval.id)).toEqual(["q2"]);
    });
  });

  describe("of calls", () => {
    beforeEach(addMessage);

    test("lets one claim of a call run it, and tells the others that it has begun", async () => {
      const claims = await Promise.all([store.claim(CALL), store.claim(CALL), store.claim(CALL)]);
      expect(claims.map(({ state }) => state)).toEqual(["fresh", "begun", "begun"]);
      store = await reopen(store);
      expect(await store.claim(CALL)).toEqual({ state: "begun" });
    });

    test("returns the execution of a call that has ended, and keeps the first one", async () => {
      await store.claim(CALL);
      await store.end(CALL, executionOf("call_0"));
      await store.end(CALL, executionOf("other"));
      store = await reopen(store);
      expect(await store.claim(CALL)).toEqual({ state: "ended", execution: executionOf("call_0") });
    });

    test("ends a call that was never claimed, which nobody can claim then", async () => {
      await store.end(CALL, executionOf("call_0"));
      expect((await store.claim(CALL)).state).toBe("ended");
    });

    test("takes a call with the same id in another message for another call", async () => {
      await store.addMessage({ ...MESSAGE, messageId: "m2" });
      await store.claim(CALL);
      expect((await store.claim({ ...CALL, messageId: "m2" })).state).toBe("fresh");
      expect((await store.claim({ ...CALL, callId: "call_1" })).state).toBe("fresh");
    });

    test("reports another call under the id of a claimed one as a conflict", async () => {
      await store.claim(CALL);
      expect(await store.claim({ ...CALL, digest: "d1" })).toEqual({ state: "conflict" });
    });

    test("lets nobody claim a call whose message is unknown", async () => {
      await expect(async () => store.claim({ ...CALL, turnId: "t9" })).rejects.toThrow(
        expect.objectContaining({ code: "session_store_failed" }),
      );
    });

    test("ignores the end of a call whose turn was removed", async () => {
      await store.claim(CALL);
      await store.removeTurn("s1", "t1");
      await store.end(CALL, executionOf("call_0"));
      expect(await store.calls("s1", "t1", "m1")).toEqual([]);
    });

    test("returns the state of every call, in the order of the message", async () => {
      await store.claim({ ...CALL, callId: "call_1" });
      store = await reopen(store);
      expect(await store.calls("s1", "t1", "m1")).toEqual([
        { callId: "call_0", state: "not-begun" },
        { callId: "call_1", state: "begun" },
      ]);
      await store.end({ ...CALL, callId: "call_1" }, executionOf("call_1"));
      expect(await store.calls("s1", "t1", "m1")).toEqual([
        { callId: "call_0", state: "not-begun" },
        { callId: "call_1", state: "ended", execution: executionOf("call_1") },
      ]);
    });

    test("counts each call once, and claims it all the same", async () => {
      expect(await store.count(CALL, "write_file")).toBe(true);
      store = await reopen(store);
      expect(await store.count(CALL, "write_file")).toBe(false);
      expect(await store.count({ ...CALL, callId: "call_0/1" }, "write_file")).toBe(true);
      expect(await store.count({ ...CALL, callId: "call_1" }, "read_file")).toBe(true);
      expect(await store.counts("s1")).toEqual(
        new Map([
          ["write_file", 2],
          ["read_file", 1],
        ]),
      );
      expect((await store.claim(CALL)).state).toBe("fresh");
      expect(await store.count(CALL, "write_file")).toBe(false);
      expect(await store.counts("s2")).toEqual(new Map());
      expect(await store.isCounted(CALL)).toBe(true);
      expect(await store.isCounted({ ...CALL, callId: "other" })).toBe(false);
    });

    test("counts a call that was claimed before", async () => {
      await store.claim(CALL);
      expect(await store.count(CALL, "write_file")).toBe(true);
      expect((await store.claim(CALL)).state).toBe("begun");
    });
  });

  describe("of confirmations", () => {
    beforeEach(addMessage);

    test("keeps a confirmation as it is", async () => {
      await store.addConfirmation(CONFIRMATION);
      store = await reopen(store);
      expect(await store.confirmation("q1")).toEqual({ confirmation: CONFIRMATION });
      expect(await store.confirmation("q2")).toBeUndefined();
      expect(await store.pendingConfirmations()).toEqual([{ confirmation: CONFIRMATION }]);
    });

    test("lets the first resolution win, and tells all who won", async () => {
      await store.addConfirmation(CONFIRMATION);
      const answers = await Promise.all([
        store.resolveConfirmation("q1", ALLOWED),
        store.resolveConfirmation("q1", DENIED),
      ]);
      expect(answers).toEqual([ALLOWED, ALLOWED]);
      store = await reopen(store);
      expect(await store.resolveConfirmation("q1", DENIED)).toEqual(ALLOWED);
      expect(await store.confirmation("q1")).toEqual({ confirmation: CONFIRMATION, resolution: ALLOWED });
      expect(await store.resolveConfirmation("q2", DENIED)).toBeUndefined();
    });

    test("keeps a confirmation and its resolution if the same id is added again", async () => {
      await store.addConfirmation(CONFIRMATION);
      await store.resolveConfirmation("q1", ALLOWED);
      await store.addConfirmation({ ...CONFIRMATION, callId: "call_1" });
      expect(await store.confirmation("q1")).toEqual({ confirmation: CONFIRMATION, resolution: ALLOWED });
    });

    test("adds the same question about a call of a tool once, and returns what holds for a second one", async () => {
      const added = await Promise.all(
        ["q1", "q2", "q3"].map((id) =>
          store.addConfirmation({ ...CONFIRMATION, id, callId: "call_1/1", parent: "call_1" }),
        ),
      );
      const ids = new Set(added.map((record) => record?.confirmation.id));
      expect(ids.size).toBe(1);
      const [id = ""] = ids;
      expect((await store.pendingConfirmations()).map(({ confirmation }) => confirmation.id)).toEqual([id]);
      await store.resolveConfirmation(id, ALLOWED);
      store = await reopen(store);
      const again = { ...CONFIRMATION, id: "q4", callId: "call_1/1", parent: "call_1" };
      expect(await store.addConfirmation(again)).toMatchObject({ confirmation: { id }, resolution: ALLOWED });
      const other = { ...again, id: "q5", digest: "f".repeat(64) };
      expect(await store.addConfirmation(other)).toEqual({ confirmation: other });
      await store.resolveConfirmation("q5", DENIED);
      expect(await store.addConfirmation(again)).toMatchObject({
        confirmation: { id: "q5" },
        resolution: DENIED,
      });
    });

    test("adds a question anew that nobody answered, that is about a call of the model, or that a running tool asks", async () => {
      const nested = { ...CONFIRMATION, callId: "call_1/1", parent: "call_1" };
      await store.addConfirmation(nested);
      await store.resolveConfirmation("q1", { decision: "timeout", at: 9_000 });
      expect(await store.addConfirmation({ ...nested, id: "q2" })).toMatchObject({
        confirmation: { id: "q2" },
      });
      await store.addConfirmation({ ...CONFIRMATION, id: "q5" });
      await store.resolveConfirmation("q5", ALLOWED);
      expect(await store.addConfirmation({ ...CONFIRMATION, id: "q6" })).toMatchObject({
        confirmation: { id: "q6" },
      });
      const question = { ...nested, kind: "question", id: "q3" } as unknown as Confirmation;
      await store.addConfirmation(question);
      expect(await store.addConfirmation({ ...question, id: "q4" })).toMatchObject({
        confirmation: { id: "q4" },
      });
    });

    test("adds no question about a call of a tool whose call has ended", async () => {
      const nested = { ...CONFIRMATION, id: "q1", callId: "call_0/1/2", parent: "call_0/1" };
      await store.claim(CALL);
      await store.end(CALL, executionOf("call_0"));
      store = await reopen(store);
      expect(await store.addConfirmation(nested)).toBeUndefined();
      expect(await store.confirmation("q1")).toBeUndefined();
      expect(await store.addConfirmation({ ...nested, callId: "call_1/1/2" })).toBeDefined();
    });

    test("keeps changed arguments and approvals in a resolution", async () => {
      const resolution = {
        ...ALLOWED,
        choice: "always" as const,
        arguments: { path: "b" },
        approval: {
          tools: ["write_*"],
          when: { "/path": { glob: "b/**" } },
          for: 3_600_000,
          calls: 3,
        },
      };
      await store.addConfirmation(CONFIRMATION);
      await store.resolveConfirmation("q1", resolution);
      store = await reopen(store);
      expect(await store.confirmation("q1")).toEqual({ confirmation: CONFIRMATION, resolution });
    });

    test("lists what was resolved as long as its call has not begun", async () => {
      await store.addConfirmation(CONFIRMATION);
      await store.addConfirmation({ ...CONFIRMATION, id: "q2", callId: "call_1" });
      await store.addConfirmation({ ...CONFIRMATION, id: "q3", callId: "call_1/1", parent: "call_1" });
      for (const id of ["q1", "q2", "q3"]) await store.resolveConfirmation(id, ALLOWED);
      await store.count(CALL, "write_file");
      store = await reopen(store);
      const pending = async (): Promise<readonly string[]> =>
        (await store.pendingConfirmations()).map(({ confirmation }) => confirmation.id);
      expect(await pending()).toEqual(["q1", "q2"]);
      await store.claim(CALL);
      expect(await pending()).toEqual(["q2"]);
      const caller = { ...CALL, callId: "call_1" };
      await store.claim(caller);
      // The call of its tool may ask again, if the caller was suspended.
      expect(await pending()).toEqual(["q3"]);
      await store.end(caller, executionOf("call_1"));
      expect(await pending()).toEqual([]);
    });

    test("refuses a confirmation of an unknown session", async () => {
      await expect(async () => store.addConfirmation({ ...CONFIRMATION, sessionId: "s2" })).rejects.toThrow(
        expect.objectContaining({ code: "session_store_failed" }),
      );
    });
  });

  describe("of approvals", () => {
    beforeEach(addMessage);

    test("keeps approvals in order, the first of each id", async () => {
      await store.addApproval(APPROVAL);
      await store.addApproval({ ...APPROVAL, tools: ["other"] });
      await store.addApproval({ ...APPROVAL, id: "q0" });
      store = await reopen(store);
      expect(await store.approvals()).toEqual([
        { approval: APPROVAL, used: 0 },
        { approval: { ...APPROVAL, id: "q0" }, used: 0 },
      ]);
    });

    test("refuses an approval of an unknown session, unless it is for a workspace", async () => {
      await expect(async () => store.addApproval({ ...APPROVAL, sessionId: "s2" })).rejects.toThrow(
        expect.objectContaining({ code: "session_store_failed" }),
      );
      await store.addApproval({ ...APPROVAL, sessionId: "s2", for: "workspace", workspace: "/srv/project" });
      expect(await store.approvals()).toHaveLength(1);
    });

    test("counts uses, and refuses those beyond the bound", async () => {
      await store.addApproval({ ...APPROVAL, calls: 2 });
      const uses = await Promise.all([1, 2, 3].map(() => store.useApproval("q1")));
      // In which order they are counted is not promised.
      expect(uses.filter(Boolean)).toHaveLength(2);
      store = await reopen(store);
      expect(await store.useApproval("q1")).toBe(false);
      expect((await store.approvals()).map(({ used }) => used)).toEqual([2]);
      expect(await store.useApproval("unknown")).toBe(false);
    });

    test("removes an approval once", async () => {
      await store.addApproval(APPROVAL);
      expect(await store.removeApproval("q1")).toBe(true);
      expect(await store.removeApproval("q1")).toBe(false);
      store = await reopen(store);
      expect(await store.approvals()).toEqual([]);
      expect(await store.useApproval("q1")).toBe(false);
    });

    test.each([
      ["of its session", APPROVAL],
      ["of its workspace", { ...APPROVAL, for: "workspace", workspace: "/srv/project" } as const],
    ])("leaves an approval %s removed that is added again, until its session is removed", async (_what, approval) => {
      expect(await store.addApproval(approval)).toBe(true);
      expect(await store.addApproval(approval)).toBe(true);
      await store.removeApproval("q1");
      expect(await store.addApproval(approval)).toBe(false);
      store = await reopen(store);
      expect(await store.addApproval(approval)).toBe(false);
      expect(await store.removeApproval("q1")).toBe(false);
      expect(await store.approvals()).toEqual([]);
      expect(await store.addApproval({ ...approval, id: "q2" })).toBe(true);
      await store.removeSession("s1");
      await store.addSession(SESSION);
      expect(await store.addApproval(approval)).toBe(true);
    });
  });

  describe("with earlier calls", () => {
    const ENTRY: LedgerRecord = {
      id: "e1",
      sessionId: "s1",
      turnId: "t1",
      principal: "ann",
      tool: "pay",
      numbers: [["/amount", 12.34]],
      isApproved: false,
      isDone: false,
    };
    const table = (): LedgerTable => store.ledger as LedgerTable;

    test("has none at first, and lacks none", async () => {
      expect(await table().ledgerState()).toEqual({ entries: [], missingUntil: 0 });
    });

    test("keeps them in the order of their ends, beyond the end of their session", async () => {
      await store.addSession(SESSION);
      await table().putEntry(ENTRY);
      await table().putEntry({ ...ENTRY, id: "e2" });
      await table().putEntry({ ...ENTRY, id: "e3", isDone: true, endedAt: 7 });
      const ended = { ...ENTRY, id: "e2", isApproved: true, isDone: true, endedAt: 5 };
      await table().putEntry(ended);
      await store.removeSession("s1");
      store = await reopen(store);
      expect(await table().ledgerState()).toEqual({
        entries: [ended, { ...ENTRY, id: "e3", isDone: true, endedAt: 7 }, ENTRY],
        missingUntil: 0,
      });
    });

    test("removes those that took no effect, and remembers that it dropped others", async () => {
      for (const id of ["e1", "e2", "e3"]) await table().putEntry({ ...ENTRY, id, endedAt: 9 });
      await table().removeEntry("e1");
      await table().removeEntry("unknown");
      expect((await table().ledgerState()).missingUntil).toBe(0);
      await table().dropEntry("e2", 9);
      await table().dropEntry("unknown", 8);
      store = await reopen(store);
      expect(await table().ledgerState()).toMatchObject({ entries: [{ id: "e3" }], missingUntil: 9 });
    });

    test("forgets them all, and lacks calls until it is told otherwise", async () => {
      await table().putEntry({ ...ENTRY, endedAt: 9 });
      await table().resetLedger(undefined);
      await table().dropEntry("e1", 9);
      store = await reopen(store);
      expect(await table().ledgerState()).toEqual({ entries: [], missingUntil: undefined });
      await table().resetLedger(12);
      store = await reopen(store);
      expect(await table().ledgerState()).toEqual({ entries: [], missingUntil: 12 });
    });
  });
});
