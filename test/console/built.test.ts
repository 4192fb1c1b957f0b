import { globSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildConsole, sizesOf } from "../../scripts/console.ts";

test("The built page is at most 170 KB, and its HTML has no script or style of its own", async () => {
  const folder = mkdtempSync(join(tmpdir(), "console-built-"));
  await buildConsole(folder);
  const sizes = sizesOf(folder);
  const files = [...sizes.keys()];
  expect(files.map((file) => file.replace(/-[0-9a-f]{12}\./, "-HASH.")).toSorted()).toEqual([
    "assets/console-HASH.css",
    "assets/console-HASH.js",
    "assets/icon-HASH.svg",
    "index.html",
    "service-worker.js",
  ]);
  const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  expect(bytes).toBeLessThanOrEqual(170_000);
  const html = readFileSync(join(folder, "index.html"), "utf8");
  expect(html).not.toMatch(/<style|\bstyle=|\bon\w+=|https?:|<script(?![^>]*\bsrc="assets\/)/);
  for (const file of files.filter((name) => name.startsWith("assets/"))) expect(html).toContain(file);
  const style = readFileSync(join(folder, files.find((file) => file.endsWith(".css")) ?? ""), "utf8");
  expect(style).not.toMatch(/@import|url\(/);
});

test("Every style sheet of the page is part of the built one", async () => {
  const source = join(import.meta.dirname, "../../src/console");
  const imported = readFileSync(join(source, "console.css"), "utf8").matchAll(/@import "\.\/(.+)";/g);
  const sheets = globSync("**/*.css", { cwd: source }).filter((file) => file !== "console.css");
  expect([...imported].map(([, file]) => file).toSorted()).toEqual(sheets.toSorted());
});
