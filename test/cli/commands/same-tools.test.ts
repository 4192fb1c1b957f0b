import { spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { typedComponent } from "../../fixtures/wasm/typed-component.ts";
import { ISOLATIONS } from "../../sandboxes/process/availability.ts";
import { createFolder, sandgate } from "../sandgate.ts";
import { serve } from "../serve.ts";

const NODE = realpathSync(process.execPath);
const MAIN = fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));
const SERVER = fileURLToPath(new URL("../../fixtures/mcp/hostile-server.mjs", import.meta.url));

const components = await mkdtemp(join(tmpdir(), "sandgate-same-tools-"));
afterAll(() => rm(components, { recursive: true, force: true }));
const HALF = join(components, "half.wasm");
await writeFile(
  HALF,
  await typedComponent(
    "export half: func(n: u32) -> u32;",
    '(func (export "half") (param i32) (result i32) (i32.div_u (local.get 0) (i32.const 2)))',
  ),
);

/** A config with tools from everywhere: its own, of components, of toolsets, of an MCP server, and those that programs call. */
const CONFIG = `
tools:
  - name: upper
    description: Writes in capitals
    inputSchema: { type: object }
    sideEffects: none
    quickjs: { source: "export default () => 1" }
  - name: list
    description: Lists
    inputSchema: { type: object }
    sideEffects: read
    process: { command: ls, input: none, output: text }
  - name: half
    description: Halves a number
    inputSchema: { type: object, required: [n], properties: { n: { type: integer, minimum: 0, maximum: 4294967295 } } }
    sideEffects: none
    wasm: { component: ${HALF}, export: half }
  - name: get_user
    description: Reads a user
    inputSchema: { type: object }
    sideEffects: read
    remote: { http: { method: GET, url: "https://users.example/me" } }
toolsets: [programs, plan]
mcp:
  servers:
    h:
      command: ${NODE}
      args: [${SERVER}, ok]
      fs:
        - { file: ${NODE}, at: ${NODE} }
        - { file: ${SERVER}, at: ${SERVER} }
sandboxes: { process: { isolation: ${ISOLATIONS[0]} } }
agents: { helper: { tools: [upper] } }
server: { token: { file: agent.token } }
policy:
  rules:
    - { tools: ["*"], effect: allow, sandboxes: [quickjs, wasm, process, remote, host], capabilities: { net: ["https://users.example"], tools: [upper] } }
`;
const ARGUMENTS: Readonly<Record<string, object>> = {
  describe_tools: { names: ["upper"] },
  get_user: {},
  half: { n: 4 },
  list: {},
  mcp_h_x: {},
  run_program: { code: "1" },
  search_tools: { query: "case" },
  submit_plan: { plan: "Do it" },
  upper: {},
};
const NAMES = Object.keys(ARGUMENTS);
const INVARIANTS = `  invariants:\n${NAMES.map(
  (name) => `    - { name: "no machine: ${name}", never: { tools: [${name}], sandboxes: [microvm] } }\n`,
).join("")}`;
const FILES = { "sandgate.yaml": CONFIG + INVARIANTS, "agent.token": "a".repeat(20) };

let folder: string;
const run = (command: readonly string[], stdin = "") =>
  sandgate([...command, "--config", join(folder, "sandgate.yaml")], { stdin });

/** Which of all these tools, and of one that is not there, a command knows. */
const LISTS: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  "policy prove": async () => {
    const { stdout } = await run(["policy", "prove"]);
    return NAMES.filter((name) => stdout.includes(`proved: 'no machine: ${name}', of ${name}\n`));
  },
  "policy explain": async () => {
    const known: string[] = [];
    for (const tool of [...NAMES, "other"]) {
      const call = JSON.stringify({ tool, arguments: ARGUMENTS[tool] ?? {} });
      const { code } = await run(["policy", "explain", "--call", call]);
      if (code === 0) known.push(tool);
    }
    return known;
  },
  "policy test": async () => {
    const cases = NAMES.map((tool) => ({ call: { tool, arguments: ARGUMENTS[tool] }, expect: "allow" }));
    await writeFile(join(folder, "sandgate.policy-test.yaml"), JSON.stringify(cases));
    const { stdout } = await run(["policy", "test"]);
    return stdout === `${NAMES.length} cases are decided as expected\n` ? NAMES : [stdout];
  },
  serve: async () => {
    const lock = join(folder, "sandgate.lock");
    const { address, end } = await serve({
      ...FILES,
      ...(existsSync(lock) && { "sandgate.lock": await readFile(lock, "utf8") }),
    });
    const headers = { authorization: `Bearer ${FILES["agent.token"]}` };
    const response = await fetch(`http://${address}/v1/tools`, { headers });
    const { tools } = (await response.json()) as { readonly tools: readonly { readonly name: string }[] };
    await end();
    return tools.map(({ name }) => name);
  },
  "mcp serve": async () => {
    const initialize = {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "t", version: "1" },
    };
    const requests = [
      { jsonrpc: "2.0", id: 1, method: "initialize", params: initialize },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 2, method: "tools/list" },
    ];
    const argv = [MAIN, "mcp", "serve", "--config", join(folder, "sandgate.yaml")];
    const child = spawn(process.execPath, argv, { stdio: ["pipe", "pipe", "ignore"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    child.stdin.write(requests.map((each) => `${JSON.stringify(each)}\n`).join(""));
    for await (const line of createInterface(child.stdout)) {
      const { id, result } = JSON.parse(line);
      if (id === 2) return result.tools.map(({ name }: { readonly name: string }) => name);
    }
    return [];
  },
};

describe.skipIf(ISOLATIONS.length === 0).each([["without a lock"], ["with a lock"]])("%s", (which) => {
  beforeEach(async () => {
    folder = await createFolder(FILES);
    if (which === "with a lock") expect((await run(["mcp", "pin", "--yes"])).code).toBe(0);
  });

  test("sandgate check counts all tools", async () => {
    const { stdout, stderr } = await run(["check", "--json"]);
    expect(JSON.parse(stdout), stderr).toMatchObject({ tools: NAMES.length, errors: 0 });
  });

  test.each(Object.keys(LISTS))("sandgate %s knows all tools, and no other", async (command) => {
    const names = await LISTS[command]?.();
    expect(names?.toSorted()).toEqual(NAMES);
  });
});

test.skipIf(ISOLATIONS.length === 0)(
  "sandgate check knows the tools of a lock whose server cannot be reached",
  async () => {
    folder = await createFolder(FILES);
    expect((await run(["mcp", "pin", "--yes"])).code).toBe(0);
    const rule = "    - { tools: [mcp_h_x, mcp_h_z], effect: deny }\n";
    const away = (CONFIG + rule + INVARIANTS).replace(`args: [${SERVER}, ok]`, "args: [/no/such/file]");
    await writeFile(join(folder, "sandgate.yaml"), away);
    const { problems, tools } = JSON.parse((await run(["check", "--json"])).stdout) as {
      readonly tools: number;
      readonly problems: readonly { readonly severity: string; readonly message: string }[];
    };
    const messages = problems.map(({ message }) => message).join("\n");
    expect(problems.filter(({ severity }) => severity === "error")).toHaveLength(1);
    expect(messages).not.toContain("'mcp_h_x' matches no registered tool");
    expect(messages).toContain("'mcp_h_z' matches no registered tool");
    expect(tools).toBe(NAMES.length);
  },
);
