import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COMMANDS } from "../../src/cli/run.ts";
import { createFolder, type Outcome, sandgate } from "./sandgate.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

const POLICY = "rules:\n  - { name: all, tools: [greet, fail, save], effect: allow, sandboxes: [quickjs] }\n";
const FILES: Record<string, string> = {
  "sandgate.yaml": `
tools:
  - { name: greet, description: Greets, inputSchema: { type: object }, sideEffects: none, quickjs: { file: greet.js } }
  - { name: fail, description: Fails, inputSchema: { type: object }, sideEffects: none, quickjs: { file: fail.js } }
policy: policy.yaml
journal: { directory: records }
`,
  "narrow.yaml": `
tools:
  - { name: greet, description: Greets, inputSchema: { type: object }, sideEffects: none, quickjs: { file: greet.js } }
policy: { rules: [{ tools: [greet], effect: deny }] }
`,
  "unenforced.yaml": `
tools:
  - { name: greet, description: Greets, inputSchema: { type: object }, quickjs: { file: greet.js } }
policy: { rules: [{ tools: [greet], effect: allow, sandboxes: [quickjs], limits: { cpu: 1s } }] }
`,
  "proved.yaml": `
tools:
  - { name: greet, description: Greets, inputSchema: { type: object }, quickjs: { file: greet.js } }
policy: proved-policy.yaml
`,
  "proved-policy.yaml": `
rules: [{ tools: [greet], effect: deny }]
invariants: [{ name: confined, never: { sandboxes: [quickjs] } }]
`,
  "policy.yaml": POLICY,
  "cases.yaml": "- { call: { tool: greet }, expect: allow }\n",
  "other-cases.yaml": "- { call: { tool: greet }, expect: deny }\n",
  "greet.js": "export default () => 'hello';",
  "fail.js": "export default () => { throw new Error('no'); };",
  "calls.json": '[{ "id": "c1", "name": "greet", "arguments": {} }]',
  "broken.json": "[{",
};

/** A line, of which `DIR` is the folder, and its exit code. */
type Case = readonly [code: number, line: string, stdin?: string];

const NO_CASE: Case = [2, ""];

