import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Client, type ListedConfirmation } from "../cluster/client.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { readEffects } from "../cluster/effects.ts";

const HOUR_MS = 3_600_000;
const TIMEOUT_MS = 6_000;

let cluster: Cluster;
/** Of each server: its clock is right, an hour fast, and an hour slow. */
let clients: readonly Client[];
beforeAll(async () => {
  const clocksMs = [0, HOUR_MS, -HOUR_MS];
  cluster = await startCluster({ nodes: 1, servers: 3, timeoutMs: TIMEOUT_MS, clocksMs });
  clients = cluster.servers.map(({ url }) => new Client([url], Math.random));
});
afterAll(async () => {
  await Promise.all((clients ?? []).map((client) => client.close()));
  await cluster?.[Symbol.asyncDispose]();
});

const ask = (id: string, client: Client) => {
  const results = client.message({
    sessionId: `session-${id}`,
    principal: "p0",
    messageId: id,
    calls: [{ id: "c", name: "asks", arguments: { name: id } }],
  });
  // They are rejected when the client is closed, also for a test that has failed before it awaits them.
  results.catch(() => {});
  return results;
};
const confirmationOf = (id: string, client: Client): Promise<ListedConfirmation> =>
  vi.waitFor(async () => {
    const found = (await client.confirmations()).find(({ messageId }) => messageId === id);
    if (found === undefined) throw new Error("not asked");
    return found;
  }, TIMEOUT_MS);
const effectsOf = (id: string) => readEffects(cluster.effects).filter(({ name }) => name === id);

describe("A server whose clock is an hour wrong", () => {
  test("does not end a confirmation of the others, whichever of them has asked", async () => {
    for (const [index, asking] of clients.entries()) {
      const id = `answered-${index}`;
      const results = ask(id, asking);
      // Every server has read the list meanwhile.
      const confirmations = await Promise.all(clients.map((client) => confirmationOf(id, client)));
      await sleep(1_500);
      const [confirmation] = confirmations as [ListedConfirmation];
      const answer = { digest: confirmation.digest, decision: "allow", by: "bob" } as const;
      const other = clients[(index + 1) % clients.length] as Client;
      expect(await other.answer(confirmation, answer)).toMatchObject({ outcome: "resolved" });
      expect((await results)[0]).toMatchObject({ success: true, confirmation: { by: "bob" } });
    }
  });

  test("does not accept an answer after the end of a confirmation", async () => {
    for (const [index, asking] of clients.entries()) {
      const id = `late-${index}`;
      const results = ask(id, asking);
      const confirmation = await confirmationOf(id, asking);
      expect((await results)[0]?.error).toMatchObject({ code: "confirmation_timeout", effect: "none" });
      const answer = { digest: confirmation.digest, decision: "allow", by: "bob" } as const;
      for (const client of clients) {
        expect(await client.answer(confirmation, answer)).toMatchObject({ outcome: "gone" });
      }
      expect(effectsOf(id)).toEqual([]);
    }
  });
});
