import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

const [first = "", second = ""] = [
  ...readFileSync("docs/sessions.md", "utf8").matchAll(/^```ts\n(.*?)^```$/gms),
].map(([, code = ""]) => code);

// Below the repository, so that the snippets find the package.
mkdirSync(".cache", { recursive: true });
const folder = mkdtempSync(".cache/docs-sessions-");
afterAll(() => rmSync(folder, { recursive: true }));

const printed: string[] = [];
beforeAll(() => {
  vi.spyOn(console, "log").mockImplementation((...texts) => {
    printed.push(texts.join(" "));
  });
});

async function run(code: string): Promise<readonly string[]> {
  const file = join(folder, `${printed.length}.ts`);
  writeFileSync(file, code.replaceAll('"sessions.sqlite"', JSON.stringify(join(folder, "sessions.sqlite"))));
  printed.length = 0;
  await import(join(process.cwd(), file));
  return printed;
}

describe("docs/sessions.md", () => {
  test("has an example that asks and runs, as it says", async () => {
    expect(await run(first)).toEqual([
      `Run the tool 'write_file' (write)? {"path":"notes.txt"}`,
      "wrote notes.txt",
    ]);
  });

  test("has an example with a store", async () => {
    expect(await run(second)).toEqual(["0"]);
  });
});