/** For each command: what ends with 0 and with each code of its own, and what is invalid besides its options. */
const CASES: Readonly<Record<string, readonly Case[]>> = {
  init: [
    [0, "init DIR/new"],
    [2, "init DIR"],
  ],
  dispatch: [
    [0, "dispatch DIR/calls.json -c DIR/sandgate.yaml"],
    [0, "dispatch -c DIR/sandgate.yaml", '[{ "id": "c", "name": "fail", "arguments": {} }]'],
    [2, "dispatch DIR/broken.json -c DIR/sandgate.yaml"],
    [2, "dispatch DIR/calls.json -c DIR/missing.yaml"],
  ],
  check: [
    [0, "check -c DIR/sandgate.yaml"],
    [2, "check -c DIR/unenforced.yaml"],
  ],
  bench: [
    [0, "bench DIR/calls.json -c DIR/sandgate.yaml --calls 3 --warm-up 0"],
    [
      1,
      "bench -c DIR/sandgate.yaml --calls 3 --warm-up 0 --max-failed 1%",
      '[{"id":"c","name":"fail","arguments":{}}]',
    ],
    [2, "bench DIR/broken.json -c DIR/sandgate.yaml"],
  ],
  doctor: [
    [0, "doctor"],
    [0, "doctor -c DIR/sandgate.yaml"],
    [1, "doctor -c DIR/unenforced.yaml"],
    [2, "doctor -c DIR/calls.json"],
  ],
  "policy explain": [
    [0, 'policy explain -c DIR/sandgate.yaml --call {"tool":"greet"}'],
    [2, "policy explain -c DIR/sandgate.yaml --call {"],
  ],
  "policy test": [
    [0, "policy test DIR/cases.yaml -c DIR/sandgate.yaml"],
    [1, "policy test DIR/other-cases.yaml -c DIR/sandgate.yaml"],
    [2, "policy test DIR/missing.yaml -c DIR/sandgate.yaml"],
  ],
  "policy diff": [
    [0, "policy diff DIR/sandgate.yaml DIR/narrow.yaml --journal DIR/records"],
    [0, "policy diff DIR/narrow.yaml DIR/sandgate.yaml --journal DIR/records --accept-wider"],
    [3, "policy diff DIR/narrow.yaml DIR/sandgate.yaml --journal DIR/records"],
    [2, "policy diff DIR/missing.yaml DIR/sandgate.yaml --journal DIR/records"],
  ],
  "policy attack": [
    [0, "policy attack -c DIR/sandgate.yaml"],
    [2, "policy attack -c DIR/missing.yaml"],
  ],
  "policy learn": [
    [1, "policy learn --journal DIR/records --out DIR/proposal.yaml"],
    [2, "policy learn --journal DIR/missing --out DIR/proposal.yaml"],
  ],
  "policy prove": [
    [0, "policy prove -c DIR/proved.yaml"],
    [1, "policy prove -c DIR/broken.yaml"],
    [2, "policy prove -c DIR/missing.yaml"],
  ],
  serve: [[2, "serve -c DIR/missing.yaml"]],
  console: [[2, "console -c DIR/missing.yaml"]],
  supervise: [[2, "supervise -c DIR/sandgate.yaml -- true"]],
  confirm: [[2, "confirm not-a-url"]],
  "store backup": [[2, "store backup DIR/missing.db DIR/copy.db"]],
  "programs list": [[2, "programs list -f DIR/missing.db"]],
  "programs show": [[2, "programs show a -f DIR/missing.db"]],
  "programs cancel": [[2, "programs cancel a -f DIR/missing.db"]],
  "journal verify": [
    [0, "journal verify DIR/records"],
    [1, "journal verify DIR/forged"],
    [2, "journal verify DIR/missing"],
  ],
  "journal show": [
    [0, "journal show -d DIR/records"],
    [2, "journal show -d DIR/missing"],
  ],
  "journal tail": [
    [0, "journal tail -d DIR/records"],
    [2, "journal tail -d DIR/missing"],
  ],
  "journal replay": [
    [0, "journal replay -d DIR/records"],
    [2, "journal replay -d DIR/missing"],
  ],
  "journal archive": [
    [0, "journal archive -d DIR/records --to DIR/old --before 2020-01-01"],
    [2, "journal archive -d DIR/missing --to DIR/old --before 2020-01-01"],
  ],
  "journal forget": [
    [1, "journal forget -d DIR/records --session nothing"],
    [2, "journal forget -c DIR/narrow.yaml --session nothing"],
  ],
  "journal keygen": [
    [0, "journal keygen --name example.com/j --out DIR/journal.key"],
    [2, "journal keygen --name example.com/j --out DIR/missing/journal.key"],
  ],
  why: [
    [0, "why c1 -d DIR/records"],
    [1, "why nothing -d DIR/records"],
    [2, "why c1 -d DIR/missing"],
  ],
  "mcp add": [[2, "mcp add notes -c DIR/sandgate.yaml"]],
  "mcp import": [
    [2, "mcp import DIR/missing.json -c DIR/sandgate.yaml"],
    [2, "mcp import DIR/object.json -c DIR/sandgate.yaml"],
  ],
  "mcp install": [
    [0, "mcp install -c DIR/sandgate.yaml"],
    [2, "mcp install -c DIR/missing.yaml"],
  ],
  "mcp update": [
    [2, "mcp update nothing -c DIR/sandgate.yaml"],
    [2, "mcp update nothing -c DIR/missing.yaml"],
  ],
  "mcp pin": [
    [1, "mcp pin -c DIR/sandgate.yaml"],
    [0, "mcp pin --yes -c DIR/sandgate.yaml"],
    [2, "mcp pin -c DIR/missing.yaml"],
  ],
  "mcp diff": [
    [1, "mcp diff -c DIR/sandgate.yaml"],
    [2, "mcp diff -c DIR/missing.yaml"],
  ],
  "mcp serve": [
    [0, "mcp serve -c DIR/sandgate.yaml"],
    [2, "mcp serve -c DIR/missing.yaml"],
  ],
  "mcp login": [[2, "mcp login nothing -c DIR/sandgate.yaml"]],
  "mcp logout": [[2, "mcp logout nothing -c DIR/sandgate.yaml"]],
  "tool run": [
    [0, "tool run DIR/greet.js"],
    [0, "tool run DIR/greet.js --input -", "{}"],
    [0, "tool run DIR/greet.js --input @DIR/object.json"],
    [1, "tool run DIR/fail.js"],
    [2, "tool run DIR/greet.js --input {"],
    [2, "tool run DIR/greet.js --input -", "{"],
    [2, "tool run DIR/greet.js --input @DIR/broken.json"],
    [2, "tool run DIR/greet.js --input @DIR/missing.json"],
    [2, "tool run DIR/missing.js"],
  ],
  "tool check": [
    [0, "tool check DIR/greet.js"],
    [2, "tool check DIR/broken.json"],
  ],
  "tool inspect": [[2, "tool inspect DIR/greet.js"]],
  "tool component": [[2, "tool component DIR/greet.js --out DIR/out.wasm"]],
  "tool import": [
    [0, "tool import DIR/api.json --origin https://api.example.com --out DIR/api"],
    [2, "tool import DIR/object.json --origin https://api.example.com --out DIR/api"],
  ],
  "tool new": [
    [0, "tool new DIR/new"],
    [2, "tool new DIR/greet.js"],
  ],
  schema: [[0, "schema"]],
  completion: [
    [0, "completion bash"],
    [2, "completion tcsh"],
  ],
};

