import { readdirSync, readFileSync, statSync } from "node:fs";
import { expect, test } from "vitest";
import { SCREENSHOTS } from "../../scripts/screenshots.ts";

const DOCS = readFileSync("docs/console.md", "utf8");

test("docs/console.md shows each screenshot that the script takes, of at most 120 KB, and no other", () => {
  const files = SCREENSHOTS.map(({ file }) => file).toSorted();
  const shown = [...DOCS.matchAll(/!\[[^\]]{10,}\]\(console\/([^)]+)\)/g)].map(([, file]) => file);
  expect(shown.toSorted()).toEqual(files);
  expect(readdirSync("docs/console").toSorted()).toEqual(files);
  for (const file of files) expect(statSync(`docs/console/${file}`).size).toBeLessThanOrEqual(120_000);
});
