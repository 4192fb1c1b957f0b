import { once } from "node:events";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ListedConfirmation, TestClient } from "../../server/harness.ts";
import { createFolder, sandgate } from "../sandgate.ts";
import { start } from "../serve.ts";

const CONFIG = `
tools:
  - name: look
    description: Looks
    inputSchema: { type: object }
    sideEffects: read
    host: { module: tools.mjs, export: look, thread: false }
  - name: pay
    description: Pays
    inputSchema: { type: object }
    sideEffects: write
    host: { module: tools.mjs, export: pay, thread: false }
toolsets: [programs]
policy:
  rules:
    - { tools: [run_program], effect: allow, sandboxes: [quickjs], capabilities: { tools: [look, pay] } }
    - { tools: [look, pay], effect: allow, sandboxes: [host] }
confirmations: { mode: cautious, timeout: 1h, tools: { run_program: auto } }
sessions: { store: sessions.db, programs: { store: programs.db, keys: programs.keys } }
server:
  listen: 127.0.0.1:0
  sessions: true
  credentials:
    - { id: agent, token: { file: agent.token }, roles: [caller] }
    - { id: ann, token: { file: ann.token }, roles: [approver], approves: [agent] }
`;
const FILES = {
  "sandgate.yaml": CONFIG,
  "tools.mjs": `
import { appendFileSync } from "node:fs";
const write = (line) => appendFileSync(new URL("effects", import.meta.url), line + "\\n");
export const look = () => { write("look"); return 20; };
export const pay = ({ to }) => { write("pay " + to); return 1; };
`,
  "agent.token": "the-token-of-the-agent\n",
  "ann.token": "the-token-of-ann-the-person\n",
};
const CODE = `
  const before = await tools.look({});
  const paid = await Promise.all(["x", "y"].map((to) => tools.pay({ to })));
  return [before, ...paid];`;

async function folderWithKeys(): Promise<string> {
  const folder = await createFolder({ ...FILES, "programs.keys": `k1 ${"07".repeat(32)}\n` });
  chmodSync(join(folder, "programs.keys"), 0o600);
  return folder;
}

const agentOf = (server: { readonly address: string }): TestClient =>
  new TestClient(server, { token: "the-token-of-the-agent" });
const annOf = (server: { readonly address: string }): TestClient =>
  new TestClient(server, { token: "the-token-of-ann-the-person" });

/** What is listed of a suspended program. */
interface Listed {
  readonly suspendedAt: number;
}

async function programsOf(person: TestClient): Promise<readonly Listed[]> {
  return (await person.json<{ readonly programs: readonly Listed[] }>("GET", "/v1/programs")).programs;
}

/**
 * Waits until so many questions are open, and the program is suspended.
 *
 * @param since It must have been suspended later, since it goes on after each answer. Default: at any time.
 */
async function asked(person: TestClient, count: number, since = 0): Promise<readonly ListedConfirmation[]> {
  for (;;) {
    const [program] = await programsOf(person);
    const open = (await person.confirmations()) as readonly ListedConfirmation[];
    if (open.length === count && program !== undefined && program.suspendedAt > since) return open;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function beginProgram(
  agent: TestClient,
): Promise<{ readonly session: string; readonly turnId: string }> {
  const session = await agent.open();
  const calls = [{ id: "c1", name: "run_program", arguments: { code: CODE } }];
  const { turnId } = await agent.dispatch(session, calls);
  return { session, turnId };
}

test("a program goes on once after its server was killed, when the person answers the next one", async () => {
  const folder = await folderWithKeys();
  const first = await start(folder);
  const { session, turnId } = await beginProgram(agentOf(first));
  const before = await asked(annOf(first), 2);
  first.child.kill("SIGKILL");
  await once(first.child, "exit");

  const second = await start(folder);
  expect(await asked(annOf(second), 2)).toEqual(before);
  const [{ suspendedAt } = { suspendedAt: 0 }] = await programsOf(annOf(second));
  await annOf(second).answer(before[0] as ListedConfirmation, { decision: "allow" });
  // Killed again between the answers: the call that has its result keeps it.
  await asked(annOf(second), 1, suspendedAt);
  second.child.kill("SIGKILL");
  await once(second.child, "exit");

  const third = await start(folder);
  const [last] = await asked(annOf(third), 1);
  await annOf(third).answer(last as ListedConfirmation, { decision: "allow" });
  expect(await agentOf(third).executions(session, turnId)).toMatchObject([
    { success: true, output: [20, 1, 1] },
  ]);
  const effects = readFileSync(join(folder, "effects"), "utf8").trim().split("\n");
  expect(effects.toSorted()).toEqual(["look", "pay x", "pay y"]);
  expect(await programsOf(annOf(third))).toEqual([]);
  third.child.kill("SIGKILL");
  await once(third.child, "exit");
}, 60_000);

test("a server closes the store of its programs when it ends, and what waits goes on in the next one", async () => {
  const folder = await folderWithKeys();
  const first = await start(folder);
  const { session, turnId } = await beginProgram(agentOf(first));
  const before = await asked(annOf(first), 2);
  expect(existsSync(join(folder, "programs.db-wal"))).toBe(true);
  first.child.kill("SIGTERM");
  expect(await once(first.child, "exit")).toEqual([0, null]);
  // SQLite removes it when the last connection is closed.
  expect(existsSync(join(folder, "programs.db-wal"))).toBe(false);
  const second = await start(folder);
  expect(await asked(annOf(second), 2)).toEqual(before);
  for (const confirmation of before) await annOf(second).answer(confirmation, { decision: "allow" });
  expect(await agentOf(second).executions(session, turnId)).toMatchObject([{ output: [20, 1, 1] }]);
}, 60_000);

test("a server that cannot listen closes the store of its programs", async () => {
  const folder = await folderWithKeys();
  const { code } = await sandgate([
    "serve",
    "--config",
    join(folder, "sandgate.yaml"),
    "--listen",
    "203.0.113.1:1",
  ]);
  expect(code).toBe(2);
  expect(existsSync(join(folder, "programs.db"))).toBe(true);
  expect(existsSync(join(folder, "programs.db-wal"))).toBe(false);
});
