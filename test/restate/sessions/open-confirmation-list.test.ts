import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Ingress } from "../../../src/restate/connection/ingress.ts";
// Inside: two lists stand for two servers, without sessions and tools on each.
import { OpenConfirmationList } from "../../../src/restate/sessions/open-confirmations.ts";
import { RestateSessionStore } from "../../../src/restate/store/session-store.ts";
import { listed } from "../../../src/sessions/confirmations/shared-confirmations.ts";
import { CONFIRMATION } from "../../sessions/store/records.ts";
import { type RestateStores, startRestateStores } from "../store/restate-stores.ts";

let restate: RestateStores;
beforeAll(async () => {
  restate = await startRestateStores();
});
afterAll(() => restate[Symbol.asyncDispose]());

/** The list as one server has it, beside its store. */
function openList(prefix: string) {
  const ingress = new Ingress({ urls: [restate.node.ingress], retryMs: 100 });
  const store = new RestateSessionStore({ ingress, prefix });
  return {
    store,
    list: new OpenConfirmationList(store.client, { prefix }),
    [Symbol.asyncDispose]: async () => {
      store.close();
      await ingress.close();
    },
  };
}

const confirmation = (id: string, principal = "ann") => listed({ ...CONFIRMATION, id, principal });

describe("The list of open confirmations", () => {
  test("is the same on every server", async () => {
    const prefix = restate.newPrefix();
    await using one = openList(prefix);
    await using other = openList(prefix);
    expect(await one.list.put(confirmation("q1"))).toBe(true);
    expect(await other.list.put(confirmation("q2"))).toBe(true);
    expect(await one.list.list()).toEqual([confirmation("q1"), confirmation("q2")]);
    await other.list.remove(["q1", "unknown"]);
    expect(await one.list.list()).toEqual([confirmation("q2")]);
  });

  test("takes 32 of one principal, whichever were put at once", async () => {
    await using opened = openList(restate.newPrefix());
    const { list } = opened;
    const put = await Promise.all(
      Array.from({ length: 40 }, (_, index) => list.put(confirmation(`q${index}`))),
    );
    expect(put).toEqual(put.map((_, index) => index < 32));
    expect(await list.put(confirmation("q40", "bob"))).toBe(true);
  });

  test("shows that Restate cannot be reached, even where nothing else asks for it", async () => {
    await using opened = openList(restate.newPrefix());
    const { list, store } = opened;
    await list.list();
    await restate.node.kill();
    await expect(list.list()).rejects.toMatchObject({ code: "restate_failed" });
    expect(store.problem).toMatch(/Restate cannot be reached/);
    await restate.node.start();
    await expect.poll(() => store.problem, { timeout: 30_000 }).toBeUndefined();
    expect(await list.list()).toEqual([]);
  });
});
