import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { guardedFiles } from "../../../../src/base/guarded-files.ts";
import { createFolder, sandgate } from "../../sandgate.ts";

const TOOL = `tools:
  - name: add
    description: Adds
    inputSchema: { type: object }
    quickjs: { source: "export default () => 1" }
`;

/** Checks a config in a folder of its own, `FOLDER` in its texts. Returns the warnings about Sandgate's own files. */
async function warnings(
  files: Record<string, string>,
): Promise<{ readonly folder: string; readonly lines: readonly string[] }> {
  const place = realpathSync(await createFolder({}));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(place, name, ".."), { recursive: true });
    writeFileSync(join(place, name), text.replaceAll("FOLDER", place));
  }
  const { stdout } = await sandgate(["check", "--json", "--config", join(place, "sandgate.yaml")]);
  const { problems } = JSON.parse(stdout) as { problems: { message: string; line: number }[] };
  const lines = problems
    .filter(({ message }) => message.includes("covers Sandgate's own files"))
    .map(({ message, line }) => `${line}: ${message.replaceAll(`${place}/`, "")}`);
  return { folder: place, lines };
}

function policy(...grants: readonly string[]): string {
  return `${TOOL}policy:
  rules:
    - tools: [add]
      effect: allow
      sandboxes: [quickjs]
      capabilities:
        fs:
${grants.map((grant, index) => `          - ${grant.replace("{ ", `{ at: /${index}, `)}\n`).join("")}`;
}

