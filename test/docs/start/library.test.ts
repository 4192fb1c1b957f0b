import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { blocksOf, printedBy, saidOutput } from "../snippets.ts";

const text = readFileSync("docs/library.md", "utf8");

describe("docs/library.md", () => {
  test.each([
    [0, 1],
    [1, 2],
    [2, 2],
    [3, 2],
    [4, 2],
  ])("has a program that prints what it says: number %i", async (index, lines) => {
    const folder = mkdtempSync(join(tmpdir(), "sandgate-docs-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "policy.yaml");
    writeFileSync(file, blocksOf("docs/library.md", "yaml")[0] ?? "");
    const program =
      blocksOf("docs/library.md", "ts")[index]?.replace('"policy.yaml"', JSON.stringify(file)) ?? "";
    expect(saidOutput(program)).toHaveLength(lines);
    expect(await printedBy(program)).toEqual(saidOutput(program));
  });

  test("has a row for each entry point of the package", () => {
    const { exports } = JSON.parse(readFileSync("package.json", "utf8"));
    const entries = Object.keys(exports).filter((path) => path !== "./package.json");
    const rows = Array.from(text.matchAll(/^\| `(sandgate[\w/]*)` \|/gm), ([, name]) => name);
    expect(rows.sort()).toEqual(entries.map((path) => path.replace(/^\./, "sandgate")).sort());
  });
});
