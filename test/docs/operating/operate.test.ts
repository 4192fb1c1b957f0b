import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { SqliteSessionStore } from "../../../src/sessions/store/sqlite-store.ts";
import { createFolder, sandgate } from "../../cli/sandgate.ts";
import { type ListedConfirmation, TestClient } from "../../server/harness.ts";

const FOLDER = "docs/operate";

/** The text of a page, or of one of its sections. */
function textOf(page: string, heading?: string): string {
  const text = readFileSync(join(FOLDER, page), "utf8");
  if (heading === undefined) return text;
  const [, section] = text.split(`\n## ${heading}\n`);
  return section?.split("\n## ", 1).join() ?? "";
}

/** The lines of the blocks in a language. Default: of the commands. */
function blocksOf(text: string, language = "sh"): readonly string[] {
  return Array.from(text.matchAll(/^ *```([^\n]+)\n(.*?)^ *```$/gms)).flatMap(([, name, body = ""]) =>
    name === language ? body.trimEnd().split("\n") : [],
  );
}

const TOKENS = {
  agent: "the-token-of-the-agent-at-first",
  ann: "the-token-of-ann-the-approver",
  admin: "the-token-of-the-administrator",
} as const;

const CONFIG = `
tools:
  - name: write_note
    description: Writes a note
    inputSchema: { type: object }
    sideEffects: write
    quickjs: { source: "export default () => 'written'" }
  - name: count
    description: Counts to one
    inputSchema: { type: object }
    sideEffects: none
    quickjs: { source: "export default () => 1" }
policy:
  rules:
    - { name: notes, tools: [write_note], effect: allow, sandboxes: [quickjs] }
    - { name: counts, tools: [count], effect: allow, sandboxes: [quickjs] }
confirmations: { mode: cautious }
server:
  listen: 127.0.0.1:0
  sessions: true
  credentials:
    - { id: agent, token: { file: agent.token }, roles: [caller] }
    - { id: ann, token: { file: ann.token }, roles: [approver], approves: [agent] }
    - { id: admin, token: { file: admin.token }, roles: [admin] }
`;

/** A machine that the procedures are carried out on: folders in place of those of the document, and a server as its unit. */
class Machine {
  readonly folder: string;
  readonly variables: Record<string, string> = { ADMIN_TOKEN: TOKENS.admin, APPROVER_TOKEN: TOKENS.ann };
  address = "";
  #server: ChildProcess | undefined;
  #log: Interface | undefined;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Puts the folders and addresses of this machine in the place of those of the document. */
  here(text: string): string {
    return text
      .replace(/\/(?=(etc|var\/lib)\/sandgate|backup\/|archive\/)/g, `${this.folder}/`)
      .replaceAll("https://sandgate.example.com", `http://${this.address}`)
      .replaceAll("2026-07-01T00:00:00Z", "2100-01-01T00:00:00Z");
  }

  /** Runs the commands of a section. Returns what they print. */
  async run(lines: readonly string[]): Promise<string> {
    const printed: string[] = [];
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) printed.push(await this.#run(this.here(line.trim())));
    return printed.join("\n");
  }

  async #run(line: string): Promise<string> {
    const [program, ...words] = line
      .replaceAll(/\$(\w+)/g, (_, name: string) => this.variables[name] ?? "")
      .split(/ +/);
    if (program === "systemctl") {
      await this.control(words[0] ?? "");
      return "";
    }
    if (program === "sandgate") {
      const { code, stdout, stderr } = await sandgate(words);
      expect({ line, code, stderr: code === 0 ? "" : stderr }).toEqual({ line, code: 0, stderr: "" });
      return stdout;
    }
    const { status, stdout, stderr } = spawnSync("bash", ["-c", line], {
      encoding: "utf8",
      env: { ...process.env, ...this.variables },
    });
    expect({ line, status, stderr: status === 0 ? "" : stderr }).toEqual({ line, status: 0, stderr: "" });
    return stdout;
  }

  /** Does what systemd does with the unit. */
  async control(verb: string): Promise<void> {
    if (verb === "reload") {
      const reloaded = this.#logged("config.reloaded");
      this.#server?.kill("SIGHUP");
      return reloaded;
    }
    expect(["start", "stop", "restart"]).toContain(verb);
    if (verb !== "start" && this.#server) {
      const exit = once(this.#server, "exit");
      this.#server.kill("SIGTERM");
      expect(await exit).toEqual([0, null]);
    }
    if (verb !== "stop") await this.#start();
  }

  async #start(): Promise<void> {
    const config = join(this.folder, "etc/sandgate/sandgate.yaml");
    const program = ["--import", join(this.folder, "clock.mjs"), "src/cli/main.ts"];
    const server = spawn(process.execPath, [...program, "serve", "--config", config], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    onTestFinished(() => void server.kill("SIGKILL"));
    this.#server = server;
    this.#log = createInterface({ input: server.stderr });
    const ended = once(server, "exit").then(([code]) => [`it ended with ${code}`]);
    const [line] = await Promise.race([once(createInterface({ input: server.stdout }), "line"), ended]);
    expect(line).toMatch(/^listening on /);
    this.address = String(line).replace("listening on ", "");
  }

  #logged(event: string): Promise<void> {
    return new Promise((resolve) => {
      this.#log?.on("line", (line) => {
        if (line.includes(`"${event}"`)) resolve();
      });
    });
  }
}

