import type { Context } from "@restatedev/restate-sdk";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
// Inside: asks from a service of its own; the sessions ask only while a call is under way.
import type { RestateService } from "../../../src/restate/connection/worker.ts";
import { loadSdk } from "../../../src/restate/connection/worker.ts";
import { callObject } from "../../../src/restate/objects/handlers.ts";
import { sessionObject } from "../../../src/restate/objects/object-keys.ts";
import { RestateSessionStore } from "../../../src/restate/store/session-store.ts";
import type { Confirmation } from "../../../src/sessions/confirmations/confirmation.ts";
import { ALLOWED, CONFIRMATION, DENIED, MESSAGE, SESSION } from "../../sessions/store/records.ts";
import { type RestateStores, startRestateStores } from "./restate-stores.ts";

/** Asks in a session, and returns the resolution. */
async function asker(): Promise<RestateService> {
  const sdk = await loadSdk();
  const ask = async (
    ctx: Context,
    { prefix, confirmation }: { prefix: string; confirmation: Confirmation },
  ): Promise<unknown> => {
    const { id: awakeable, promise } = ctx.awakeable();
    const store = { prefix };
    const object = sessionObject(store, confirmation.sessionId);
    await callObject(sdk, ctx, object, "addInquiry", { store, inquiry: confirmation, place: 1, awakeable });
    return promise;
  };
  return sdk.service({ name: "asker", handlers: { ask } });
}

let restate: RestateStores;
beforeAll(async () => {
  restate = await startRestateStores([await asker()]);
});
afterAll(() => restate[Symbol.asyncDispose]());

describe("A confirmation with an awakeable", () => {
  let prefix: string;
  let store: RestateSessionStore;
  beforeEach(async () => {
    prefix = restate.newPrefix();
    store = new RestateSessionStore({ ingress: restate.ingress, prefix });
    await store.addSession(SESSION);
    await store.addMessage(MESSAGE);
  });

  let asked = 0;
  const ask = (): Promise<unknown> =>
    restate.ingress.call({
      service: "asker",
      handler: "ask",
      idempotencyKey: `ask ${asked++}`,
      input: { prefix, confirmation: CONFIRMATION },
    });
  const isAsked = () => expect.poll(() => store.confirmation("q1"), { timeout: 10_000 }).toBeDefined();

  test("resolves it with the first resolution", async () => {
    const resolution = ask();
    await isAsked();
    await store.resolveConfirmation("q1", ALLOWED);
    await store.resolveConfirmation("q1", DENIED);
    expect(await resolution).toEqual(ALLOWED);
  });

  test("resolves those of all who ask, even after it was resolved", async () => {
    const both = [ask(), ask()];
    await isAsked();
    await store.resolveConfirmation("q1", DENIED);
    expect(await Promise.all([...both, ask()])).toEqual([DENIED, DENIED, DENIED]);
  });

  test("is resolved as cancelled if the turn is removed", async () => {
    const resolution = ask();
    await isAsked();
    await store.removeTurn("s1", "t1");
    expect(await resolution).toMatchObject({ decision: "cancelled" });
  });
});
