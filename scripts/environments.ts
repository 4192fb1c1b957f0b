/**
 * Installs the packed package in a temporary folder for each environment (CommonJS, bundlers, other runtimes), and runs calls
 * of host functions and modules, QuickJS and WebAssembly there, and one in each sandbox that never ends by itself. Prints a
 * table, and fails if a row is not that of docs/environments.md.
 *
 *     npm run build && node scripts/environments.ts [--write-docs] [NAME…]
 *
 * `--write-docs` writes the table of all environments. NAME is one of the table, such as `esbuild`. Packages come from the
 * registry of npm, and are installed nowhere else.
 */
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { contractComponent } from "../test/fixtures/wasm/contract-component.ts";
import type { Environment } from "./environments/environment.ts";
import { ENVIRONMENTS } from "./environments/list.ts";
import { HEAD, rowOf, withTable } from "./environments/table.ts";
import { tryWay } from "./environments/try-way.ts";

const DOCS = "docs/environments.md";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { "write-docs": { type: "boolean", default: false } },
});
for (const name of positionals) {
  if (!ENVIRONMENTS.some((environment) => environment.name === name)) {
    throw new Error(
      `there is no environment '${name}': ${ENVIRONMENTS.map((known) => known.name).join(", ")}`,
    );
  }
}
const chosen = ENVIRONMENTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
if (values["write-docs"] && chosen.length < ENVIRONMENTS.length) {
  throw new Error("--write-docs writes the rows of all environments: give no names");
}

const folder = mkdtempSync(join(tmpdir(), "sandgate-environments-"));
try {
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { stdio: "inherit" });
  const tarball = join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "");
  const rows: string[] = [];
  for (const environment of chosen) {
    const installed = join(folder, "installed");
    await install(environment, tarball, installed);
    for (const way of environment.ways) {
      const row = rowOf(environment, way, await tryWay(way, installed, folder));
      console.log(row);
      rows.push(row);
    }
    rmSync(installed, { recursive: true });
  }
  const docs = readFileSync(DOCS, "utf8");
  if (values["write-docs"]) writeFileSync(DOCS, withTable(docs, [...HEAD, ...rows]));
  const changed = values["write-docs"] ? [] : rows.filter((row) => !docs.includes(`${row}\n`));
  for (const row of changed) console.error(`${DOCS} does not have this row: ${row}`);
  if (changed.length > 0) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Installs Sandgate and the packages of an environment beside the program. */
async function install(
  { packages, scripts = [] }: Environment,
  tarball: string,
  into: string,
): Promise<void> {
  mkdirSync(into);
  cpSync(join(import.meta.dirname, "environments/program"), into, { recursive: true });
  copyFileSync(await contractComponent(), join(into, "component.wasm"));
  const allowScripts = Object.fromEntries(scripts.map((name) => [name, true]));
  const manifest = { name: "user", private: true, type: "module", allowScripts };
  writeFileSync(join(into, "package.json"), JSON.stringify(manifest));
  const options = ["--silent", "--no-audit", "--no-fund", "--save-exact"];
  execFileSync("npm", ["install", ...options, tarball, ...packages], { cwd: into, stdio: "inherit" });
}
