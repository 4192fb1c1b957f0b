import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";

const root = dirname(dirname(import.meta.dirname));
const text = readFileSync(`${root}/docs/cedar.md`, "utf8");
const generated = `${root}/.cache/docs-cedar`;
afterAll(() => rmSync(generated, { recursive: true, force: true }));

describe("docs/cedar.md", () => {
  test("has a program that allows one call, and denies two", async () => {
    const [, program = ""] = /^```ts\n(.*?)^```$/ms.exec(text) ?? [];
    mkdirSync(generated, { recursive: true });
    writeFileSync(`${generated}/program.ts`, program);
    const lines: unknown[] = [];
    const log = vi.spyOn(console, "log").mockImplementation((line) => lines.push(line));
    await import(`${generated}/program.ts`).finally(() => log.mockRestore());
    expect(lines.slice(0, 3)).toEqual([
      "500 cents to bob",
      "Permission denied: tool 'transfer' requires confirmation, and no approver is available",
      "Permission denied: tool 'transfer' is disabled by policy",
    ]);
    expect(lines[3]).toContain('action "transfer" appliesTo');
  });
});
