import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Installs the dependencies of a folder of the benchmarks from its lock file, unless they are already installed.
 *
 * @throws {Error} if npm fails.
 */
export function install(folder: "peers" | "plot"): void {
  const path = fileURLToPath(new URL(`../${folder}`, import.meta.url));
  if (isInstalled(path)) return;
  console.error(`(installing bench/${folder})`);
  const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--prefix", path], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) throw new Error(`bench/${folder} cannot be installed: npm ci exited with ${status}`);
}

function isInstalled(path: string): boolean {
  const installed = `${path}/node_modules/.package-lock.json`;
  return (
    existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${path}/package-lock.json`).mtimeMs
  );
}
