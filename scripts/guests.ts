/**
 * `npm run test:guests`: hostile guests end in time and stay within their memory. Runs a sample, or everything with
 * `--long`, which takes about an hour. `SANDGATE_GUESTS_SEED` chooses another sample. Prints a table of the results.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Row } from "../test/guests/report/rows.ts";

const given = process.argv.slice(2);
const isLong = given.includes("--long");
const seed = process.env["SANDGATE_GUESTS_SEED"] ?? "1";
const folder = mkdtempSync(join(tmpdir(), "sandgate-guests-report-"));
const report = join(folder, "rows.jsonl");
const options = given.filter((option) => option !== "--long");
const { status } = spawnSync("vitest", ["run", "--config", "vitest.guests.config.ts", ...options], {
  stdio: "inherit",
  env: {
    ...process.env,
    SANDGATE_GUESTS_REPORT: report,
    SANDGATE_GUESTS_LONG: isLong ? "1" : "0",
    SANDGATE_GUESTS_SEED: seed,
  },
});
console.log(`\n${isLong ? "Everything" : "A sample"}, seed ${seed}:\n`);
console.log("| check | size | worst | bound |\n|---|---|--:|--:|");
for (const { check, size, result, bound } of readRows()) {
  console.log(`| ${check} | ${size} | ${result} | ${bound} |`);
}
rmSync(folder, { recursive: true });
process.exitCode = status ?? 1;

function readRows(): readonly Row[] {
  if (!existsSync(report)) return [];
  return readFileSync(report, "utf8")
    .trim()
    .split("\n")
    .map((line): Row => JSON.parse(line))
    .sort((one, other) => one.check.localeCompare(other.check));
}
