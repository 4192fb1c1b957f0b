import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { SqliteSuspensionStore } from "../../../../src/programs/stores/sqlite-store.ts";
import { SqliteSessionStore } from "../../../../src/sessions/store/sqlite-store.ts";
import { createFolder, type Outcome, sandgate } from "../../sandgate.ts";
import { start } from "../../serve.ts";

const backup = (...argv: string[]): Promise<Outcome> => sandgate(["store", "backup", ...argv]);

const SERVED = {
  "sandgate.yaml": `
tools: [{ name: add, description: Adds, inputSchema: { type: object }, quickjs: { source: "export default () => 1" } }]
policy: { rules: [] }
sessions: { programs: { keys: keys } }
server:
  sessions: true
  credentials: [{ id: agent, token: { file: token }, roles: [caller] }]
`,
  keys: `k1 ${"a1".repeat(32)}\n`,
  token: "the-token-of-the-agent-of-this-test\n",
};

describe("sandgate store backup, while a server has the store open", () => {
  test("copies its sessions and its programs, for their owner alone, into files that open", async () => {
    const folder = await createFolder(SERVED);
    chmodSync(join(folder, "keys"), 0o600);
    const { address } = await start(folder);
    const headers = { authorization: `Bearer ${SERVED.token.trim()}`, "content-type": "application/json" };
    const opened = await fetch(`http://${address}/v1/sessions`, { method: "POST", headers, body: "{}" });
    const { id } = (await opened.json()) as { id: string };
    const [sessions, programs] = [join(folder, "sessions.copy"), join(folder, "programs.copy")];
    expect(await backup(join(folder, "sandgate-sessions.db"), sessions)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^copied the store of sessions .* \(\d+ bytes\)\n$/),
    });
    expect((await backup(join(folder, "sandgate-programs.db"), programs)).code).toBe(0);
    for (const file of [sessions, programs]) expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).filter((name) => /copy.|backup/.test(name))).toEqual([]);
    const copy = new SqliteSessionStore(sessions);
    expect(await copy.sessions()).toMatchObject([{ id }]);
    copy.close();
    new SqliteSuspensionStore(programs).close();
    // The server goes on.
    const second = await fetch(`http://${address}/v1/sessions`, { method: "POST", headers, body: "{}" });
    expect(second.status).toBe(201);
  });

  test("has all that was written before it began, and nothing in part, however much is written", async () => {
    const folder = await createFolder({});
    const store = join(folder, "sessions.db");
    const writer = spawn(process.execPath, [join(import.meta.dirname, "writer.ts"), store], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void writer.kill("SIGKILL"));
    const lines = createInterface({ input: writer.stdout });
    let written = 0;
    lines.on("line", (line) => {
      written = Number(line);
    });
    for (const number of [1, 2, 3, 4, 5, 6]) {
      const before = written + 50;
      while (written < before) await new Promise((resolve) => lines.once("line", resolve));
      const target = join(folder, `copy-${number}`);
      expect(await backup(store, target)).toMatchObject({ code: 0, stderr: "" });
      const copy = new SqliteSessionStore(target);
      const ids = (await copy.sessions()).map(({ id }) => id);
      copy.close();
      expect(ids).toEqual(ids.map((_, index) => `s${index}`));
      expect(ids.length).toBeGreaterThanOrEqual(before);
    }
  });
});

