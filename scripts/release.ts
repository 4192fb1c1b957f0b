/**
 * Releases the version of package.json: checks the tree, the changelog and `npm run check`, builds and packs the package,
 * writes its SBOM (CycloneDX) beside it, and publishes it with provenance. With `--dry-run` it does everything but publish.
 *
 *     npm run release -- [--dry-run] [--out FOLDER]
 *
 * Provenance needs a CI that npm trusts; elsewhere npm refuses to publish. FOLDER gets the package and the SBOM; default: a
 * temporary folder, which is printed.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { readSbom } from "./sbom.ts";

const { values } = parseArgs({
  options: { "dry-run": { type: "boolean", default: false }, out: { type: "string" } },
});

/** Runs a command, and returns what it prints. Its errors are shown. */
function printed(command: string, ...args: string[]): string {
  return execFileSync(command, args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 2 ** 26,
  });
}

function refuse(reason: string): never {
  console.error(`not released: ${reason}`);
  process.exit(1);
}

/** Returns the section of a version in the changelog. */
function changesOf(version: string): string {
  const section = readFileSync("CHANGELOG.md", "utf8")
    .split(/^## /m)
    .find((text) => text.startsWith(`${version},`) || text.startsWith(`${version}\n`));
  if (section === undefined) refuse(`CHANGELOG.md has no section for ${version}`);
  if (!values["dry-run"] && /^.*unreleased/.test(section)) refuse(`CHANGELOG.md calls ${version} unreleased`);
  return section;
}

const { name, version, repository, homepage, bugs } = JSON.parse(readFileSync("package.json", "utf8"));
const missing = Object.entries({ repository, homepage, bugs }).filter(([, value]) => value === undefined);
const toFill = missing.map(([member]) => `'${member}'`).join(", ");
if (printed("git", "status", "--porcelain") !== "") refuse("the tree has changes: commit them first");
const changes = changesOf(version);
// Provenance names the repository, and npm compares the two.
if (toFill !== "" && !values["dry-run"]) refuse(`package.json has no ${toFill}: set them to the public ones`);
try {
  execFileSync("npm", ["run", "--silent", "check"], { stdio: "inherit" });
} catch {
  refuse("npm run check fails");
}
// The check may write files.
if (printed("git", "status", "--porcelain") !== "") refuse("npm run check changed the tree");

const out = resolve(values.out ?? mkdtempSync(join(tmpdir(), "sandgate-release-")));
mkdirSync(out, { recursive: true });
execFileSync("npm", ["run", "--silent", "build"], { stdio: "inherit" });
printed("npm", "pack", "--silent", "--pack-destination", out);
const tarball = readdirSync(out).find((file) => file === `${name}-${version}.tgz`);
if (tarball === undefined) refuse("npm pack created no package");
const sbom = join(out, `${name}-${version}.cdx.json`);
writeFileSync(sbom, `${JSON.stringify(readSbom(), undefined, 2)}\n`);

const publish = ["publish", join(out, tarball), "--provenance", "--access", "public"];
console.log(`## ${changes.trim().slice(0, 2_000)}\n\npackage: ${join(out, tarball)}\nSBOM: ${sbom}`);
if (values["dry-run"]) {
  console.log(`would run: npm ${publish.join(" ")}`);
  if (toFill !== "") console.log(`but package.json has no ${toFill}`);
} else execFileSync("npm", publish, { stdio: "inherit" });
