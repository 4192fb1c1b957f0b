import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { run } from "../../../src/cli/run.ts";
import { type ListedInquiry, refusalOf, TestClient } from "../../server/harness.ts";
import { createFolder, sandgate } from "../sandgate.ts";

const TOOLS = `
tools:
  - name: write_note
    description: Writes a note
    inputSchema: { type: object }
    sideEffects: write
    host: { module: tools.mjs, export: write, thread: false }
policy:
  rules:
    - { name: notes, tools: [write_note], effect: allow, sandboxes: [host] }
`;
const SERVER = `
confirmations: { mode: manual, timeout: 1min }
sessions: { store: state/sessions.db, limits: { calls: 2 } }
server:
  listen: 127.0.0.1:0
  sessions: true
  workspaces: [code]
  credentials:
    - { id: agent, token: { file: agent.token }, roles: [caller] }
    - { id: ann, token: { file: ann.token }, roles: [approver], approves: [agent] }
`;
const FILES = {
  "sandgate.yaml": TOOLS + SERVER,
  "tools.mjs": "export const write = (input) => input;",
  "agent.token": "the-token-of-the-agent\n",
  "ann.token": "the-token-of-ann-the-person\n",
  "state/.keep": "",
  "code/.keep": "",
};

/** Serves a folder in this process. Returns the server's address, and a function that ends it. */
async function serve(folder: string): Promise<{ readonly address: string; end(): Promise<number> }> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const interruption = new AbortController();
  const code = run(["serve", "--config", join(folder, "sandgate.yaml")], {
    ...{ stdin: Readable.from([]), stdout, stderr, signal: interruption.signal },
  });
  const end = (): Promise<number> => {
    interruption.abort();
    return code;
  };
  onTestFinished(async () => void (await end()));
  const [line] = await Promise.race([
    once(stdout, "data"),
    code.then((exit) => [`exit ${exit}: ${stderr.read()}`]),
  ]);
  const [, address] = /^listening on (.+)\n$/.exec(String(line)) ?? [];
  if (address === undefined) throw new Error(String(line));
  return { address, end };
}

describe("sandgate serve with sessions", () => {
  test("asks an approver of the config, and a restart loses no question", async () => {
    const folder = await createFolder(FILES);
    const before = await serve(folder);
    const agent = new TestClient(before, { token: "the-token-of-the-agent" });
    expect(refusalOf(await agent.send("POST", "/v1/sessions", { mode: "cautious" }))).toBe("403 forbidden");
    const session = await agent.open({ workspace: join(folder, "code") });
    const { turnId } = await agent.dispatch(session, [
      { id: "c1", name: "write_note", arguments: { text: "hi" } },
    ]);
    const token = { token: "the-token-of-ann-the-person" };
    const [asked] = (await new TestClient(before, token).inquiries()) as readonly [ListedInquiry];
    expect(await before.end()).toBe(0);
    const after = await serve(folder);
    const ann = new TestClient(after, token);
    expect(await ann.inquiries()).toEqual([asked]);
    expect((await ann.answer(asked, { decision: "allow" })).status).toBe(200);
    const restarted = new TestClient(after, { token: "the-token-of-the-agent" });
    expect(await restarted.executions(session, turnId)).toMatchObject([{ success: true }]);
    expect(await after.end()).toBe(0);
  });

  test("runs the program of the config when a question waits and no approver is attached", async () => {
    const folder = await createFolder(FILES);
    const command = JSON.stringify([process.execPath, join(folder, "notify.mjs")]);
    const written = join(folder, "state/told.json");
    await writeFile(
      join(folder, "notify.mjs"),
      `import { readFileSync, renameSync, writeFileSync } from "node:fs";
      writeFileSync(${JSON.stringify(`${written}.part`)}, readFileSync(0));
      renameSync(${JSON.stringify(`${written}.part`)}, ${JSON.stringify(written)});`,
    );
    const config = FILES["sandgate.yaml"].replace("1min }", `1min, notify: { command: ${command} } }`);
    await writeFile(join(folder, "sandgate.yaml"), config);
    const agent = new TestClient(await serve(folder), { token: "the-token-of-the-agent" });
    const sessionId = await agent.open();
    await agent.dispatch(sessionId, [{ id: "c1", name: "write_note", arguments: { text: "hi" } }]);
    await vi.waitUntil(() => existsSync(written), { timeout: 4_000 });
    const told = JSON.parse(readFileSync(written, "utf8"));
    expect(told).toEqual({ requestId: expect.any(String), sessionId, toolName: "write_note" });
  });

  test("reports every problem of the sessions, the confirmations and the credentials with its position", async () => {
    const folder = await createFolder({
      ...FILES,
      "short.token": "short",
      "sandgate.yaml": `${TOOLS}
confirmations: { timeout: soon, notify: { url: "ftp://ops.example.com" } }
sessions: { limits: { concurrency: 65 } }
server:
  sessions: true
  origins: ["console.example.com"]
  credentials:
    - { id: a, token: { file: agent.token }, roles: [caller, approver] }
    - { id: b, token: { file: agent.token }, roles: [reader] }
    - { id: c, token: { file: short.token }, roles: [reader], approves: ["*"] }
    - { id: d, roles: [reader] }
`,
    });
    const { code, stderr } = await sandgate(["check", "--config", join(folder, "sandgate.yaml")]);
    expect(code).toBe(2);
    expect(stderr.replaceAll(`${folder}/`, "").trim().split("\n")).toEqual([
      expect.stringContaining("sandgate.yaml:12:27: must be a duration"),
      expect.stringContaining("sandgate.yaml:12:41: notify's url must be an http or https URL"),
      expect.stringContaining("sandgate.yaml:13:36: must be from 1 to 64"),
      expect.stringContaining("sandgate.yaml:16:13: must be a scheme, a host and optionally a port"),
      expect.stringContaining("sandgate.yaml:18:7: a caller must not be an approver"),
      expect.stringContaining("sandgate.yaml:19:7: another credential has the same token"),
      expect.stringContaining("sandgate.yaml:20:7: only an approver can have 'approves'"),
      expect.stringContaining("sandgate.yaml:20:31: the token must have at least 16 characters"),
      expect.stringContaining("sandgate.yaml:21:7: there must be either a key or a token"),
    ]);
  });

  test("refuses credentials, origins and workspaces without sessions", async () => {
    const folder = await createFolder({
      ...FILES,
      "sandgate.yaml": `${TOOLS}server: { origins: [], workspaces: [code], credentials: [] }\n`,
    });
    const { stderr } = await sandgate(["check", "--config", join(folder, "sandgate.yaml")]);
    expect(stderr.match(/needs 'sessions: true' beside it/g)).toHaveLength(3);
  });

  test("does not start on a store that it cannot open", async () => {
    const folder = await createFolder(FILES);
    await writeFile(join(folder, "state/sessions.db"), "this is not a database");
    await expect(serve(folder)).rejects.toThrow("cannot open the sessions");
  });
});
