import { expect, test } from "vitest";
import { defineTool } from "../../../src/engine/tool.ts";
import { refusalOf, startServer, TestClient, WritingTool } from "../harness.ts";

interface ListedSession {
  readonly id: string;
  readonly [member: string]: unknown;
}

interface SessionPage {
  readonly sessions: readonly ListedSession[];
  readonly next?: number;
}

test("readers and admins are listed all sessions, and approvers those of their principals", async () => {
  const server = await startServer([]);
  const [alice, bob] = [new TestClient(server, "alice"), new TestClient(server, "bob")];
  const [ofAlice, ofBob] = [await alice.open(), await bob.open({ kind: "worker" })];
  const listed = async (name: "erin" | "frank" | "carol" | "mallory"): Promise<readonly string[]> =>
    (await new TestClient(server, name).json<SessionPage>("GET", "/v1/sessions")).sessions.map(
      ({ id }) => id,
    );
  expect(await listed("erin")).toEqual([ofBob, ofAlice]);
  expect(await listed("frank")).toEqual([ofBob, ofAlice]);
  expect(await listed("carol")).toEqual([ofAlice]);
  expect(await listed("mallory")).toEqual([]);
  expect(refusalOf(await alice.send("GET", "/v1/sessions"))).toBe("403 forbidden");
});

test("a session is listed with what waits and what runs", async () => {
  const release = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const slow = defineTool({
    name: "slow",
    description: "",
    inputSchema: { type: "object" },
    sideEffects: "none",
    host: async () => {
      started.resolve();
      await release.promise;
      return null;
    },
  });
  const server = await startServer([slow, new WritingTool().tool]);
  const [alice, carol] = [new TestClient(server, "alice"), new TestClient(server, "carol")];
  const id = await alice.open({ name: "release 2.4", mode: { base: "cautious", tools: { other: "deny" } } });
  await alice.dispatch(id, [
    { id: "1", name: "slow", arguments: {} },
    { id: "2", name: "write_note", arguments: {} },
  ]);
  await started.promise;
  await carol.confirmations();
  const { sessions } = await carol.json<SessionPage>("GET", "/v1/sessions");
  expect(sessions).toEqual([
    {
      id,
      name: "release 2.4",
      kind: "main",
      mode: { base: "cautious" },
      principal: { id: "alice" },
      openedAt: expect.any(Number),
      openConfirmations: 1,
      stagedChanges: 0,
      runningCalls: 1,
    },
  ]);
  release.resolve();
});

test("pages go on where the last one ended, even if sessions are closed and opened meanwhile", async () => {
  const server = await startServer([]);
  const [alice, erin] = [new TestClient(server, "alice"), new TestClient(server, "erin")];
  const ids: string[] = [];
  for (let opened = 0; opened < 5; opened++) ids.push(await alice.open());
  const first = await erin.json<SessionPage>("GET", "/v1/sessions?limit=2");
  expect(first.sessions.map(({ id }) => id)).toEqual([ids[4], ids[3]]);
  await alice.send("DELETE", `/v1/sessions/${ids[3]}`);
  await alice.open();
  const second = await erin.json<SessionPage>("GET", `/v1/sessions?limit=2&before=${first.next}`);
  expect(second.sessions.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
  const third = await erin.json<SessionPage>("GET", `/v1/sessions?limit=2&before=${second.next}`);
  expect(third).toMatchObject({ sessions: [{ id: ids[0] }] });
  expect(third.next).toBeUndefined();
});

test.each([
  "before=0",
  "before=-1",
  "before=1e3",
  "before=x",
  "before=99999999999999999",
  "limit=0",
  "limit=1001",
])("the page %s is refused", async (query) => {
  const server = await startServer([]);
  const erin = new TestClient(server, "erin");
  expect(refusalOf(await erin.send("GET", `/v1/sessions?${query}`))).toBe("400 bad_request");
});
