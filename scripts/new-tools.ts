/**
 * Follows pages of docs/cookbook as a new user would: from an empty folder and the packed package to an answered call. Prints
 * how long each page takes, and fails if a command fails or a page takes longer than five minutes.
 *
 * Usage: node scripts/new-tools.ts [PAGE…]. Default: every page. Toolchains must be installed: lines with apt-get are not run.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

const MAX_MS = 5 * 60_000;
const COOKBOOK = join(import.meta.dirname, "../docs/cookbook");

/** Returns the commands of a page's first block, without those that install a toolchain. */
function commandsOf(page: string): readonly string[] {
  const text = readFileSync(join(COOKBOOK, `${page}.md`), "utf8");
  const [, block = ""] = /^```sh\n(.*?)^```$/ms.exec(text) ?? [];
  return block.split("\n").filter((line) => line !== "" && !line.startsWith("apt-get"));
}

/** Runs a page's commands in a new folder, in which the package is installed. Returns the milliseconds that it takes. */
function follow(page: string, tarball: string): number {
  const folder = mkdtempSync(join(tmpdir(), `sandgate-${page}-`));
  const PATH = [join(folder, "node_modules/.bin"), process.env["PATH"]].join(delimiter);
  const started = performance.now();
  try {
    writeFileSync(join(folder, "package.json"), '{ "private": true }');
    const install = `npm install --silent --no-audit --no-fund ${JSON.stringify(tarball)}`;
    const script = ["set -e", install, ...commandsOf(page)].join("\n");
    const shown = execFileSync("sh", ["-c", script], {
      cwd: folder,
      env: { ...process.env, PATH },
      encoding: "utf8",
    });
    if (!shown.includes('"success": true')) throw new Error(`no call was answered:\n${shown}`);
    return performance.now() - started;
  } catch (error) {
    process.stdout.write(String((error as { stdout?: unknown }).stdout ?? ""));
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Follows pages, and prints the time of each. */
function followAll(pages: readonly string[]): void {
  const packed = mkdtempSync(join(tmpdir(), "sandgate-packed-"));
  try {
    execFileSync("npm", ["pack", "--silent", "--pack-destination", packed], { stdio: "inherit" });
    const [tarball = ""] = readdirSync(packed);
    for (const page of pages) {
      const ms = follow(page, join(packed, tarball));
      console.log(
        `docs/cookbook/${page}.md: ${(ms / 1_000).toFixed(1)} s from an empty folder to an answered call`,
      );
      if (ms > MAX_MS) throw new Error(`${page} takes longer than ${MAX_MS / 60_000} minutes`);
    }
  } finally {
    rmSync(packed, { recursive: true, force: true });
  }
}

const all = readdirSync(COOKBOOK).map((name) => name.replace(/\.md$/, ""));
followAll(process.argv.length > 2 ? process.argv.slice(2) : all);
