/** `npm run test:corpora -- FOLDER`: runs the tests of `test/corpora` with the corpora in a folder. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";

const [folder, ...options] = process.argv.slice(2);
if (folder === undefined || !existsSync(folder)) {
  console.error("Missing the folder of the corpora. Usage: npm run test:corpora -- FOLDER");
  process.exit(2);
}
const { status } = spawnSync("vitest", ["run", "--config", "vitest.corpora.config.ts", ...options], {
  stdio: "inherit",
  env: { ...process.env, SANDGATE_CORPORA: resolve(folder) },
});
process.exitCode = status ?? 1;