describe("sandgate check names those of Sandgate's own files that are covered by", () => {
  test("a grant of a directory or of a file, if it could write them", async () => {
    const { lines } = await warnings({
      "sandgate.yaml": policy(
        "{ directory: FOLDER, write: true }",
        "{ directory: FOLDER }",
        "{ file: FOLDER/sandgate.yaml, write: true }",
        "{ directory: FOLDER/data, write: true }",
        "{ file: { argument: /path }, within: FOLDER, write: true }",
      ),
      "data/a.txt": "",
    });
    expect(lines.map((line) => Number(line.split(":")[0]))).toEqual([13, 14, 15, 17]);
    expect(lines[0]).toContain("'sandgate.yaml'");
    expect(lines[0]).toContain("no tool can change or read");
    expect(lines[2]).toContain("which no tool can change: 'sandgate.yaml'.");
  });

  test("a grant of the workspace, if callers can choose one with such files", async () => {
    const server = (workspaces: string): string => `server:
  sessions: true
  listen: 127.0.0.1:0
  credentials: [{ id: a, roles: [caller], token: { file: secrets/token } }]
  workspaces: [${workspaces}]
`;
    const files = {
      "sandgate.yaml": `${policy("{ workspace: true }", "{ workspace: secrets }", "{ workspace: data, write: true }")}${server("FOLDER")}`,
      "secrets/token": "0123456789abcdef0123456789abcdef0123456789",
    };
    const { lines } = await warnings(files);
    expect(lines.map((line) => Number(line.split(":")[0]))).toEqual([13, 14]);
    expect(lines[0]).toContain("can change or read");
    expect(lines[1]).toContain("'secrets/token'");
    const elsewhere = await warnings({
      ...files,
      "sandgate.yaml": files["sandgate.yaml"].replace("workspaces: [FOLDER]", "workspaces: [FOLDER/work]"),
    });
    expect(elsewhere.lines).toEqual([]);
  });

  test("a grant of the workspace in which tools run programs by relative paths, for writing", async () => {
    const { lines } = await warnings({
      "sandgate.yaml": `tools:
  - name: add
    description: Adds
    inputSchema: { type: object }
    process: { command: sh, args: [scripts/add.sh] }
policy:
  rules:
    - { tools: [add], effect: allow, sandboxes: [process], capabilities: { fs: [{ workspace: true }] } }
    - { tools: [add], effect: allow, sandboxes: [process], capabilities: { fs: [{ workspace: true, write: true }] } }
server:
  sessions: true
  listen: 127.0.0.1:0
  credentials: [{ id: a, roles: [caller], token: { file: token } }]
  workspaces: [work]
`,
      token: "0123456789abcdef0123456789abcdef0123456789",
      "work/scripts/add.sh": "echo 1",
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("'work/scripts/add.sh'");
    expect(lines[0]?.startsWith("9:")).toBe(true);
  });

  test("the folders of an agent and of an MCP server", async () => {
    const { lines } = await warnings({
      "sandgate.yaml": `${policy("{ directory: FOLDER/data }")}agents:
  one: { tools: [add], fs: [{ directory: ., write: true }, { directory: data }, { directory: data, write: true }] }
mcp:
  servers:
    s: { command: server-that-does-not-exist, fs: [{ directory: ., write: true }, { directory: data, at: /d, write: true }] }
`,
      "data/a.txt": "",
    });
    expect(lines).toHaveLength(2);
  });
});

describe("A config guards", () => {
  const guarded = (): readonly string[] => guardedFiles().map(({ path }) => path);

  test("programs that it names, with their arguments and what they import", async () => {
    const { folder } = await warnings({
      "sandgate.yaml": `tools:
  - name: add
    description: Adds
    inputSchema: { type: object }
    host: { module: tools/add.mjs }
policy: policy.yaml
sessions: { store: state/sessions.db }
confirmations: { notify: { command: [FOLDER/bin/notify.sh, FOLDER/bin/notify.json] } }
journal: { directory: journal, anchors: [{ command: [FOLDER/bin/anchor.sh] }] }
mcp:
  servers:
    s: { command: node, args: [server.mjs, /workspace/more.mjs], fs: [{ directory: servers }] }
`,
      "tools/add.mjs": `import { one } from "./lib/one.mjs";\nimport "node:fs"; import used from "used/part"; export default () => one;`,
      "tools/node_modules/used/package.json":
        '{"name":"used","dependencies":{"@a/deep":"1"},"devDependencies":{"unused":"1"}}',
      "tools/node_modules/used/part.js": "export default 1;",
      "node_modules/@a/deep/package.json": '{"name":"@a/deep","dependencies":{"used":"1","absent":"1"}}',
      "node_modules/unused/package.json": '{"name":"unused"}',
      "tools/lib/one.mjs": `export { two as one } from "../two.mjs"; const later = () => import('./three.mjs');`,
      "tools/lib/three.mjs": "",
      "tools/two.mjs": `export const two = 2; import "./missing.mjs";`,
      "bin/notify.sh": "",
      "bin/notify.json": "",
      "bin/anchor.sh": "",
      "servers/server.mjs": `import "./part.mjs";`,
      "servers/part.mjs": "",
      "servers/more.mjs": "",
      "servers/other.mjs": "",
    });
    for (const name of [
      "tools/add.mjs",
      "tools/lib/one.mjs",
      "tools/lib/three.mjs",
      "tools/two.mjs",
      "bin/notify.sh",
      "bin/notify.json",
      "bin/anchor.sh",
      "servers/server.mjs",
      "servers/part.mjs",
      "servers/more.mjs",
      "policy.yaml",
      "sandgate.policy-test.yaml",
      "sandgate.lock",
      "state/sessions.db",
      "tools/node_modules/used",
      "node_modules/@a/deep",
    ])
      expect(guarded(), name).toContain(join(folder, name));
    for (const name of ["servers/other.mjs", "node_modules/unused"])
      expect(guarded(), name).not.toContain(join(folder, name));
  });

  test("the code of Sandgate, with the packages that it uses", async () => {
    await warnings({ "sandgate.yaml": policy("{ directory: FOLDER }") });
    for (const name of ["package.json", "src", "dist", "node_modules/yaml", "node_modules/undici"])
      expect(guarded(), name).toContain(`${realpathSync(".")}/${name}`);
  });

  test("what programs of tools are given, in the directories that a policy grants them", async () => {
    const { folder } = await warnings({
      "sandgate.yaml": `tools:
  - name: count
    description: Counts
    inputSchema: { type: object, properties: { file: { type: string } } }
    process: { command: python3, cwd: bin, args: [count.py, FOLDER/data/rules.json, { argument: /file }] }
policy:
  rules:
    - tools: [count]
      effect: allow
      sandboxes: [process]
      capabilities: { fs: [{ directory: FOLDER/data, at: /data, write: true }] }
`,
      "data/bin/count.py": "",
      "data/count.py": "",
      "data/rules.json": "",
    });
    for (const name of ["data/bin/count.py", "data/rules.json"])
      expect(guarded(), name).toContain(join(folder, name));
    expect(guarded()).not.toContain(join(folder, "data/count.py"));
  });
});
