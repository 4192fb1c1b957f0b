// Checks the installed command.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const command = resolve("node_modules/sandgate/dist/cli/main.js");
const sandgate = (...args) =>
  execFileSync(process.execPath, [command, ...args], { encoding: "utf8", stdio: "pipe" });

const { version } = JSON.parse(readFileSync("node_modules/sandgate/package.json", "utf8"));
assert.equal(sandgate("--version"), `${version}\n`);

const printed = sandgate("dispatch", "message.json", "--config", "sandgate.yaml", "--output", "json");
const outputs = JSON.parse(printed).executions.map(({ output }) => output);
assert.deepEqual(outputs, ["worker", "quickjs"]);

for (const language of ["javascript", "c"]) {
  const project = `new-${language}-${process.versions.node}`;
  const files = sandgate("tool", "new", project, "--wasm", "--language", language).trim().split("\n");
  for (const file of ["package.json", "build.mjs", "wit/tool.wit"]) {
    assert.ok(files.includes(`${project}/${file}`), `a new project has no ${file}`);
  }
}
console.log(`Node ${process.versions.node}: library and command work from the package`);