/** Makes the clock of a server wrong by what a file says, in milliseconds. */
const CLOCK = `
import { readFileSync } from "node:fs";
const { now } = Date;
Date.now = () => now() + Number(readFileSync(new URL("clock", import.meta.url), "utf8"));
`;

async function startMachine(): Promise<Machine> {
  const folder = await createFolder({
    "clock.mjs": CLOCK,
    clock: "0",
    "etc/sandgate/agent.token": TOKENS.agent,
    "etc/sandgate/ann.token": TOKENS.ann,
    "etc/sandgate/admin.token": TOKENS.admin,
    "var/lib/sandgate/.empty": "",
    "backup/.empty": "",
    "archive/.empty": "",
  });
  const machine = new Machine(folder);
  const state = machine.here(blocksOf(textOf("state.md"), "yaml").join("\n"));
  // So small that there are several files.
  const config = CONFIG + state.replace("key:", "maxBytes: 1KiB, key:");
  writeFileSync(join(folder, "etc/sandgate/sandgate.yaml"), config);
  const [keygen = ""] = blocksOf(textOf("state.md"));
  await machine.run([keygen]);
  await machine.control("start");
  return machine;
}

const client = (machine: Machine, token: string): TestClient => new TestClient(machine, { token });

/** Has the agent make a call, which ann allows, and the same tool for an hour. Returns the session. */
async function makeCall(machine: Machine, id: string): Promise<string> {
  const agent = client(machine, TOKENS.agent);
  const session = await agent.open();
  const { turnId } = await agent.dispatch(session, [{ id, name: "write_note", arguments: {} }]);
  const ann = client(machine, TOKENS.ann);
  const [asked] = (await ann.confirmations()) as readonly [ListedConfirmation];
  const approval = { tools: ["write_note"], for: 3_600_000, calls: 100 };
  const { status, text } = await ann.answer(asked, { decision: "always", approval });
  expect({ status, refusal: status === 200 ? "" : text }).toEqual({ status: 200, refusal: "" });
  expect(await agent.executions(session, turnId)).toMatchObject([{ success: true }]);
  return session;
}

const sessionsOf = async (machine: Machine): Promise<readonly string[]> => {
  const { sessions } = await client(machine, TOKENS.admin).json<{ sessions: { id: string }[] }>(
    "GET",
    "/v1/sessions",
  );
  return sessions.map(({ id }) => id);
};

test("docs/operate: what is backed up is restored, and the journal says what happened since", async () => {
  const machine = await startMachine();
  const before = await makeCall(machine, "first");
  await machine.run(blocksOf(textOf("backup.md", "Backup")));
  const copy = new SqliteSessionStore(join(machine.folder, "backup/2026-07-01/sandgate-sessions.db"));
  expect((await copy.sessions()).map(({ id }) => id)).toEqual([before]);
  copy.close();
  const after = await makeCall(machine, "second");
  expect((await sessionsOf(machine)).toSorted()).toEqual([before, after].toSorted());
  await machine.run(blocksOf(textOf("backup.md", "Restore")));
  expect(await sessionsOf(machine)).toEqual([before]);
  const shown = await machine.run([`sandgate journal show --directory /var/lib/sandgate/journal second`]);
  expect(shown).toContain(after);
});

test("docs/operate: old records are archived, also in a hurry, and a copy is made before an upgrade", async () => {
  const machine = await startMachine();
  for (const id of ["first", "second", "third"]) await makeCall(machine, id);
  await machine.run(blocksOf(textOf("backup.md", "Retention")));
  expect(readdirSync(join(machine.folder, "archive/2026")).length).toBeGreaterThan(0);
  for (const id of ["fourth", "fifth", "sixth"]) await makeCall(machine, id);
  await machine.run(blocksOf(textOf("trouble.md", "The disk is full")));
  expect(readdirSync(join(machine.folder, "archive/now")).length).toBeGreaterThan(0);
  await machine.run(blocksOf(textOf("backup.md", "Upgrade")));
  expect(existsSync(join(machine.folder, "backup/before-upgrade.db"))).toBe(true);
  expect(await sessionsOf(machine)).toHaveLength(6);
});

