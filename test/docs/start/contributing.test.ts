import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const text = readFileSync("CONTRIBUTING.md", "utf8");
const sections = new Map(
  text
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.split("\n", 1)[0] ?? "", section]),
);

/** The first cells of the rows of a table, without its head. */
function firstCells(section: string): readonly string[] {
  return Array.from(section.matchAll(/^\| (?!-)(.*?) \|/gm), ([, cell = ""]) => cell).slice(1);
}

describe("CONTRIBUTING.md", () => {
  test("has each section once, and each row of its tables once", () => {
    const headings = Array.from(text.matchAll(/^## (.*)$/gm), ([, heading]) => heading);
    expect(headings).toHaveLength(new Set(headings).size);
    for (const section of [text.split(/^## /m)[0] ?? "", ...sections.values()]) {
      const cells = firstCells(section).filter((cell) => cell !== "–");
      expect(cells).toHaveLength(new Set(cells).size);
    }
  });

  test("has a row for each test script, and none for others", () => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
    const named = Array.from(text.matchAll(/^\| `npm run ([\w:-]+)/gm), ([, name = ""]) => name);
    for (const name of named) expect(scripts).toHaveProperty([name]);
    for (const name of Object.keys(scripts)) if (name.startsWith("test:")) expect(named).toContain(name);
  });

  test("has the steps of a call in their order", () => {
    const [, steps = ""] =
      /^const STEPS.*?\[\n(.*?)^\];/ms.exec(readFileSync("src/engine/engine.ts", "utf8")) ?? [];
    const rows = firstCells(sections.get("Life of a call") ?? "").filter((cell) => cell !== "–");
    expect(rows).toEqual(Array.from(steps.matchAll(/^ {2}(\w+),/gm), ([, step]) => `\`${step}\``));
  });

  test("names files that exist", () => {
    const paths = Array.from(text.matchAll(/`((?:[\w-]+\/)+[\w.-]+\.\w+)`/g), ([, path = ""]) => path);
    expect(paths.length).toBeGreaterThan(30);
    // Paths are those of the repository, of src/, or of any sandbox.
    const roots = [".", "src", "src/sandboxes/quickjs"];
    const isThere = (path: string): boolean => roots.some((root) => existsSync(`${root}/${path}`));
    const missing = paths.filter((path) => !path.startsWith("FOLDER/") && !isThere(path));
    expect(missing).toEqual([]);
  });
});
