import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { allow } from "../../src/policy/policy.ts";
import { toolsOf } from "../../src/toolsets/toolsets.ts";
import { refusalOf, startServer, TestClient } from "./harness.ts";

interface ListedChanges {
  readonly digest: string;
  readonly changes: readonly { path: string; change: string; diff: string; digest: string; whole?: string }[];
}

async function held() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "sandgate-server-changes-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(join(root, "a.txt"), "old\n");
  const fs = [{ directory: root, write: true }];
  const server = await startServer(toolsOf("fs", {}), {
    policy: { check: () => allow({ sandbox: "host", capabilities: { fs } }) },
    sessions: { workspaces: [root] },
  });
  const client = (name: ConstructorParameters<typeof TestClient>[1]) => new TestClient(server, name);
  const [alice, carol] = [client("alice"), client("carol")];
  const id = await alice.open({ workspace: root, mode: "review" });
  const write = async (path: string, content: string): Promise<void> => {
    const calls = [{ id: path, name: "write_file", arguments: { path, content } }];
    const { turnId } = await alice.dispatch(id, calls);
    expect(await alice.executions(id, turnId)).toMatchObject([{ success: true }]);
  };
  await write("a.txt", "new \u202e\u001b[2J\n");
  return { root, client, alice, carol, id, at: `/v1/sessions/${id}/changes`, write };
}

test("the caller reads its changes, rendered safely, and an approver accepts them", async () => {
  const { root, alice, carol, at } = await held();
  const { digest, changes } = await alice.json<ListedChanges>("GET", at);
  expect(changes).toMatchObject([{ path: "a.txt", change: "modified" }]);
  expect(await carol.json("GET", "/v1/sessions")).toMatchObject({ sessions: [{ stagedChanges: 1 }] });
  expect(changes[0]?.diff).toContain("+new \\u202e\\u001b[2J\n");
  expect(changes[0]?.diff).toContain("-old\n");
  const one = await alice.json<ListedChanges>("GET", `${at}?path=a.txt`);
  expect(one.changes[0]?.whole).toContain("\u202e");
  expect(await carol.json("POST", at, { decision: "accept", digest })).toEqual({ accepted: ["a.txt"] });
  expect(readFileSync(join(root, "a.txt"), "utf8")).toContain("new");
  expect(await alice.json("GET", at)).toMatchObject({ changes: [] });
  expect(await carol.json("GET", "/v1/sessions")).toMatchObject({ sessions: [{ stagedChanges: 0 }] });
});

test("refuses in the order of the checks: 401, 404, 403, 400, 409, 422", async () => {
  const { root, client, alice, carol, at, write } = await held();
  const accept = { decision: "accept", path: "a.txt", digest: "other" };
  expect((await client({ token: "no-token-of-anyone-x" }).send("POST", at, accept)).status).toBe(401);
  expect(refusalOf(await client("bob").send("GET", at))).toBe("404 not_found");
  expect(refusalOf(await client("mallory").send("POST", at, accept))).toBe("404 not_found");
  expect(refusalOf(await alice.send("POST", at, { decision: "nonsense" }))).toBe("403 forbidden");
  expect(refusalOf(await client("erin").send("POST", at, accept))).toBe("403 forbidden");
  expect(refusalOf(await carol.send("POST", at, { decision: "nonsense" }))).toBe("400 bad_request");
  expect(refusalOf(await carol.send("POST", at, { decision: "accept" }))).toBe("400 bad_request");
  expect(refusalOf(await carol.send("POST", at, { ...accept, path: "b.txt" }))).toBe("404 not_found");
  expect(refusalOf(await carol.send("POST", at, accept))).toBe("422 other_digest");
  await write("b.txt", "B");
  const { digest } = await carol.json<ListedChanges>("GET", at);
  writeFileSync(join(root, "a.txt"), "of somebody else\n");
  const refused = await carol.send("POST", at, { decision: "accept", digest });
  expect(refusalOf(refused)).toBe("409 changes_conflict");
  expect(refused.text).toContain('"conflicts":[{"path":"a.txt","reason":"changed"}]');
  expect(await carol.json("POST", at, { decision: "reject", path: "a.txt" })).toEqual({
    rejected: ["a.txt"],
  });
  expect(await carol.json("POST", at, { decision: "reject" })).toEqual({ rejected: ["b.txt"] });
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("of somebody else\n");
});

test("tells the clients of the session what waits, and what became of it", async () => {
  const { alice, carol, id, at } = await held();
  const events = alice.events(`/v1/sessions/${id}/events`, { headers: { "last-event-id": "0" } });
  const { digest } = await alice.json<ListedChanges>("GET", at);
  await carol.json("POST", at, { decision: "accept", digest });
  expect(await events.next("changes.pending")).toMatchObject({ sessionId: id, paths: ["a.txt"] });
  expect(await events.next("changes.accepted")).toMatchObject({ paths: ["a.txt"], by: "carol" });
});
