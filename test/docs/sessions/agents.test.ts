import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";

// Below the repository, so that the snippet finds the package.
mkdirSync(".cache", { recursive: true });
const folder = mkdtempSync(".cache/docs-agents-");
afterAll(() => rmSync(folder, { recursive: true }));

test("docs/agents.md has an example that runs an agent and prints what it says", async () => {
  const [, code = ""] = /^```ts\n(.*?)^```$/ms.exec(readFileSync("docs/agents.md", "utf8")) ?? [];
  const printed: string[] = [];
  vi.spyOn(console, "log").mockImplementation((...texts) => void printed.push(texts.join(" ")));
  const file = join(folder, "agents.ts");
  writeFileSync(file, code);
  await import(join(process.cwd(), file));
  expect(printed).toEqual(["Summarise the notes. I read: the text of notes.txt"]);
});
