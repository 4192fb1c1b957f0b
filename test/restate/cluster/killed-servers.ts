import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { JsonObject } from "../../../src/json/value.ts";
import { Client, type PostedMessage } from "./client.ts";
import { type Cluster, type ClusterShape, startCluster } from "./cluster.ts";
import { type Effect, readEffects } from "./effects.ts";
import { tokenOf } from "./project.ts";

/** Tests what happens to calls whose server is killed, whatever the servers share their sessions through. */
export function describeKilledServers(name: string, shape: Pick<ClusterShape, "nodes" | "postgres">): void {
  let cluster: Cluster;
  let client: Client;
  beforeAll(async () => {
    cluster = await startCluster({ servers: 2, ...shape });
    client = new Client(
      cluster.servers.map(({ url }) => url),
      Math.random,
    );
  });
  afterAll(async () => {
    await client?.close();
    await cluster?.[Symbol.asyncDispose]();
  });

  const messageOf = (id: string, tool: string, more: JsonObject = {}): PostedMessage => ({
    sessionId: `session-${id}`,
    principal: "p0",
    messageId: id,
    calls: [{ id: "c", name: tool, arguments: { name: id, ...more } }],
  });
  const effectsOf = (id: string): readonly Effect[] =>
    readEffects(cluster.effects).filter(({ name }) => name === id);

  /** Kills the server that has begun a call, and starts it again. */
  async function killTheServerOf(id: string): Promise<void> {
    await vi.waitFor(() => expect(effectsOf(id)).toHaveLength(1), 20_000);
    const server = cluster.servers.find(({ pid }) => pid === effectsOf(id)[0]?.pid);
    await server?.kill();
    await server?.start();
  }

  async function confirmationOf(id: string) {
    return vi.waitFor(async () => {
      const found = (await client.confirmations()).find(({ messageId }) => messageId === id);
      if (found === undefined) throw new Error("not asked");
      return found;
    }, 20_000);
  }

  describe(`A server ${name} that is killed (-9) in the middle of a call`, () => {
    test("leaves a call unknown that may not run twice, and it runs no more", async () => {
      const results = client.message(messageOf("noted", "note", { waitMs: 60_000 }));
      await killTheServerOf("noted");
      const [result] = await results;
      expect(result?.error).toMatchObject({ code: "execution_error", effect: "unknown" });
      expect(effectsOf("noted")).toHaveLength(1);
      expect(await client.message(messageOf("noted", "note", { waitMs: 60_000 }))).toEqual([result]);
    });

    test("leaves an idempotent call to another one, which runs it under the same key", async () => {
      const results = client.message(messageOf("put", "put", { waitMs: 1_500 }));
      await killTheServerOf("put");
      expect((await results)[0]).toMatchObject({ success: true, output: "done put" });
      const effects = effectsOf("put");
      expect(new Set(effects.map(({ pid }) => pid)).size).toBe(2);
      expect(new Set(effects.map(({ key }) => key)).size).toBe(1);
    });
  });

  describe(`A call ${name} that waits for a person`, () => {
    test("outlives its servers and the node, with the same question, and runs once", async () => {
      const results = client.message(messageOf("asked", "asks"));
      const before = await confirmationOf("asked");
      await Promise.all([...cluster.servers, ...cluster.nodes].map((each) => each.kill()));
      for (const each of [...cluster.nodes, ...cluster.servers]) await each.start();
      const confirmation = await confirmationOf("asked");
      expect(confirmation).toEqual(before);
      const answer = { digest: confirmation.digest, decision: "allow", by: "bob" } as const;
      expect(await client.answer(confirmation, answer)).toMatchObject({ outcome: "resolved" });
      expect((await results)[0]).toMatchObject({ success: true, confirmation: { by: "bob" } });
      expect(effectsOf("asked")).toHaveLength(1);
    });
  });

  describe(`A node ${name} that is down`, () => {
    test("has messages refused, of which nothing runs until it is back and they come again", async () => {
      const [node] = cluster.nodes;
      const [server] = cluster.servers;
      // The session is known here, so that it is the message that cannot be kept.
      const session = await client.session("session-refused", "p0");
      const { sessionId: _, principal: __, ...message } = messageOf("refused", "note");
      await node?.kill();
      const response = await fetch(`${server?.url}/v1/sessions/${session}/turns`, {
        method: "POST",
        body: JSON.stringify({ turnId: "refused", ...message }),
        headers: { authorization: `Bearer ${tokenOf("p0")}`, "content-type": "application/json" },
      });
      expect(response.status).toBe(503);
      expect(effectsOf("refused")).toEqual([]);
      await node?.start();
      const again = { ...messageOf("refused", "note"), sessionId: "session-refused" };
      expect((await client.message(again))[0]).toMatchObject({ success: true });
      expect(effectsOf("refused")).toHaveLength(1);
    });
  });
}
