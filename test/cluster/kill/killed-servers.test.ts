import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { NO_POSTGRES } from "../../record/postgres-server.ts";
import { Client, type PostedMessage } from "../../restate/cluster/client.ts";
import { type Cluster, startCluster } from "../../restate/cluster/cluster.ts";
import { type Effect, readEffects } from "../../restate/cluster/effects.ts";
import { describeKilledServers } from "../../restate/cluster/killed-servers.ts";

describe.skipIf(NO_POSTGRES !== undefined)("With a database", () => {
  describeKilledServers("on PostgreSQL", { nodes: 0, postgres: true });

  describe("A server that stood still (SIGSTOP) until another one has taken over", () => {
    let cluster: Cluster;
    let first: Client;
    let second: Client;
    beforeAll(async () => {
      cluster = await startCluster({ servers: 2, nodes: 0, postgres: true });
      const [one, other] = cluster.servers.map(({ url }) => url);
      first = new Client([one ?? ""], Math.random);
      second = new Client([other ?? ""], Math.random, first);
    });
    afterAll(async () => {
      cluster.servers[0]?.resume();
      await Promise.all([first, second].map((client) => client.close()));
      await cluster[Symbol.asyncDispose]();
    });

    const messageOf = (id: string, tool: string, waitMs = 0): PostedMessage => ({
      sessionId: `session-${id}`,
      principal: "p0",
      messageId: id,
      calls: [{ id: "c", name: tool, arguments: { name: id, waitMs } }],
    });
    const effectsOf = (id: string): readonly Effect[] =>
      readEffects(cluster.effects).filter(({ name }) => name === id);

    async function confirmationOf(id: string, client: Client) {
      return vi.waitFor(async () => {
        const found = (await client.confirmations()).find(({ messageId }) => messageId === id);
        if (found === undefined) throw new Error("not asked");
        return found;
      }, 30_000);
    }

    test("does not run a call that a person has allowed on the other one, and asks nobody again", async () => {
      const message = messageOf("asked", "asks");
      const results = first.message(message);
      const before = await confirmationOf("asked", first);
      cluster.servers[0]?.pause();
      const confirmation = await confirmationOf("asked", second);
      expect(confirmation).toEqual(before);
      const answer = { digest: confirmation.digest, decision: "allow", by: "bob" } as const;
      expect(await second.answer(confirmation, answer)).toMatchObject({ outcome: "resolved" });
      await vi.waitFor(() => expect(effectsOf("asked")).toHaveLength(1), 30_000);
      cluster.servers[0]?.resume();
      expect((await results)[0]).toMatchObject({ success: true, confirmation: { by: "bob" } });
      expect(await second.message(message)).toEqual(await results);
      expect(effectsOf("asked")).toEqual([expect.objectContaining({ pid: cluster.servers[1]?.pid })]);
      expect((await first.confirmations()).filter(({ messageId }) => messageId === "asked")).toEqual([]);
    });

    test("has no result of a call that the other one has left unknown", async () => {
      const message = messageOf("noted", "note", 1_000);
      const results = first.message(message);
      await vi.waitFor(() => expect(effectsOf("noted")).toHaveLength(1), 20_000);
      cluster.servers[0]?.pause();
      const [unknown] = await second.message(message);
      expect(unknown?.error).toMatchObject({ code: "execution_error", effect: "unknown" });
      cluster.servers[0]?.resume();
      expect(await results).toEqual([unknown]);
      expect(effectsOf("noted")).toHaveLength(1);
    });
  });
});
