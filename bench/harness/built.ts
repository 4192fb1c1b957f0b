import { existsSync, globSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Returns why `dist` is not up to date, or `undefined` if it is. */
export function whyNotBuilt(): string | undefined {
  if (!existsSync(`${ROOT}dist/entry/index.js`)) return "the package is not built: npm run build";
  const builtAt = statSync(`${ROOT}dist/entry/index.js`).mtimeMs;
  const sources = globSync("src/**/*.ts", { cwd: ROOT });
  const newer = sources.find((path) => statSync(`${ROOT}${path}`).mtimeMs > builtAt);
  return newer === undefined ? undefined : `dist is older than ${newer}: npm run build`;
}