test("A store that no server has open is copied, also one whose server was killed", async () => {
  const folder = await createFolder({});
  const store = join(folder, "sessions.db");
  const writer = spawn(process.execPath, [join(import.meta.dirname, "writer.ts"), store], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let written = 0;
  for await (const _ of createInterface({ input: writer.stdout })) {
    written++;
    // In the middle of the second log.
    if (written === 150) writer.kill("SIGKILL");
  }
  expect(written).toBeGreaterThanOrEqual(150);
  expect((await backup(store, join(folder, "copy"))).code).toBe(0);
  const copy = new SqliteSessionStore(join(folder, "copy"));
  expect((await copy.sessions()).length).toBeGreaterThanOrEqual(written);
  copy.close();
  // The original was not changed.
  new SqliteSessionStore(store).close();
  expect((await backup(store, join(folder, "second"))).code).toBe(0);
});

describe("sandgate store backup refuses, and writes nothing for,", () => {
  test("what is not a store", async () => {
    const folder = await createFolder({
      "text.db": "no database at all, whatever its name says".repeat(100),
      empty: "",
    });
    const other = new DatabaseSync(join(folder, "other.db"));
    other.exec("CREATE TABLE notes (text)");
    other.close();
    mkdirSync(join(folder, "folder"));
    const before = readdirSync(folder);
    for (const [name, problem] of [
      ["text.db", "file is not a database"],
      ["empty", "not a store of sessions or programs"],
      ["other.db", "not a store of sessions or programs"],
      ["folder", "it is not a file"],
      ["missing", "ENOENT"],
    ] as const) {
      const { code, stderr } = await backup(join(folder, name), join(folder, "copy"));
      expect({ name, code }).toEqual({ name, code: 2 });
      expect(stderr).toContain(problem);
    }
    expect(readdirSync(folder)).toEqual(before);
  });

  test("a store in a newer format", async () => {
    const folder = await createFolder({});
    for (const [name, Store] of [
      ["sessions.db", SqliteSessionStore],
      ["programs.db", SqliteSuspensionStore],
    ] as const) {
      new Store(join(folder, name)).close();
      const database = new DatabaseSync(join(folder, name));
      database.exec("PRAGMA user_version = 1000");
      database.close();
      const { code, stderr } = await backup(join(folder, name), join(folder, "copy"));
      expect(code).toBe(2);
      expect(stderr).toContain("has format 1000");
      expect(existsSync(join(folder, "copy"))).toBe(false);
    }
  });

  test("a target that exists, or that belongs to a store", async () => {
    const folder = await createFolder({ "other.txt": "other", "logged-wal": "the log of another database" });
    const store = join(folder, "sessions.db");
    new SqliteSessionStore(store).close();
    symlinkSync("nowhere", join(folder, "dangling"));
    symlinkSync("sessions.db", join(folder, "link"));
    symlinkSync(folder, join(folder, "here"));
    linkSync(join(folder, "other.txt"), join(folder, "other-link"));
    const stored = readFileSync(store);
    const before = readdirSync(folder);
    for (const [target, problem] of [
      ["other.txt", "exists, and is not overwritten"],
      ["other-link", "exists, and is not overwritten"],
      ["dangling", "exists, and is not overwritten"],
      ["link", "exists, and is not overwritten"],
      ["logged", "logged-wal' exists, and is not overwritten"],
      ["sessions.db", "belongs to the store itself"],
      ["sessions.db-wal", "belongs to the store itself"],
      ["here/sessions.db-shm", "belongs to the store itself"],
      ["missing/copy", "cannot write to"],
    ] as const) {
      const { code, stderr } = await backup(store, join(folder, target));
      expect({ target, code }).toEqual({ target, code: 2 });
      expect(stderr).toContain(problem);
    }
    expect(readdirSync(folder)).toEqual(before);
    expect(readFileSync(store)).toEqual(stored);
    expect(readFileSync(join(folder, "other.txt"), "utf8")).toBe("other");
  });

  test("a store that is corrupt", async () => {
    const folder = await createFolder({});
    const store = join(folder, "sessions.db");
    new SqliteSessionStore(store).close();
    const bytes = readFileSync(store);
    writeFileSync(store, bytes.fill(0xff, 4_096, 12_288));
    const { code, stderr } = await backup(store, join(folder, "copy"));
    expect(code).toBe(2);
    expect(stderr).toMatch(/corrupt|malformed/);
    expect(existsSync(join(folder, "copy"))).toBe(false);
  });
});
