import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createFolder, type Outcome, PROJECT, sandgate } from "./sandgate.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

function start(...args: string[]): ChildProcess & { readonly outcome: Promise<Outcome> } {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: "pipe" });
  const outcome = Promise.all([once(child, "close"), text(child.stdout), text(child.stderr)]).then(
    ([[code], stdout, stderr]) => ({ code, stdout, stderr }),
  );
  return Object.assign(child, { outcome });
}

test("prints the package's version", async () => {
  const manifest = await readFile(new URL("../../package.json", import.meta.url), "utf8");
  expect(await start("--version").outcome).toEqual({
    code: 0,
    stdout: `${JSON.parse(manifest).version}\n`,
    stderr: "",
  });
});

test("prints its usage, and refers to it after a usage error", async () => {
  expect(await start("--help").outcome).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^ {2}dispatch +dispatches the tool calls of a message/m),
  });
  expect(await start("deploy").outcome).toEqual({
    code: 2,
    stdout: "",
    stderr: "sandgate: unknown command 'deploy'. See sandgate --help\n",
  });
});

test("says on an old Node.js what it needs, and that is what package.json says", async () => {
  const { engines } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
  const old = `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"23.11.0"}})`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", old, MAIN, "--version"], {
    encoding: "utf8",
  });
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  const [, oldest] = /^>=(\d+)$/.exec(engines.node) ?? [];
  expect(stderr).toBe(`sandgate: Node.js ${oldest} or newer is needed, and this is 23.11.0\n`);
});

test("takes a closed pipe for no error, and ends journal tail -f at it", async () => {
  const folder = await createFolder({
    ...PROJECT,
    "sandgate.yaml": `${PROJECT["sandgate.yaml"]}\njournal: { directory: records }\n`,
  });
  const config = join(folder, "sandgate.yaml");
  const stdin = '[{ "id": "1", "name": "add", "arguments": { "a": 1, "b": 2 } }]';
  expect(await sandgate(["dispatch", "--config", config], { stdin })).toMatchObject({ code: 0 });
  for (const args of [
    ["tool", "run", "--help"],
    ["journal", "show", "--config", config],
    ["journal", "tail", "-f", "--config", config],
  ]) {
    const child = spawn(process.execPath, [MAIN, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    // The reader is gone before the command writes.
    child.stdout.destroy();
    const [[code], stderr] = await Promise.all([once(child, "close"), text(child.stderr)]);
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
  }
});

test("dispatches a message from a pipe, and exits even if a tool left a timer behind", async () => {
  const folder = await createFolder({
    ...PROJECT,
    "tools/host.mjs":
      "setInterval(() => {}, 1_000);\nexport const add = ({ a, b }) => a + b;\nexport const wait = add;\nexport const broken = add;",
  });
  const child = start("dispatch", "--config", join(folder, "sandgate.yaml"), "--output", "json");
  child.stdin?.end('[{ "id": "1", "name": "add", "arguments": { "a": 20, "b": 22 } }]');
  const { code, stdout, stderr } = await child.outcome;
  expect(JSON.parse(stdout).executions).toMatchObject([{ success: true, output: 42 }]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test("cancels the calls on SIGINT, prints their results and exits with 130", async () => {
  const folder = await createFolder({
    ...PROJECT,
    "tools/host.mjs": `
export const wait = (input, { signal }) => {
  process.stderr.write("waiting");
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
};
export const add = () => 0;
export const broken = add;
`,
  });
  const child = start("dispatch", "--config", join(folder, "sandgate.yaml"), "--output", "json");
  child.stdin?.end('[{ "id": "1", "name": "wait", "arguments": {} }]');
  child.stderr?.once("data", () => child.kill("SIGINT"));
  const { code, stdout } = await child.outcome;
  expect(JSON.parse(stdout).executions).toMatchObject([{ callId: "1", error: { code: "cancelled" } }]);
  expect(code).toBe(130);
});

test("keeps the output of trusted tools out of its results", async () => {
  const noisy =
    "export default () => { console.log('noise'); process.stdout.write('more noise'); return 1; };";
  const tools = [
    ["in-thread", true],
    ["in-process", false],
  ].map(
    ([name, thread]) =>
      `  - { name: ${name}, description: "", inputSchema: {}, host: { module: noisy.mjs, thread: ${thread} } }`,
  );
  const folder = await createFolder({
    "noisy.mjs": noisy,
    "sandgate.yaml": `tools:\n${tools.join("\n")}\npolicy:\n  rules: [{ tools: ["*"], effect: allow, sandboxes: [host] }]\n`,
  });
  const child = start("dispatch", "--config", join(folder, "sandgate.yaml"), "--output", "json");
  child.stdin?.end(
    '[{ "id": "1", "name": "in-thread", "arguments": {} }, { "id": "2", "name": "in-process", "arguments": {} }]',
  );
  const { code, stdout, stderr } = await child.outcome;
  expect(JSON.parse(stdout).executions).toMatchObject([{ output: 1 }, { output: 1 }]);
  expect(code).toBe(0);
  expect(stderr).toMatch(/noise/);
});
