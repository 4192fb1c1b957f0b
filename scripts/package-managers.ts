/**
 * Installs the packed package with pnpm, Yarn 4 (with `node_modules`) and 1, and Bun, each of which comes from npm, and runs a first call as
 * docs/command.md begins: `sandgate init`, then the commands that it names. What cannot be installed here is skipped, and named.
 *
 *     node scripts/package-managers.ts [NAME...]
 *
 * After `npm run build`.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";

/** A package manager, which npm installs. */
interface PackageManager {
  readonly name: string;
  /** Its package at npm, and the program in it. */
  readonly source: string;
  readonly program: string;
  /** How it runs a command of an installed package: what `sandgate init` has to print. */
  readonly run: string;
  /** Files of the project. */
  readonly files?: Readonly<Record<string, string>>;
}

/** A new version of a package may not be installed at once, which the package under test is. */
const YARNRC =
  "nodeLinker: node-modules\nenableTelemetry: false\nenableImmutableInstalls: false\nnpmMinimalAgeGate: 0\n";

const MANAGERS: readonly PackageManager[] = [
  { name: "pnpm", source: "pnpm@12.21.0", program: "pnpm", run: "pnpm exec sandgate" },
  {
    name: "yarn",
    source: "@yarnpkg/cli-dist@4.18.1",
    program: "yarn",
    run: "yarn sandgate",
    files: { ".yarnrc.yml": YARNRC, "yarn.lock": "" },
  },
  { name: "yarn-1", source: "yarn@1.22.22", program: "yarn", run: "yarn sandgate" },
  { name: "bun", source: "bun@1.4.5", program: "bun", run: "bunx sandgate" },
];

/** An installation takes a minute on a busy machine. One that waits for an answer would never end. */
const TIMEOUT_MS = 300_000;

const chosen = MANAGERS.filter(({ name }) => process.argv.length === 2 || process.argv.includes(name));
const folder = mkdtempSync(join(tmpdir(), "sandgate-managers-"));
const skipped: string[] = [];
try {
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  assert.ok(tarball !== undefined, "npm pack created no package");
  for (const manager of chosen) tryManager(manager, join(folder, tarball));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (skipped.length === chosen.length) process.exitCode = 1;

function tryManager({ name, source, program, run, files = {} }: PackageManager, tarball: string): void {
  const own = join(folder, `${name}-itself`);
  const project = join(folder, name);
  for (const path of [own, project]) mkdirSync(path);
  // Bun's package links its program in a script.
  writeFileSync(
    join(own, "package.json"),
    JSON.stringify({ private: true, allowScripts: { [source]: true } }),
  );
  const options = { timeout: TIMEOUT_MS, killSignal: "SIGKILL", encoding: "utf8" } as const;
  try {
    execFileSync("npm", ["install", "--silent", "--no-audit", "--no-fund", source], { ...options, cwd: own });
  } catch (error) {
    skipped.push(name);
    console.log(`skipped ${name}: npm cannot install ${source} here: ${String(error).split("\n", 1).join()}`);
    return;
  }
  const bin = join(own, "node_modules/.bin");
  // Without what this script itself was started by, and with the Node.js that runs it.
  const env = Object.fromEntries(Object.entries(process.env).filter(([variable]) => !/^npm_/.test(variable)));
  const PATH = [bin, dirname(process.execPath), env["PATH"]].join(delimiter);
  const inProject = (command: string, ...args: readonly string[]): string =>
    execFileSync(command, args, { ...options, cwd: project, env: { ...env, PATH, CI: "true" } });
  writeFileSync(join(project, "package.json"), '{ "name": "user", "private": true }\n');
  for (const [path, text] of Object.entries(files)) writeFileSync(join(project, path), text);
  inProject(program, "add", tarball);
  const [runner = "", ...before] = run.split(" ");
  const printed = inProject("sh", "-c", `${run} init 2>&1`);
  const next = `Next: ${run} policy test && ${run} dispatch message.json`;
  assert.ok(printed.includes(next), `${name}: init does not name '${next}':\n${printed}`);
  assert.match(inProject(runner, ...before, "policy", "test"), /2 cases are decided as expected/);
  const table = inProject(runner, ...before, "dispatch", "message.json");
  assert.match(table, /count_words +quickjs +ok: /, `${name}: ${table}`);
  console.log(`${name}: ${source} installs the package, and it answers a call`);
}
