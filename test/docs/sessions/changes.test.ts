import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";

const [code = ""] = [...readFileSync("docs/changes.md", "utf8").matchAll(/^```ts\n(.*?)^```$/gms)].map(
  ([, text = ""]) => text,
);

// Below the repository, so that the snippet finds the package.
mkdirSync(".cache", { recursive: true });
const folder = mkdtempSync(".cache/docs-changes-");
afterAll(() => rmSync(folder, { recursive: true }));

test("docs/changes.md has an example that holds a change, shows it and accepts it", async () => {
  const printed: string[] = [];
  vi.spyOn(console, "log").mockImplementation((...texts) => {
    printed.push(texts.join(" "));
  });
  writeFileSync(join(folder, "example.ts"), code);
  await import(join(process.cwd(), folder, "example.ts"));
  expect(printed).toEqual([
    "one\ntwo\n",
    "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n",
    "notes.txt one\nTWO\n",
  ]);
});
