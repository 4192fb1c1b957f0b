import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { formatLock, pinned } from "../../../../src/pins/lock-file.ts";
import { createFolder, type Outcome, sandgate } from "../../sandgate.ts";

/** A server that cannot be started: the commands must do with what the lock says of its tools. */
const CONFIG = `
mcp:
  servers:
    files: { command: /does/not/exist }
  classes: { mcp_files_read: read }
policy:
  rules:
    - { name: secrets, tools: [mcp_files_read], when: { /path: { glob: "secret/**" } }, effect: deny }
    - { name: reading, tools: ["mcp_*"], sideEffects: [read], effect: allow, sandboxes: [remote] }
    - { name: resources, tools: [resources/read], when: { /uri: { prefix: "file:" } }, effect: allow, sandboxes: [host] }
  invariants:
    - { name: only reading, never: { tools: ["mcp_*"], sideEffects: [write, execute, destructive] } }
    - { name: no allowed reading, never: { tools: [mcp_files_read] } }
`;

const definition = {
  name: "mcp_files_read",
  description: "Reads a file.",
  sideEffects: "destructive",
  tags: ["mcp"],
  inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  implementations: { remote: { mcp: { server: "files", serverName: "files", tool: "read" } } },
};
const LOCK = formatLock({
  tools: new Map([["mcp_files_read", pinned(definition)]]),
  servers: new Map(),
});

let folder: string;

beforeEach(async () => {
  folder = await createFolder({ "sandgate.yaml": CONFIG, "sandgate.lock": LOCK });
});

async function run(...command: readonly string[]): Promise<Outcome> {
  const outcome = await sandgate([...command, "--config", join(folder, "sandgate.yaml")]);
  return { ...outcome, stderr: outcome.stderr.replaceAll(`${folder}/`, "") };
}

describe("the tools of MCP servers are those of the lock, and no server is started, for", () => {
  test("sandgate policy prove", async () => {
    const { code, stdout, stderr } = await run("policy", "prove");
    expect(stderr).toBe("");
    expect(stdout).toContain("does not hold: 'no allowed reading'");
    expect(stdout).not.toContain("of no registered tool: it says nothing\ndoes not hold: 'only reading'");
    expect(code).toBe(1);
  });

  test("sandgate policy explain", async () => {
    const proved = CONFIG.slice(0, CONFIG.indexOf("  invariants:"));
    await writeFile(join(folder, "sandgate.yaml"), proved);
    const explain = (call: object): Promise<Outcome> =>
      run("policy", "explain", "--call", JSON.stringify(call));
    const allowed = await explain({ tool: "mcp_files_read", arguments: { path: "open" } });
    expect([allowed.code, allowed.stderr]).toEqual([0, ""]);
    expect(allowed.stdout).toContain("allow");
    const denied = await explain({ tool: "mcp_files_read", arguments: { path: "secret/key" } });
    expect(denied.stdout).toContain("'secrets' denies this call");
    const unfit = await explain({ tool: "mcp_files_read", arguments: {} });
    expect([unfit.code, unfit.stderr.includes("path")]).toEqual([2, true]);
    const resource = await explain({ tool: "resources/read", arguments: { uri: "file:///a" } });
    expect([resource.code, resource.stdout.includes("allow")]).toEqual([0, true]);
  });

  test("sandgate policy test", async () => {
    const cases = `
- { call: { tool: mcp_files_read, arguments: { path: open } }, expect: allow }
- { call: { tool: mcp_files_read, arguments: { path: secret/key } }, expect: deny }
- { call: { tool: resources/read, arguments: { uri: "file:///a" } }, expect: allow }
- { call: { tool: prompts/get, arguments: { name: a, arguments: {} } }, expect: deny }
`;
    await writeFile(join(folder, "sandgate.yaml"), CONFIG.slice(0, CONFIG.indexOf("  invariants:")));
    await writeFile(join(folder, "sandgate.policy-test.yaml"), cases);
    const { code, stdout } = await run("policy", "test");
    expect([code, stdout]).toEqual([0, "4 cases are decided as expected\n"]);
  });
});

test("a server that the lock does not know is started, and one that cannot be is an error", async () => {
  await writeFile(
    join(folder, "sandgate.yaml"),
    CONFIG.replace("    files: {", "    other: { command: /does/not/exist }\n    files: {"),
  );
  const { code, stderr } = await run("policy", "prove");
  expect(code).toBe(2);
  expect(stderr).toContain("sandgate.yaml:4:5:");
});