test("docs/operate: after an incident, nothing runs until it is understood and taken back", async () => {
  const machine = await startMachine();
  const session = await makeCall(machine, "first");
  Object.assign(machine.variables, { SESSION: session, CALL: "first" });
  const page = textOf("incident.md");
  const lines = blocksOf(page);
  const stricter = blocksOf(page, "yaml file=/etc/sandgate/stricter.yaml").join("\n");
  writeFileSync(join(machine.folder, "etc/sandgate/stricter.yaml"), stricter);
  const resume = lines.findIndex((line) => line.includes("/v1/resume")) - 1;
  const ready = async (): Promise<number> => (await fetch(`http://${machine.address}/readyz`)).status;
  const printed = await machine.run(lines.slice(0, resume));
  expect(printed).toContain("notes");
  expect(printed).toContain("ann");
  expect(printed).toContain('"write_note"');
  expect(printed).toContain("allow → ask: 1 calls");
  expect(await ready()).toBe(503);
  const approvals = `/v1/sessions/${session}/approvals`;
  expect(await client(machine, TOKENS.ann).json("GET", approvals)).toMatchObject({ approvals: [] });
  expect((await client(machine, TOKENS.agent).send("POST", "/v1/sessions", {})).status).toBe(401);
  await machine.run(lines.slice(resume));
  expect(await ready()).toBe(200);
  const token = readFileSync(join(machine.folder, "etc/sandgate/agent.token"), "utf8").trim();
  expect(await client(machine, token).open()).toBeTruthy();
});

test("docs/operate: the calls of a message are measured with the tools of the config", async () => {
  const machine = await startMachine();
  const message = [{ id: "measured", name: "count", arguments: {} }];
  writeFileSync(join(machine.folder, "etc/sandgate/message.json"), JSON.stringify(message));
  expect(await machine.run(blocksOf(textOf("state.md", "Sizing")))).toContain("p99");
});

test("docs/operate: if the clock is set, nothing waits for longer, and the journal stays in order", async () => {
  const machine = await startMachine();
  const setClock = (ms: number): void => writeFileSync(join(machine.folder, "clock"), String(ms));
  const session = await makeCall(machine, "first");
  const [agent, ann] = [client(machine, TOKENS.agent), client(machine, TOKENS.ann)];
  const call = async (id: string): Promise<string> =>
    (await agent.dispatch(session, [{ id, name: "write_note", arguments: {} }])).turnId;
  // Two hours ahead, the approval for an hour has ended, and stays so when the clock is set back.
  setClock(2 * 3_600_000);
  const asked = await call("asked");
  expect(await ann.confirmations()).toMatchObject([{ callId: "asked" }]);
  setClock(0);
  expect(await ann.confirmations()).toMatchObject([{ callId: "asked" }]);
  // Once its time is over, the question ends as soon as anybody looks.
  setClock(4 * 3_600_000);
  expect(await ann.json("GET", "/v1/confirmations")).toEqual({ confirmations: [] });
  expect(await agent.executions(session, asked)).toMatchObject([{ success: false }]);
  setClock(-24 * 3_600_000);
  const again = await call("again");
  const [question] = (await ann.confirmations()) as readonly [ListedConfirmation];
  expect((await ann.answer(question, { decision: "allow" })).status).toBe(200);
  expect(await agent.executions(session, again)).toMatchObject([{ success: true }]);
  await machine.run([
    "sandgate journal verify /var/lib/sandgate/journal --key /etc/sandgate/journal.key.pub",
  ]);
});

test("docs/operate: the stores of a config that names none are in the state directory of the unit", async () => {
  const [, name = ""] = /^StateDirectory=(\w+)$/m.exec(readFileSync("deploy/sandgate.service", "utf8")) ?? [];
  expect(textOf("state.md")).toContain(`\`StateDirectory\` is \`/var/lib/${name}\``);
  const folder = await createFolder({
    "etc/sandgate.yaml": `${CONFIG}\nsessions: { programs: { keys: keys } }\njournal: {}\n`,
    "etc/keys": `k1 ${"a1".repeat(32)}\n`,
    ...Object.fromEntries(Object.entries(TOKENS).map(([id, token]) => [`etc/${id}.token`, token])),
    [`${name}/.empty`]: "",
  });
  chmodSync(join(folder, "etc/keys"), 0o600);
  const server = spawn(
    process.execPath,
    ["src/cli/main.ts", "serve", "--config", join(folder, "etc/sandgate.yaml")],
    {
      stdio: ["ignore", "pipe", "ignore"],
      env: { ...process.env, STATE_DIRECTORY: `${join(folder, name)}:/another` },
    },
  );
  onTestFinished(() => void server.kill("SIGKILL"));
  await once(server.stdout, "data");
  const stores = ["sandgate-programs.db", "sandgate-sessions.db"];
  expect(
    readdirSync(join(folder, name))
      .filter((file) => file.endsWith(".db"))
      .toSorted(),
  ).toEqual(stores);
  expect(existsSync(join(folder, name, "journal/journal-0000000000000001.jsonl"))).toBe(true);
  expect(readdirSync(join(folder, "etc")).filter((file) => /\.db|^journal/.test(file))).toEqual([]);
});
