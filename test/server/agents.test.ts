import { createServer } from "node:http";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Receiver } from "../../src/base/receiver.ts";
import type { Server } from "../../src/server/server.ts";
import { agentTools } from "../../src/sessions/agent-tools.ts";
import { type ListedConfirmation, startServer, TestClient, WritingTool } from "./harness.ts";

/** A server with an agent in an agent, whose call waits for a person. */
async function askingAgents(notify?: Receiver) {
  let server: Server | undefined;
  const own = agentTools({
    sessions: () => (server as Server).sessions,
    runAgent: async ({ session, prompt }) => {
      const deeper = { id: "d", name: "spawn_agent", arguments: { prompt: "Deeper." } };
      const write = { id: "w", name: "write_note", arguments: { text: "my diary" } };
      const execution = await session.turn().dispatch(prompt === "Deeper." ? write : deeper);
      return execution?.success === true ? "done" : "failed";
    },
  });
  server = await startServer([new WritingTool().tool, ...own], {
    sessions: { ...(notify && { notify }) },
  });
  const [alice, bob, carol] = [
    new TestClient(server, "alice"),
    new TestClient(server, "bob"),
    new TestClient(server, "carol"),
  ];
  const id = await alice.open();
  const spawn = (): Promise<{ turnId: string }> =>
    alice.dispatch(id, [{ id: "c", name: "spawn_agent", arguments: { prompt: "Begin." } }]);
  return { server, alice, bob, carol, id, spawn };
}

test("the clients of a session learn what people are asked about its agents, at once or when they connect", async () => {
  const { server, alice, bob, carol, id, spawn } = await askingAgents();
  const early = carol.events(`/v1/sessions/${id}/events`);
  await early.opened;
  const other = await bob.open();
  const { turnId } = await spawn();
  const asked = await early.next("tool.confirmation_requested");
  const [, middle, lowest] = server.sessions.list().filter((session) => session.id !== other);
  expect(asked).toMatchObject({
    sessionId: lowest?.id,
    callId: "w",
    parent: `${middle?.id}/d`,
    toolName: "write_note",
    inputSummary: expect.stringContaining("my diary"),
  });
  const late = carol.events(`/v1/sessions/${id}/events`);
  expect(await late.next("tool.confirmation_requested")).toEqual(asked);
  const [confirmation] = await carol.confirmations();
  if (confirmation === undefined) throw new Error("no confirmation is open");
  expect((await carol.answer(confirmation, { decision: "allow" })).status).toBe(200);
  expect(await late.next("tool.confirmation_resolved")).toMatchObject({
    requestId: confirmation.requestId,
    sessionId: lowest?.id,
    parent: `${middle?.id}/d`,
    decision: "allow",
    by: "carol",
  });
  expect(await alice.executions(id, turnId)).toMatchObject([{ success: true, output: "done" }]);
  const unconcerned = bob.events(`/v1/sessions/${other}/events`, { headers: { "last-event-id": "0" } });
  await bob.dispatch(other, [{ id: "x", name: "write_note", arguments: {} }]);
  expect(await unconcerned.next("tool.confirmation_requested")).toMatchObject({ sessionId: other });
});

test("the caller of the session above reads no more of it than of a nested call", async () => {
  const { alice, id, spawn } = await askingAgents();
  await spawn();
  const events = alice.events(`/v1/sessions/${id}/events`, { headers: { "last-event-id": "0" } });
  const asked = await events.next("tool.confirmation_requested");
  expect(asked).toMatchObject({ toolName: "write_note", callId: "w" });
  expect(JSON.stringify(asked)).not.toContain("my diary");
  expect(asked).not.toHaveProperty("digest");
});

test("nothing is told of an agent's confirmation while an approver follows the session above", async () => {
  const told: string[] = [];
  const receiving = createServer((request, response) => {
    request.on("data", (chunk) => told.push(String(chunk)));
    request.on("end", () => response.end());
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void receiving.close());
  await vi.waitUntil(() => receiving.listening);
  const { port } = receiving.address() as { port: number };
  const { carol, id, spawn } = await askingAgents({ url: `http://127.0.0.1:${port}/` });
  const events = carol.events(`/v1/sessions/${id}/events`);
  await events.opened;
  await spawn();
  const [seen] = (await carol.confirmations()) as readonly [ListedConfirmation];
  await carol.answer(seen, { decision: "deny" });
  events.close();
  // The server sees after a while that the approver has gone.
  while (told.length === 0) {
    await spawn();
    const [confirmation] = (await carol.confirmations()) as readonly [ListedConfirmation];
    await carol.answer(confirmation, { decision: "deny" });
    await setTimeout(20);
  }
  expect(told[0]).toContain("write_note");
  expect(told.join()).not.toContain(seen.requestId);
});

test("GET /v1/sessions/{id} shows the current mode, and of an agent's session the call that runs it", async () => {
  const { server, alice, bob, carol, id, spawn } = await askingAgents();
  const at = `/v1/sessions/${id}`;
  expect(await alice.json("GET", at)).toEqual({ id, kind: "main", mode: "cautious", isPlanApproved: false });
  await carol.json("PATCH", at, { mode: "plan" });
  expect(await carol.json("GET", at)).toMatchObject({ mode: "plan", isPlanApproved: false });
  await server.sessions.get(id)?.approvePlan("carol", "q1");
  expect(await carol.json("GET", at)).toMatchObject({ mode: "plan", isPlanApproved: true });
  const custom = { base: "manual", tools: { write_note: "deny" } };
  await carol.json("PATCH", at, { mode: custom });
  expect(await alice.json("GET", at)).toMatchObject({ mode: custom, isPlanApproved: false });
  await carol.json("PATCH", at, { mode: "cautious" });
  await spawn();
  await vi.waitUntil(() => server.sessions.list().length === 3);
  const [, middle] = server.sessions.list();
  expect(await alice.json("GET", `/v1/sessions/${middle?.id}`)).toMatchObject({
    kind: "worker",
    parent: `${id}/c`,
  });
  expect((await bob.send("GET", at)).status).toBe(404);
});
