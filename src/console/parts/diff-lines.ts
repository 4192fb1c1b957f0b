/** What a line of a unified diff is. */
export type DiffLineKind = "header" | "hunk" | "added" | "removed" | "";

const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;
const SIGNS: Readonly<Record<string, DiffLineKind>> = { "+": "added", "-": "removed", "@": "hunk" };

/**
 * Returns what each line of a unified diff is. A line of a hunk is never a header, whatever its text: an added `++ x` is
 * written `+++ x`. The header of the hunk says how many lines it has.
 */
export function diffLineKinds(lines: readonly string[]): readonly DiffLineKind[] {
  let [removed, added] = [0, 0];
  return lines.map((line) => {
    const sign = line.charAt(0);
    if (removed > 0 || added > 0) {
      if (sign !== "+" && sign !== "\\") removed--;
      if (sign !== "-" && sign !== "\\") added--;
      return sign === "+" || sign === "-" ? (SIGNS[sign] ?? "") : "";
    }
    const hunk = HUNK.exec(line);
    if (hunk !== null) [removed, added] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)];
    return /^(?:\+\+\+|---) /.test(line) ? "header" : (SIGNS[sign] ?? "");
  });
}
