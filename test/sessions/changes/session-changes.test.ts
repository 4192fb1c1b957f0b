import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Tool } from "../../../src/engine/tool.ts";
import { allow, type RuntimePolicy } from "../../../src/policy/policy.ts";
import type { Session } from "../../../src/sessions/session.ts";
import type { ChangeEvent } from "../../../src/sessions/session-changes.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { toolsOf } from "../../../src/toolsets/toolsets.ts";
import { call, testSessions, tool } from "../harness.ts";

const shell = tool("run_command", "execute", () => "ran");
const tools = (): readonly Tool[] => [...toolsOf("fs", {}), ...toolsOf("search", {}), shell];

function workspace(): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "sandgate-session-changes-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(join(root, "a.txt"), "one\ntwo\n");
  return root;
}

const granting = (root: string): RuntimePolicy => ({
  check: ({ tool: { name } }) =>
    allow({
      sandbox: "host",
      ...(name !== "run_command" && { capabilities: { fs: [{ directory: root, write: true }] } }),
    }),
});

async function run(session: Session, name: string, args: object): Promise<unknown> {
  const result = await session.turn().dispatch(call(`c-${Math.random()}`, name, args as never));
  if (result?.error) throw new Error(result.error.message);
  return result?.output;
}

test("in review, writes run unasked, the session sees them, and the disk changes when a person accepts", async () => {
  const root = workspace();
  const { sessions } = await testSessions(tools(), { policy: granting(root) });
  const events: ChangeEvent[] = [];
  sessions.onChanges((event) => events.push(event));
  const session = await sessions.open({ workspace: root, mode: "review" });
  await run(session, "write_file", { path: "a.txt", content: "one\nTWO\n" });
  await run(session, "write_file", { path: "b.txt", content: "needle" });
  expect(JSON.stringify(await run(session, "read_file", { path: "a.txt" }))).toContain("TWO");
  expect(JSON.stringify(await run(session, "grep", { pattern: "needle" }))).toContain("b.txt");
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("one\ntwo\n");

  const [a, b] = await session.changes.pending();
  expect(a).toMatchObject({ path: "a.txt", change: "modified" });
  expect(a?.diff).toBe("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n");
  expect(b).toMatchObject({ path: "b.txt", change: "created" });
  expect(await session.changes.accept("a.txt", { by: "eve" })).toEqual({
    accepted: ["a.txt"],
    conflicts: [],
  });
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("one\nTWO\n");
  expect(await session.changes.reject("b.txt")).toEqual(["b.txt"]);
  await expect(run(session, "read_file", { path: "b.txt" })).rejects.toThrow("no such file");
  expect(await session.changes.pending()).toEqual([]);
  expect(events.map(({ type, paths, by }) => [type, paths, by])).toEqual([
    ["pending", ["a.txt"], undefined],
    ["pending", ["b.txt"], undefined],
    ["accepted", ["a.txt"], "eve"],
    ["rejected", ["b.txt"], undefined],
  ]);
  await sessions.close();
});

test("in audit, all is accepted at once, and nothing of it if one file has changed since it was read", async () => {
  const root = workspace();
  const { sessions } = await testSessions(tools(), { policy: granting(root) });
  const session = await sessions.open({ workspace: root, mode: "audit" });
  await run(session, "read_file", { path: "a.txt" });
  writeFileSync(join(root, "a.txt"), "somebody else's\n");
  await run(session, "write_file", { path: "a.txt", content: "mine\n" });
  await run(session, "write_file", { path: "b.txt", content: "B" });
  expect(await session.changes.acceptAll()).toEqual({
    accepted: [],
    conflicts: [{ path: "a.txt", reason: "changed" }],
  });
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("somebody else's\n");
  await session.changes.reject("a.txt");
  expect(await session.changes.acceptAll()).toEqual({ accepted: ["b.txt"], conflicts: [] });
  expect(readFileSync(join(root, "b.txt"), "utf8")).toBe("B");
  await sessions.close();
});

test("what was changed since it was shown is not accepted", async () => {
  const root = workspace();
  const { sessions } = await testSessions(tools(), { policy: granting(root) });
  const session = await sessions.open({ workspace: root, mode: "review" });
  await run(session, "write_file", { path: "a.txt", content: "shown\n" });
  const [shown] = await session.changes.pending();
  await run(session, "write_file", { path: "a.txt", content: "not shown\n" });
  const digest = shown?.digest ?? "";
  expect(await session.changes.accept("a.txt", { digest })).toEqual({
    accepted: [],
    conflicts: [{ path: "a.txt", reason: "not-shown" }],
  });
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("one\ntwo\n");
  await sessions.close();
});

test("a tool that cannot be staged is asked about, with a note that says so", async () => {
  const root = workspace();
  const { sessions, nextConfirmation } = await testSessions(tools(), { policy: granting(root) });
  const session = await sessions.open({ workspace: root, mode: "review" });
  const ran = run(session, "run_command", {});
  const confirmation = await nextConfirmation();
  expect(confirmation.shown.question).toContain("cannot be staged");
  await session.answer(confirmation.id, { decision: "allow", digest: confirmation.digest, by: "eve" });
  expect(await ran).toBe("ran");
  await sessions.close();
});

test("one session does not see what another one holds, and a closed one leaves nothing behind", async () => {
  const root = workspace();
  const { sessions } = await testSessions(tools(), { policy: granting(root) });
  const [one, other] = [
    await sessions.open({ workspace: root, mode: "review" }),
    await sessions.open({ workspace: root, mode: "review" }),
  ];
  await run(one, "write_file", { path: "a.txt", content: "of one\n" });
  expect(JSON.stringify(await run(other, "read_file", { path: "a.txt" }))).toContain("two");
  expect(JSON.stringify(await run(other, "list_directory", { path: "." }))).not.toContain(".sandgate");
  expect(await other.changes.pending()).toEqual([]);
  await one.close();
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("one\ntwo\n");
  await sessions.close();
});

test("what waits is there after a restart, and after the mode has changed", async () => {
  const root = workspace();
  const store = new MemorySessionStore();
  const first = await testSessions(tools(), { policy: granting(root), store });
  const { id } = await first.sessions.open({ workspace: root, mode: "review" });
  const session = first.sessions.get(id) as Session;
  await run(session, "write_file", { path: "a.txt", content: "kept\n" });
  await session.setMode("cautious");
  expect(await session.changes.pending()).toHaveLength(1);
  await first.sessions.close();

  const second = await testSessions(tools(), { policy: granting(root), store });
  const again = second.sessions.get(id) as Session;
  expect(await again.changes.acceptAll()).toEqual({ accepted: ["a.txt"], conflicts: [] });
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("kept\n");
  await second.sessions.close();
});

test("without a workspace nothing can be held, so that a person is asked", async () => {
  const root = workspace();
  const { sessions, nextConfirmation } = await testSessions(tools(), { policy: granting(root) });
  const session = await sessions.open({ mode: "review" });
  const written = run(session, "write_file", { path: "a.txt", content: "asked\n" });
  const confirmation = await nextConfirmation();
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("one\ntwo\n");
  await session.answer(confirmation.id, { decision: "deny", digest: confirmation.digest, by: "eve" });
  await expect(written).rejects.toThrow("User denied this operation.");
  await sessions.close();
});
