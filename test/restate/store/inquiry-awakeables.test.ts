import type { Context } from "@restatedev/restate-sdk";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { RestateService } from "../../../src/restate/connection/worker.ts";
import { loadSdk } from "../../../src/restate/connection/worker.ts";
import { callObject } from "../../../src/restate/objects/handlers.ts";
import { sessionObject } from "../../../src/restate/objects/object-keys.ts";
import { RestateSessionStore } from "../../../src/restate/store/session-store.ts";
import type { Inquiry } from "../../../src/sessions/confirmations/confirmation.ts";
import { ALLOWED, DENIED, INQUIRY, MESSAGE, SESSION } from "../../sessions/store/records.ts";
import { type RestateStores, startRestateStores } from "./restate-stores.ts";

/** Asks in a session, and returns the resolution. */
async function asker(): Promise<RestateService> {
  const sdk = await loadSdk();
  const ask = async (
    ctx: Context,
    { prefix, inquiry }: { prefix: string; inquiry: Inquiry },
  ): Promise<unknown> => {
    const { id: awakeable, promise } = ctx.awakeable();
    const store = { prefix };
    const object = sessionObject(store, inquiry.sessionId);
    await callObject(sdk, ctx, object, "addInquiry", { store, inquiry, place: 1, awakeable });
    return promise;
  };
  return sdk.service({ name: "asker", handlers: { ask } });
}

let restate: RestateStores;
beforeAll(async () => {
  restate = await startRestateStores([await asker()]);
});
afterAll(() => restate[Symbol.asyncDispose]());

describe("An inquiry with an awakeable", () => {
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
      input: { prefix, inquiry: INQUIRY },
    });
  const isAsked = () => expect.poll(() => store.inquiry("q1"), { timeout: 10_000 }).toBeDefined();

  test("resolves it with the first resolution", async () => {
    const resolution = ask();
    await isAsked();
    await store.resolveInquiry("q1", ALLOWED);
    await store.resolveInquiry("q1", DENIED);
    expect(await resolution).toEqual(ALLOWED);
  });

  test("resolves those of all who ask, also after it was resolved", async () => {
    const both = [ask(), ask()];
    await isAsked();
    await store.resolveInquiry("q1", DENIED);
    expect(await Promise.all([...both, ask()])).toEqual([DENIED, DENIED, DENIED]);
  });

  test("is resolved as cancelled if the turn is removed", async () => {
    const resolution = ask();
    await isAsked();
    await store.removeTurn("s1", "t1");
    expect(await resolution).toMatchObject({ decision: "cancelled" });
  });
});