/** Exit codes that the tests of a command reach with a server, a person or a program. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  "policy attack": ["1"],
  "policy learn": ["0"],
  "guard install": ["0"],
  "guard uninstall": ["0"],
  "guard status": ["0", "1"],
  "guard daemon": ["0"],
  run: ["0", "126", "the command's"],
  serve: ["0"],
  console: ["0"],
  confirm: ["0"],
  supervise: ["0", "the agent's"],
  "store backup": ["0"],
  "programs list": ["0"],
  "programs show": ["0"],
  "programs cancel": ["0"],
  "journal replay": ["1"],
  "journal forget": ["0"],
  "mcp add": ["0", "1"],
  "mcp import": ["0", "1"],
  "mcp install": ["1"],
  "mcp update": ["0", "1"],
  "mcp diff": ["0", "1"],
  "mcp login": ["0", "1"],
  "mcp logout": ["0"],
  "tool inspect": ["0"],
  "tool component": ["0"],
};

/** The files, with a journal of one call and a forged copy, in a folder that each test copies. */
let template = "";
beforeAll(async () => {
  template = await mkdtemp(join(tmpdir(), "sandgate-exit-codes-"));
  const files = {
    ...FILES,
    "object.json": "{}",
    "api.json": JSON.stringify({ openapi: "3.1.0", paths: { "/pets": { get: {} } } }),
    "broken.yaml": FILES["proved.yaml"]?.replace("proved-policy", "broken-policy") ?? "",
    "broken-policy.yaml":
      FILES["proved-policy.yaml"]?.replace("effect: deny", "effect: allow, sandboxes: [quickjs]") ?? "",
    "forged/journal-0000000000000001.jsonl": '{"forged":true}\n{"forged":true}\n',
  };
  await mkdir(join(template, "forged"));
  for (const [name, content] of Object.entries(files)) await writeFile(join(template, name), content);
  const argv = ["dispatch", join(template, "calls.json"), "-c", join(template, "sandgate.yaml")];
  expect(await sandgate(argv)).toMatchObject({ code: 0 });
});
afterAll(() => rm(template, { recursive: true, force: true }));

async function createProject(): Promise<string> {
  const folder = await createFolder({});
  await cp(template, folder, { recursive: true });
  return folder;
}

async function runLine(folder: string, line: string, stdin?: string): Promise<Outcome> {
  const argv = line.split(" ").map((word) => word.replaceAll("DIR", folder));
  return sandgate(argv, stdin === undefined ? {} : { stdin });
}

describe.each(COMMANDS.map((command) => [command.name, command] as const))("%s", (name, {
  exitCodes = {},
}) => {
  const cases = CASES[name] ?? [];

  test("has a case for each of its exit codes", () => {
    const reached = [...cases.map(([code]) => String(code)), ...(ELSEWHERE[name] ?? [])];
    expect(new Set([...reached, "2"])).toEqual(new Set(["0", "2", ...Object.keys(exitCodes)]));
  });

  test("exits with 2 for an unknown option", async () => {
    const { code, stdout, stderr } = await sandgate([...name.split(" "), "--no-such-option"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("unknown option '--no-such-option'");
  });

  for (const [code, line, stdin] of cases) {
    test(`exits with ${code}: ${line}${stdin === undefined ? "" : ", with a standard input"}`, async () => {
      const outcome = await runLine(await createProject(), line, stdin);
      expect({ code: outcome.code, outcome }).toEqual({ code, outcome });
      // Whatever is wrong is said in words, without the stack of an error.
      expect(outcome.stderr).not.toMatch(/^ {4}at /m);
      if (code !== 0) expect(outcome.stdout + outcome.stderr).not.toBe("");
    });
  }
});

test.each(
  COMMANDS.filter(({ endsAtOnce }) => endsAtOnce).map(({ name }) => [name]),
)("an interruption ends %s with 130", async (name) => {
  const folder = await createProject();
  const [, line] = CASES[name]?.find(([code]) => code !== 2) ?? CASES[name]?.[0] ?? NO_CASE;
  const argv = line.split(" ").map((word) => word.replaceAll("DIR", folder));
  expect(await sandgate(argv, { signal: AbortSignal.abort() })).toMatchObject({ code: 130, stdout: "" });
});

test("no command takes a closed pipe for an error", async () => {
  const lines = Object.values(CASES).flatMap((cases) =>
    cases.filter(([code, , stdin]) => code === 0 && stdin === undefined),
  );
  const folder = await createProject();
  const ended: { line: string; code: number; stderr: string }[] = [];
  const run = async ([, line]: Case): Promise<void> => {
    const argv = line.split(" ").map((word) => word.replaceAll("DIR", folder));
    const child = spawn(process.execPath, [MAIN, ...argv], { stdio: ["ignore", "pipe", "pipe"] });
    // The reader is gone before the command writes.
    child.stdout.destroy();
    const [[code], stderr] = await Promise.all([once(child, "close"), text(child.stderr)]);
    ended.push({ line, code, stderr });
  };
  const queue = [...lines];
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) await run(next);
  };
  await Promise.all([work(), work()]);
  const failed = ended.filter(({ code, stderr }) => code !== 0 || /EPIPE|^ {4}at /m.test(stderr));
  expect(failed).toEqual([]);
  expect(ended.length).toBeGreaterThan(15);
}, 300_000);
