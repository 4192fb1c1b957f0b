import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Tool } from "../../src/engine/tool.ts";
import type { JsonObject } from "../../src/json/value.ts";
import type { Session } from "../../src/sessions/session.ts";
import type { Sessions } from "../../src/sessions/sessions.ts";
import { hostTool } from "../engine/helpers.ts";

/** Two servers that share sessions. Closes what they share; the test closes the servers. */
export interface TwoServers extends AsyncDisposable {
  readonly one: Sessions;
  readonly two: Sessions;
}

/** Tests what two servers promise that share sessions, whatever they share them through. */
export function describeTwoServers(
  name: string,
  open: (tools: readonly Tool[]) => Promise<TwoServers>,
): void {
  let one: Sessions;
  let two: Sessions;
  const effects: string[] = [];

  let running = 0;
  let most = 0;

  const tools: readonly Tool[] = [
    hostTool(
      async () => {
        most = Math.max(most, ++running);
        await sleep(5);
        running--;
        return null;
      },
      { name: "counted", confirm: "auto" },
    ),
    hostTool(({ text }: JsonObject) => effects.push(String(text)), { name: "note", confirm: "auto" }),
    hostTool(({ text }: JsonObject) => effects.push(String(text)), { name: "asks", confirm: "always" }),
    hostTool(() => "done", { name: "careful", sideEffects: "write" }),
    hostTool(() => "read", { name: "read", sideEffects: "read" }),
    hostTool((_input, { idempotencyKey }) => idempotencyKey ?? null, {
      name: "keyed",
      idempotent: true,
      confirm: "auto",
    }),
    hostTool(
      (_input, { signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      { name: "endless", confirm: "auto" },
    ),
  ];

  let servers: TwoServers;
  beforeAll(async () => {
    servers = await open(tools);
    ({ one, two } = servers);
  });
  afterAll(async () => {
    await Promise.all([one.close(), two.close()]);
    await servers[Symbol.asyncDispose]();
  });

  const call = (name: string, text = "", id = "c"): { id: string; name: string; arguments: JsonObject } => ({
    id,
    name,
    arguments: { text },
  });

  describe(`Sessions ${name}`, () => {
    test("run the calls of a message, on either server", async () => {
      const session = await one.open();
      const calls = ["a", "b", "c", "d", "e", "f"].map((text) => call("note", text, text));
      const results = await session.turn({ id: "t" }).dispatchAll(calls, { messageId: "m" });
      expect(results.map((result) => result?.success)).toEqual(calls.map(() => true));
      expect(effects.filter((text) => text.length === 1).sort()).toEqual(["a", "b", "c", "d", "e", "f"]);
    });

    test("run a message of many calls, 64 at once", async () => {
      const session = await one.open();
      const calls = Array.from({ length: 200 }, (_, index) => call("counted", "", `c${index}`));
      const results = await session.turn({ id: "t" }).dispatchAll(calls, { messageId: "m" });
      expect(results.map((result) => result?.callId)).toEqual(calls.map(({ id }) => id));
      expect(results.every((result) => result?.success)).toBe(true);
      expect(most).toBeLessThanOrEqual(64);
    }, 30_000);

    test("give a message that comes again the same results, on another server too, and run nothing twice", async () => {
      const session = await one.open();
      const first = await session.turn({ id: "t" }).dispatchAll([call("note", "once")], { messageId: "m" });
      const other = await two.find(session.id);
      const turn = await other?.findTurn("t");
      const again = await turn?.dispatchAll([call("note", "once")], { messageId: "m" });
      expect(again).toEqual(first);
      expect(effects.filter((text) => text === "once")).toHaveLength(1);
    });

    test("refuse another message with the same id", async () => {
      const session = await one.open();
      const turn = session.turn({ id: "t" });
      await turn.dispatchAll([call("note", "this")], { messageId: "m" });
      const other = turn.dispatchAll([call("note", "that")], { messageId: "m" });
      await expect(other).rejects.toMatchObject({ code: "message_conflict" });
    });

    test("give an idempotent tool the identity of its call as its key", async () => {
      const session = await one.open();
      const [result] = await session.turn({ id: "t" }).dispatchAll([call("keyed")], { messageId: "m" });
      expect(result?.output).toBe(JSON.stringify([session.id, "t", "m", "c"]));
    });

    test("have a person asked who answers on another server", async () => {
      const session = await one.open();
      const results = session.turn({ id: "t" }).dispatchAll([call("asks", "confirmed")], { messageId: "m" });
      await vi.waitFor(
        () => expect(two.openConfirmations().map((each) => each.sessionId)).toContain(session.id),
        10_000,
      );
      const confirmation = two.openConfirmations().find(({ sessionId }) => sessionId === session.id);
      if (confirmation === undefined) throw new Error("not asked");
      expect(effects).not.toContain("confirmed");
      const answer = { decision: "allow", digest: confirmation.digest, by: "ann" } as const;
      expect(await two.answer(confirmation.id, { ...answer, digest: "0".repeat(64) })).toEqual({
        outcome: "other-digest",
      });
      expect((await two.answer(confirmation.id, answer)).outcome).toBe("resolved");
      expect((await one.answer(confirmation.id, { ...answer, by: "bob", decision: "deny" })).outcome).toBe(
        "lost",
      );
      const [result] = await results;
      expect(result).toMatchObject({
        success: true,
        confirmation: { by: "ann", digest: confirmation.digest },
      });
      expect(effects.filter((text) => text === "confirmed")).toHaveLength(1);
    });

    test("take over a mode that another server has set, for the next call", async () => {
      const session = await one.open();
      const other = await two.find(session.id);
      await other?.setMode("plan");
      const [result] = await session
        .turn({ id: "t" })
        .dispatchAll([call("note", "planned")], { messageId: "m" });
      expect(result?.error?.message).toBe(
        "Permission denied: only reading is allowed until the plan is approved",
      );
      expect(effects).not.toContain("planned");
    });

    test("end a call that waits for a person when its turn is cancelled on another server", async () => {
      const session = await one.open();
      const results = session.turn({ id: "t" }).dispatchAll([call("asks", "no")], { messageId: "m" });
      await vi.waitFor(
        () => expect(two.openConfirmations().map((each) => each.sessionId)).toContain(session.id),
        10_000,
      );
      await (await (await two.find(session.id))?.findTurn("t"))?.cancel();
      expect((await results)[0]?.error).toMatchObject({ code: "cancelled", effect: "none" });
    });

    test("stop a call that runs on another server when its turn is cancelled", async () => {
      const session = await one.open();
      const results = session.turn({ id: "t" }).dispatchAll([call("endless")], { messageId: "m" });
      await sleep(300);
      await (await (await two.find(session.id))?.findTurn("t"))?.cancel();
      expect((await results)[0]?.error).toMatchObject({ code: "cancelled" });
    });

    test("do not ask again on another server what a person has approved for the session", async () => {
      const session = await one.open();
      const turn = session.turn({ id: "t" });
      const asked = turn.dispatch(call("careful", "", "first"));
      await vi.waitFor(
        () => expect(two.openConfirmations().map((each) => each.sessionId)).toContain(session.id),
        10_000,
      );
      const confirmation = two.openConfirmations().find(({ sessionId }) => sessionId === session.id);
      const { id = "", digest = "" } = confirmation ?? {};
      await two.answer(id, { decision: "always", digest, by: "ann" });
      expect((await asked)?.success).toBe(true);
      // Either server may run each of them.
      const later = await Promise.all(
        ["a", "b", "c", "d"].map((each) => turn.dispatch(call("careful", "", each))),
      );
      expect(later.map((result) => result?.success)).toEqual([true, true, true, true]);
      const [approval] = await session.readApprovals();
      const other = await two.find(session.id);
      expect(await (other as Session).revokeApproval(approval?.approval.id ?? id)).toBe(true);
      const again = turn.dispatch(call("careful", "", "again"));
      await vi.waitFor(
        () => expect(one.openConfirmations().map((each) => each.sessionId)).toContain(session.id),
        10_000,
      );
      await session.cancel();
      expect((await again)?.error?.code).toBe("cancelled");
    });

    test("are closed on every server", async () => {
      const session = await one.open();
      expect(await two.find(session.id)).toBeDefined();
      await session.close();
      expect(await two.find(session.id)).toBeUndefined();
      expect(await one.find(session.id)).toBeUndefined();
    });
  });
}
