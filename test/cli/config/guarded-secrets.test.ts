import { realpathSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { guardedFiles } from "../../../src/base/guarded-files.ts";
import { unavailable } from "../../sandboxes/process/availability.ts";
import { createFolder, sandgate } from "../sandgate.ts";

const NODE = realpathSync(process.execPath);

/** A server of MCP whose only tool says in its description which files it could read when it was started. */
const LOOKING = `
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const found = readdirSync("/all", { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ parentPath, name }) => parentPath.replace("/all", ".") + "/" + name)
  .filter((path) => {
    try {
      return readFileSync("/all/" + path, "utf8") !== "";
    } catch {
      return false;
    }
  });
const tool = { name: "look", description: found.join(" "), inputSchema: { type: "object" } };
const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "looking", version: "1" },
  }),
  "tools/list": () => ({ tools: [tool] }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = results[method]?.(params);
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error: { code: -32601, message: "no" } }) }));
}
`;

const SECRETS = {
  "agent.token": "token-of-the-agent",
  "person.token": "token-of-the-person",
  "hook.url": "https://hooks.example.com/secret",
  "sessions.db": "rows of sessions",
  "sessions.db-wal": "new rows of sessions",
  "programs.db": "rows of programs",
  "programs.keys": "keys of programs",
};

/** What tools may read. */
const OPEN = {
  "notes/a.md": "what anyone may read",
  "rules/policy.yaml":
    "rules: [{ tools: [read_file], effect: allow, sandboxes: [host], capabilities: { fs: [{ directory: .. }] } }]",
};

const SERVER = `
server:
  listen: unix:server.sock
  sessions: true
  credentials:
    - { id: agent, token: { file: agent.token }, roles: [caller] }
    - { id: person, token: { file: person.token }, roles: [approver] }
sessions: { store: sessions.db, programs: { store: programs.db, keys: programs.keys } }
confirmations:
  notify: { slack: { url: { file: hook.url } } }
`;

function mcp(fs: string): string {
  return `
mcp:
  servers:
    looking:
      command: ${NODE}
      args: [/server.mjs]
      fs: [{ file: ${NODE}, at: ${NODE} }, { file: looking.mjs, at: /server.mjs }, ${fs}]
sandboxes: { process: { isolation: namespaces } }
policy: rules/policy.yaml
toolsets: [fs]
`;
}

describe("Secrets that a config names", () => {
  test("can be read by no tool, whichever command runs it", async () => {
    const folder = await createFolder({
      ...SECRETS,
      ...OPEN,
      "sandgate.yaml": `toolsets: [fs]\npolicy: rules/policy.yaml\n${SERVER}`,
    });
    const paths = ["notes/a.md", ...Object.keys(SECRETS)];
    const calls = paths.map((path) => ({
      id: path,
      type: "function",
      function: { name: "read_file", arguments: JSON.stringify({ path }) },
    }));
    const { stdout, stderr } = await sandgate(["dispatch", "-", "--config", join(folder, "sandgate.yaml")], {
      stdin: JSON.stringify({ role: "assistant", content: null, tool_calls: calls }),
    });
    const read = Object.entries({ ...SECRETS, ...OPEN }).filter(([, text]) => stdout.includes(text));
    expect(
      read.map(([path]) => path),
      stderr,
    ).toEqual(["notes/a.md"]);
    // A server that runs can be reached there, perhaps without a credential.
    const socket = join(folder, "server.sock");
    expect(guardedFiles().filter(({ path }) => path === socket)).toEqual([{ path: socket }]);
  });

  test.skipIf(unavailable !== undefined)(
    "are hidden from servers of MCP before these are started",
    async () => {
      const folder = await createFolder({
        ...SECRETS,
        ...OPEN,
        "looking.mjs": LOOKING,
        "sandgate.yaml": mcp("{ directory: ., at: /all }") + SERVER,
      });
      const config = join(folder, "sandgate.yaml");
      const pinned = await sandgate(["mcp", "pin", "--yes", "--config", config]);
      expect(pinned.code, pinned.stderr).toBe(0);
      const lock = await readFile(join(folder, "sandgate.lock"), "utf8");
      expect(lock).toContain("./notes/a.md");
      expect(Object.keys(SECRETS).filter((name) => lock.includes(`./${name}`))).toEqual([]);
    },
  );

  test.skipIf(unavailable !== undefined)(
    "nor can such a server change a policy before it is read",
    async () => {
      const folder = await createFolder({
        ...SECRETS,
        ...OPEN,
        "looking.mjs": LOOKING,
        "sandgate.yaml": mcp("{ directory: rules, at: /all, write: true }") + SERVER,
      });
      const { stderr } = await sandgate(["check", "--config", join(folder, "sandgate.yaml")]);
      expect(stderr).toMatch(/the server cannot be connected to: .*policy\.yaml/);
    },
  );
});
