/**
 * Releases the version of package.json: checks the tree, the changelog and `npm run check`, builds and packs the package, writes its
 * SBOM (CycloneDX) beside it, builds the image, packs the Helm chart, states where all of them come from (SLSA provenance in an
 * in-toto statement), and publishes the package with provenance. With `--dry-run` it does everything but publish.
 *
 *     npm run release -- [--dry-run] [--no-image] [--out FOLDER]
 *
 * Provenance that npm accepts needs a CI that npm trusts; elsewhere npm refuses to publish. FOLDER gets the files; default: a
 * temporary folder, which is printed. `--no-image` leaves the image out, where it cannot be built. What a person does by hand is in
 * CONTRIBUTING.md.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { parse } from "yaml";
import { buildImage, missingForImages } from "./image.ts";
import { readSbom } from "./sbom.ts";

const { values } = parseArgs({
  options: {
    "dry-run": { type: "boolean", default: false },
    "no-image": { type: "boolean", default: false },
    out: { type: "string" },
  },
});
const startedOn = new Date().toISOString();

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

/** Packs the chart as `helm package` does, always to the same bytes. It has the name of the npm package, so it needs a folder. */
function packChart(folder: string, date: string): string {
  mkdirSync(folder);
  const file = join(folder, `${name}-${version}.tgz`);
  const same = [
    "--sort=name",
    `--mtime=@${date}`,
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mode=go-w",
  ];
  const tar = ["--create", ...same, `--transform=s,^chart,${name},`, "--directory=deploy", "chart"];
  writeFileSync(file, execFileSync("gzip", ["--no-name"], { input: execFileSync("tar", tar) }));
  return file;
}

function digestOf(file: string): { readonly sha256: string } {
  return { sha256: createHash("sha256").update(readFileSync(file)).digest("hex") };
}

/** Says what was built from what. It is not signed: npm and the CI sign what they publish. */
function provenanceOf(files: readonly string[]): object {
  const { GITHUB_SERVER_URL: server, GITHUB_WORKFLOW_REF: workflow } = process.env;
  const commit = printed("git", "rev-parse", "HEAD").trim();
  const { url = "urn:sandgate:repository" } =
    typeof repository === "object" ? repository : { url: repository };
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: files.map((file) => ({ name: relative(out, file), digest: digestOf(file) })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "urn:sandgate:release:1",
        externalParameters: { version },
        internalParameters: { node: process.version, npm: printed("npm", "--version").trim() },
        resolvedDependencies: [
          { uri: `${url}@${commit}`, digest: { gitCommit: commit } },
          { uri: "package-lock.json", digest: digestOf("package-lock.json") },
        ],
      },
      runDetails: {
        builder: { id: workflow === undefined ? "urn:sandgate:release:local" : `${server}/${workflow}` },
        metadata: { startedOn, finishedOn: new Date().toISOString() },
      },
    },
  };
}

const { name, version, repository, homepage, bugs } = JSON.parse(readFileSync("package.json", "utf8"));
const missing = Object.entries({ repository, homepage, bugs }).filter(([, value]) => value === undefined);
const toFill = missing.map(([member]) => `'${member}'`).join(", ");
if (printed("git", "status", "--porcelain") !== "") refuse("the tree has changes: commit them first");
const changes = changesOf(version);
const chartVersions = parse(readFileSync("deploy/chart/Chart.yaml", "utf8"));
for (const member of ["version", "appVersion"]) {
  const written = String(chartVersions[member]);
  if (written !== version) refuse(`deploy/chart/Chart.yaml has the ${member} ${written}, not ${version}`);
}
const noImage = values["no-image"] ? "left out" : missingForImages();
if (noImage !== undefined && !values["dry-run"] && !values["no-image"])
  refuse(`there is no image: ${noImage}`);
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

const chart = packChart(join(out, "chart"), printed("git", "log", "-1", "--format=%ct").trim());
const image = noImage === undefined ? buildImage(join(out, tarball), out) : undefined;
const provenance = join(out, `${name}-${version}.intoto.json`);
const files = [join(out, tarball), sbom, chart].concat(image ?? []);
writeFileSync(provenance, `${JSON.stringify(provenanceOf(files), undefined, 2)}\n`);

const publish = ["publish", join(out, tarball), "--provenance", "--access", "public"];
console.log(`## ${changes.trim().slice(0, 2_000)}\n\npackage: ${join(out, tarball)}\nSBOM: ${sbom}`);
console.log(`chart: ${chart}\nimage: ${image ?? noImage}\nprovenance: ${provenance}`);
if (values["dry-run"]) {
  console.log(`would run: npm ${publish.join(" ")}`);
  if (toFill !== "") console.log(`but package.json has no ${toFill}`);
} else execFileSync("npm", publish, { stdio: "inherit" });
console.log("by hand: CONTRIBUTING.md, Releasing");
