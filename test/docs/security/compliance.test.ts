import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const rows = readFileSync("docs/compliance.md", "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| control |"))
  .map((line) => line.slice(2, -2).split(" | "));

test("Each control in docs/compliance.md is not covered, or has tests that exist under their names", () => {
  expect(rows.length).toBeGreaterThan(60);
  const flaws = rows.flatMap(([control = "", what = "", shownBy = "", ...others]) => {
    if (others.length > 0) return [`${control}: has more than three cells`];
    if (shownBy === "not covered")
      return what === "–" ? [] : [`${control}: says what there is, and is not covered`];
    return shownBy.split("<br>").flatMap((cell) => {
      const [, file = "", title = ""] = /^`(test\/[\w/-]+\.test\.ts)`: (.+)$/.exec(cell) ?? [];
      if (!existsSync(file)) return [`${control}: there is no test file in '${cell}'`];
      return hasTest(readFileSync(file, "utf8"), title) ? [] : [`${control}: ${file} has no test '${title}'`];
    });
  });
  expect(flaws).toEqual([]);
});

/** Whether a test has a title, and is not skipped whatever the machine has. */
function hasTest(source: string, title: string): boolean {
  const at = source.indexOf(JSON.stringify(title));
  const call = source.slice(0, Math.max(at, 0)).trimEnd();
  return at !== -1 && /\btest(?:\.skipIf\([^)]*\)|\.each[\s\S]{0,400}\)?)?\($/.test(call);
}
