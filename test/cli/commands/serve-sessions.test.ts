import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough, Readable } from "node:stream";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { run } from "../../../src/cli/run.ts";
import { type ListedConfirmation, refusalOf, TestClient } from "../../server/harness.ts";
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

interface ServedFolder {
  readonly address: string;
  end(): Promise<number>;
  /** Replaces a file, has the server reload its config, and returns what the log says of it. */
  reload(file: string, text: string): Promise<string>;
  /** The entries of the log that {@link reload} has read. */
  log(): readonly Record<string, unknown>[];
}

/** Serves a folder in this process. */
async function serve(folder: string): Promise<ServedFolder> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const interruption = new AbortController();
  const code = run(["serve", "--config", join(folder, "sandgate.yaml")], {
    stdin: Readable.from([]),
    stdout,
    stderr,
    signal: interruption.signal,
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
  const read: Record<string, unknown>[] = [];
  const lines = createInterface(stderr)[Symbol.asyncIterator]();
  const reload = async (file: string, text: string): Promise<string> => {
    await writeFile(join(folder, file), text);
    process.emit("SIGHUP");
    for (;;) {
      const { value = "" } = await lines.next();
      read.push(JSON.parse(value) as Record<string, unknown>);
      if (value.includes("config.re")) return value;
    }
  };
  return { address, end, reload, log: () => read };
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
    const [asked] = (await new TestClient(before, token).confirmations()) as readonly [ListedConfirmation];
    expect(await before.end()).toBe(0);
    const after = await serve(folder);
    const ann = new TestClient(after, token);
    expect(await ann.confirmations()).toEqual([asked]);
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
    await vi.waitUntil(() => existsSync(written), { timeout: 20_000 });
    const told = JSON.parse(readFileSync(written, "utf8"));
    const confirmation = {
      requestId: expect.any(String),
      sessionId,
      toolName: "write_note",
      sideEffects: "write",
    };
    expect(told).toEqual({ confirmations: [confirmation] });
  });

  test("writes results for a provider within the budget of the config", async () => {
    const budget = "\nresultBudget: { chars: 200 }\n";
    const config = FILES["sandgate.yaml"].replace("write\n", "none\n").replace("mode: manual, ", "");
    const folder = await createFolder({ ...FILES, "sandgate.yaml": config + budget });
    const agent = new TestClient(await serve(folder), { token: "the-token-of-the-agent" });
    const session = await agent.open();
    const text = "a".repeat(10_000);
    const { turnId } = await agent.dispatch(session, [{ id: "c1", name: "write_note", arguments: { text } }]);
    expect(await agent.executions(session, turnId)).toMatchObject([{ output: { text } }]);
    const path = `/v1/sessions/${session}/turns/${turnId}?format=openai`;
    const { messages } = await agent.json<{ messages: { results: { content: string }[] }[] }>("GET", path);
    expect(messages[0]?.results[0]?.content).toMatch(/^.{50,190}\n\[… [\d,]+ characters left out …\]\n.+$/s);
    expect(messages[0]?.results[0]?.content.length).toBeLessThanOrEqual(200);
  });

  test("closes the events of a person whose credential a reload removes", async () => {
    const folder = await createFolder(FILES);
    const served = await serve(folder);
    const agent = new TestClient(served, { token: "the-token-of-the-agent" });
    const session = await agent.open();
    const ann = new TestClient(served, { token: "the-token-of-ann-the-person" });
    const [mine, anns] = [agent, ann].map((client) => client.events(`/v1/sessions/${session}/events`));
    expect([await mine?.opened, await anns?.opened]).toEqual([200, 200]);
    const [before = ""] = FILES["sandgate.yaml"].split("    - { id: ann");
    expect(await served.reload("sandgate.yaml", before)).toContain("config.reloaded");
    await anns?.ended;
    await agent.dispatch(session, [{ id: "c1", name: "write_note", arguments: {} }]);
    await mine?.next("tool.confirmation_requested");
    expect(anns?.received).toEqual([]);
  });

  test("takes the policy of an admin until the next reload, and logs who pauses and replaces it", async () => {
    const admin = "    - { id: olga, token: { file: olga.token }, roles: [admin] }\n";
    const config = FILES["sandgate.yaml"].replace("mode: manual, ", "tools: { write_note: auto }, ") + admin;
    const folder = await createFolder({
      ...FILES,
      "sandgate.yaml": config,
      "olga.token": "the-token-of-olga-the-admin",
    });
    const served = await serve(folder);
    const olga = new TestClient(served, { token: "the-token-of-olga-the-admin" });
    const agent = new TestClient(served, { token: "the-token-of-the-agent" });
    const session = await agent.open();
    const run = async (): Promise<unknown> => {
      const { turnId } = await agent.dispatch(session, [{ id: "c1", name: "write_note", arguments: {} }]);
      return (await agent.executions(session, turnId))[0]?.error?.code;
    };
    const body = "rules: []";
    const headers = { "content-type": "application/yaml", "content-length": String(body.length) };
    const answer = await olga.send("PUT", "/v1/policy", undefined, { body, headers });
    const { revision } = JSON.parse(answer.text) as { revision: string };
    expect(await run()).toBe("permission_denied");
    await olga.json("POST", "/v1/pause");
    await olga.json("POST", "/v1/resume");
    expect(await served.reload("sandgate.yaml", config)).toContain("config.reloaded");
    expect(await run()).toBeUndefined();
    expect(await served.end()).toBe(0);
    const told = served
      .log()
      .filter(({ event }) => /^(policy|server)\.(replaced|paused|resumed)/.test(String(event)));
    expect(told).toMatchObject([
      { level: "info", event: "policy.replaced", principal: "olga", policyRevision: revision },
      { level: "warn", event: "server.paused", principal: "olga" },
      { level: "info", event: "server.resumed", principal: "olga" },
    ]);
  });

  test("replaces the modes of the config by a reload, also for sessions that are in one, unless theirs is gone", async () => {
    const withModes = (modes: string): string =>
      FILES["sandgate.yaml"].replace("mode: manual,", `mode: careful, modes: ${modes},`);
    const first = withModes("{ careful: { base: manual } }");
    const served = await serve(await createFolder({ ...FILES, "sandgate.yaml": first }));
    const agent = new TestClient(served, { token: "the-token-of-the-agent" });
    const session = await agent.open();
    const events = agent.events(`/v1/sessions/${session}/events`);
    await events.opened;
    const second = withModes("{ careful: { base: manual, tools: { write_note: deny } } }");
    expect(await served.reload("sandgate.yaml", second)).toContain("config.reloaded");
    expect(await events.next("session.mode_changed")).toMatchObject({ mode: "careful" });
    const { turnId } = await agent.dispatch(session, [{ id: "c1", name: "write_note", arguments: {} }]);
    expect(await agent.executions(session, turnId)).toMatchObject([{ error: { code: "permission_denied" } }]);
    const without = FILES["sandgate.yaml"];
    expect(await served.reload("sandgate.yaml", without)).toMatch(/config\.refused.*the mode must be one of/);
    expect(await agent.json("GET", `/v1/sessions/${session}`)).toMatchObject({ mode: "careful" });
  });

  test("refuses a reload that switches the sessions off, and goes on with them", async () => {
    const folder = await createFolder(FILES);
    const served = await serve(folder);
    const [before = ""] = FILES["sandgate.yaml"].split("server:");
    expect(await served.reload("sandgate.yaml", `${before}server: { listen: "127.0.0.1:0" }\n`)).toMatch(
      /config\.refused.*sandgate\.yaml:\d+:\d+: a reload cannot switch the sessions on or off: restart the server/,
    );
    const agent = new TestClient(served, { token: "the-token-of-the-agent" });
    expect(await agent.open()).not.toBe("");
    expect(await served.reload("sandgate.yaml", FILES["sandgate.yaml"])).toContain("config.reloaded");
  });

  test("says that a reload does not switch the console on, and goes on without it", async () => {
    const served = await serve(await createFolder(FILES));
    const withConsole = FILES["sandgate.yaml"].replace("server:\n", "server:\n  console: true\n");
    expect(withConsole).not.toBe(FILES["sandgate.yaml"]);
    expect(await served.reload("sandgate.yaml", withConsole)).toContain("config.reloaded");
    expect(served.log()).toContainEqual(
      expect.objectContaining({
        level: "warn",
        event: "config.warning",
        line: expect.any(Number),
        message: "a reload cannot switch the console on or off: restart the server",
      }),
    );
  });

  test("warns of what a reload does not change, and changes the level of its log", async () => {
    const served = await serve(await createFolder(FILES));
    const agent = new TestClient(served, { token: "the-token-of-the-agent" });
    const changed = FILES["sandgate.yaml"]
      .replace("server:\n", "server:\n  limits: { inFlight: 7 }\n")
      .concat("log: { level: error }\ntimeouts: { quick: 5s, slow: 1min }\n");
    expect(await served.reload("sandgate.yaml", FILES["sandgate.yaml"])).toContain("config.reloaded");
    expect(served.log()).not.toContainEqual(expect.objectContaining({ event: "config.warning" }));
    const reloaded = await served.reload("sandgate.yaml", `${changed}journal: { directory: records }\n`);
    expect(reloaded).toContain("config.reloaded");
    const warnings = served.log().filter(({ event }) => event === "config.warning");
    expect(warnings.map(({ message }) => message)).toEqual(
      ["journal", "timeouts", "server.limits"].map((entry) =>
        expect.stringContaining(`a reload does not change '${entry}': restart the server`),
      ),
    );
    // The call is not logged: the next entry is that of a reload, which takes the level back.
    const session = await agent.open();
    const { turnId } = await agent.dispatch(session, [{ id: "c1", name: "nothing", arguments: {} }]);
    await agent.executions(session, turnId);
    const before = served.log().length;
    await served.reload("sandgate.yaml", FILES["sandgate.yaml"]);
    expect(served.log().slice(before)).toMatchObject([{ event: "config.reloaded" }]);
  });

  test("shows the calls in its journal to approvers", async () => {
    const journal = "journal: { directory: records }\n";
    const folder = await createFolder({ ...FILES, "sandgate.yaml": TOOLS + SERVER + journal });
    const server = await serve(folder);
    const [agent, ann] = ["the-token-of-the-agent", "the-token-of-ann-the-person"].map(
      (token) => new TestClient(server, { token }),
    ) as [TestClient, TestClient];
    const id = await agent.open();
    await agent.dispatch(id, [{ id: "c", name: "write_note", arguments: { text: "A" } }]);
    const [confirmation] = (await ann.confirmations()) as [ListedConfirmation];
    await ann.answer(confirmation, { decision: "deny" });
    await vi.waitFor(async () => {
      expect(await ann.json("GET", "/v1/journal/calls")).toMatchObject({
        calls: [{ callId: "c", toolName: "write_note", sessionId: id, state: "denied" }],
      });
    });
    expect(await ann.json("GET", "/v1/journal")).toMatchObject({ health: "healthy", entries: 2 });
    expect(await server.end()).toBe(0);
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
    - { id: e, token: { file: ann.token }, roles: [caller, admin] }
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
      expect.stringContaining("sandgate.yaml:21:7: there must be one of key, token and certificate"),
      expect.stringContaining("sandgate.yaml:22:7: a caller must not be an admin"),
    ]);
  });

  test("refuses a console, credentials, origins and workspaces without sessions", async () => {
    const folder = await createFolder({
      ...FILES,
      "sandgate.yaml": `${TOOLS}server: { console: true, origins: [], workspaces: [code], credentials: [] }\n`,
    });
    const { stderr } = await sandgate(["check", "--config", join(folder, "sandgate.yaml")]);
    expect(stderr.match(/needs 'sessions: true' beside it/g)).toHaveLength(4);
  });

  test("does not start on a store that it cannot open", async () => {
    const folder = await createFolder(FILES);
    await writeFile(join(folder, "state/sessions.db"), "this is not a database");
    await expect(serve(folder)).rejects.toThrow("cannot open the sessions");
  });
});
