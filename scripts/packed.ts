/**
 * Installs the packed package in an empty folder, as a user would, and runs the library and the command there, in
 * every sandbox and with a program that waits, on the current Node.js and on Node.js 24.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { contractComponent } from "../test/fixtures/wasm/contract-component.ts";

const NODE_24 = "24.21.0";

/** A script takes half a minute. One that waits for what has failed would never end. */
const SCRIPT_MS = 300_000;

/** What a user installs takes at most so many KiB on the disk. */
const MAX_INSTALLED_KIB = 31_000;

function checkInstalledSize(installed: string): void {
  const [kib = ""] = execFileSync("du", ["-sk", installed], { encoding: "utf8" }).split("\t");
  console.log(`installed: ${kib} KiB`);
  if (Number(kib) > MAX_INSTALLED_KIB) throw new Error(`more than ${MAX_INSTALLED_KIB} KiB are installed`);
}

const folder = mkdtempSync(join(tmpdir(), "sandgate-packed-"));
try {
  const npm = (...args: string[]): void => void execFileSync("npm", args, { cwd: folder, stdio: "inherit" });
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { stdio: "inherit" });
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  if (tarball === undefined) throw new Error("npm pack did not create a tarball");
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({
      name: "user",
      private: true,
      type: "module",
      allowScripts: { [`node@${NODE_24}`]: true },
    }),
  );
  npm("install", "--silent", "--no-audit", "--no-fund", `./${tarball}`);
  checkInstalledSize(join(folder, "node_modules"));
  npm("install", "--silent", "--no-audit", "--no-fund", `node@${NODE_24}`);
  for (const file of readdirSync(`${import.meta.dirname}/packed`)) {
    copyFileSync(join(import.meta.dirname, "packed", file), join(folder, file));
  }
  copyFileSync(await contractComponent(), join(folder, "component.wasm"));
  for (const node of [process.execPath, join(folder, "node_modules/node/bin/node")]) {
    for (const script of ["library.mjs", "programs.mjs", "command.mjs"]) {
      execFileSync(node, [script], {
        cwd: folder,
        stdio: "inherit",
        timeout: SCRIPT_MS,
        killSignal: "SIGKILL",
      });
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
