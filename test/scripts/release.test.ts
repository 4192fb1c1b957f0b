import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const SCRIPT = resolve("scripts/release.ts");

/** Creates a repository with a package, whose check succeeds or fails. */
function createRepository(check: "true" | "false", title = "1.2.3, unreleased", chart = "1.2.3"): string {
  const folder = mkdtempSync(join(tmpdir(), "sandgate-release-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const manifest = { name: "released", version: "1.2.3", scripts: { check, build: "true" } };
  const lock = { name: "released", version: "1.2.3", lockfileVersion: 3, packages: { "": manifest } };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
  writeFileSync(
    join(folder, "CHANGELOG.md"),
    `# Changelog\n\n## ${title}\n\nThe change.\n\n## 1.2.2\n\nOld.\n`,
  );
  mkdirSync(join(folder, "deploy/chart"), { recursive: true });
  writeFileSync(
    join(folder, "deploy/chart/Chart.yaml"),
    `name: released\nversion: ${chart}\nappVersion: 1.2.3\n`,
  );
  const identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
  for (const args of [
    ["init", "-q"],
    ["add", "."],
    [...identity, "commit", "-q", "-m", "First"],
  ]) {
    expect(spawnSync("git", args, { cwd: folder }).status).toBe(0);
  }
  return folder;
}

function release(cwd: string, ...args: string[]): { readonly status: number | null; readonly text: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, "--no-image", ...args], {
    cwd,
    encoding: "utf8",
  });
  return { status, text: stdout + stderr };
}

test("a dry run packs the package with its SBOM, shows the changes of the version, and publishes nothing", () => {
  const out = mkdtempSync(join(tmpdir(), "sandgate-release-out-"));
  onTestFinished(() => rmSync(out, { recursive: true }));
  const { status, text } = release(createRepository("true"), "--dry-run", "--out", out);
  expect(text).toContain("## 1.2.3, unreleased\n\nThe change.\n\npackage: ");
  expect(text).toContain(`would run: npm publish ${out}/released-1.2.3.tgz --provenance --access public`);
  expect(status).toBe(0);
  const sbom = JSON.parse(readFileSync(join(out, "released-1.2.3.cdx.json"), "utf8"));
  expect(sbom).toMatchObject({ bomFormat: "CycloneDX", metadata: { component: { version: "1.2.3" } } });
  const { stdout: packed } = spawnSync("tar", ["-tzf", join(out, "chart/released-1.2.3.tgz")], {
    encoding: "utf8",
  });
  expect(packed).toBe("released/\nreleased/Chart.yaml\n");
  // The statement has the digest of each file.
  const statement = JSON.parse(readFileSync(join(out, "released-1.2.3.intoto.json"), "utf8"));
  expect(statement).toMatchObject({
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: { buildDefinition: { externalParameters: { version: "1.2.3" } } },
  });
  const names = ["released-1.2.3.tgz", "released-1.2.3.cdx.json", "chart/released-1.2.3.tgz"];
  expect(statement.subject).toEqual(
    names.map((name) => {
      const sha256 = createHash("sha256")
        .update(readFileSync(join(out, name)))
        .digest("hex");
      return { name, digest: { sha256 } };
    }),
  );
});

test("a version is refused if the chart has another one", () => {
  expect(release(createRepository("true", "1.2.3, unreleased", "1.2.2"), "--dry-run")).toEqual({
    status: 1,
    text: "not released: deploy/chart/Chart.yaml has the version 1.2.2, not 1.2.3\n",
  });
});

test("a tree with changes is refused", () => {
  const folder = createRepository("true");
  writeFileSync(join(folder, "new.txt"), "new");
  expect(release(folder, "--dry-run")).toEqual({
    status: 1,
    text: "not released: the tree has changes: commit them first\n",
  });
});

test("a version is refused if its check fails, or if the changelog calls it unreleased", () => {
  expect(release(createRepository("false"), "--dry-run").text).toContain(
    "not released: npm run check fails\n",
  );
  expect(release(createRepository("true"))).toEqual({
    status: 1,
    text: "not released: CHANGELOG.md calls 1.2.3 unreleased\n",
  });
});

test("a version is not published before package.json names the public repository", () => {
  const missing = "package.json has no 'repository', 'homepage', 'bugs'";
  expect(release(createRepository("true", "1.2.3"))).toEqual({
    status: 1,
    text: `not released: ${missing}: set them to the public ones\n`,
  });
  expect(release(createRepository("true"), "--dry-run").text).toContain(`but ${missing}\n`);
});
