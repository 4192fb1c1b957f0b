/**
 * Runs packages of npm in the JavaScript sandbox: installs pinned versions, bundles a real use of each, and compares what
 * it returns with what it returns in Node.js. Prints a table, and fails if a package that the table in
 * docs/javascript-tools.md names as running does not.
 *
 *     npm run test:packages [-- NAME...] [-- --write]
 *
 * `--write` writes the table to docs/javascript-tools.md. The packages are installed, without running scripts, into
 * `node_modules/.cache/sandgate-packages`, or the folder `SANDGATE_PACKAGES`.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { formatBytes } from "../src/base/units.ts";
import { openSandboxes } from "../src/sandboxes/open-sandboxes.ts";
import { type PackageResult, runPackage } from "../test/packages/run-package.ts";
import { PACKAGE_USES, type PackageUse } from "../test/packages/uses.ts";

const DOCS = "docs/javascript-tools.md";
const BEGIN = "<!-- npm run test:packages -- --write -->\n";
const END = "<!-- end -->\n";
const RUNS = "yes";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: "boolean" } },
});
const uses = PACKAGE_USES.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
const folder = resolve(process.env["SANDGATE_PACKAGES"] ?? "node_modules/.cache/sandgate-packages");

install(folder, uses);
await using sandboxes = await openSandboxes({ workers: { threads: 1 } });
const results: PackageResult[] = [];
for (const use of uses) results.push(await runPackage(use, folder, sandboxes));

const table = tableOf(results);
console.log(table);
const docs = readFileSync(DOCS, "utf8");
if (values.write && positionals.length === 0) {
  const [before = ""] = docs.split(BEGIN);
  const [, after = ""] = docs.split(END);
  writeFileSync(DOCS, `${before}${BEGIN}\n${table}\n${END}${after}`);
} else {
  const lost = results.filter(
    ({ name, problem }) => problem !== undefined && docs.includes(`${rowStart(name)} ${RUNS} `),
  );
  for (const { name, problem } of lost) console.error(`${name} does not run any more: ${problem}`);
  if (lost.length > 0) process.exitCode = 1;
}

/** Installs the packages that are not there yet in their versions. */
function install(into: string, wanted: readonly PackageUse[]): void {
  mkdirSync(into, { recursive: true });
  if (!existsSync(`${into}/package.json`)) writeFileSync(`${into}/package.json`, '{ "private": true }\n');
  const missing = wanted.filter(({ name, version }) => installedVersion(into, name) !== version);
  if (missing.length === 0) return;
  const packages = missing.map(({ name, version }) => `${name}@${version}`);
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--save-exact"];
  execFileSync("npm", ["install", ...options, ...packages], { cwd: into, stdio: "inherit" });
}

function installedVersion(into: string, name: string): string | undefined {
  const file = `${into}/node_modules/${name}/package.json`;
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).version : undefined;
}

function rowStart(name: string): string {
  return `| ${name} |`;
}

function tableOf(rows: readonly PackageResult[]): string {
  const lines = rows.map(({ name, version, bundleBytes, problem }) => {
    const why =
      problem === undefined
        ? ""
        : `\`${problem.slice(0, 120).replaceAll("|", "\\|").replaceAll("\n", " ")}\``;
    return `${rowStart(name)} ${problem === undefined ? RUNS : "no"} | ${version} | ${formatBytes(bundleBytes)} | ${why} |`;
  });
  return ["| package | runs | version | bundle | why not |", "|---|---|---|---|---|", ...lines].join("\n");
}
