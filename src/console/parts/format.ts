import { escapeText } from "../../rendering/escape.ts";

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** What a line of a unified diff is. */
type DiffLineKind = "header" | "hunk" | "added" | "removed" | "";

const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

const SIGNS: Readonly<Record<string, DiffLineKind>> = { "+": "added", "-": "removed", "@": "hunk" };

/** Writes a duration, such as `0.12 ms`, `31 ms`, `1.4 s`, `3 min`, `5 h` or `7 days`. */
export function duration(ms: number | undefined): string {
  if (ms === undefined) return "";
  if (ms < 10) return `${ms.toFixed(2)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 172_800_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} days`;
}

/** Writes a time of today as `14:03:12`, and any other one with its date. Takes milliseconds since the epoch or an ISO 8601 text. */
export function time(at: number | string | undefined): string {
  if (at === undefined) return "";
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return "";
  const clock = date.toLocaleTimeString(undefined, { hour12: false });
  return date.toDateString() === new Date().toDateString() ? clock : `${date.toLocaleDateString()} ${clock}`;
}

/** Writes when something began: `14:03` today, and otherwise the date. Takes milliseconds since the epoch. */
export function clock(at: number): string {
  const date = new Date(at);
  return date.toDateString() === new Date().toDateString()
    ? date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hour12: false })
    : date.toLocaleDateString();
}

/** Writes an amount with its noun: `1 call`, `1,234 calls`. */
export function count(amount: number, noun: string): string {
  return `${amount.toLocaleString("en-US")} ${noun}${amount === 1 ? "" : "s"}`;
}

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

/** Indents a JSON text without parsing it, so that every number and every escape stays as it is. */
export function indentJson(text: string): string {
  const tokens = text.match(TOKEN) ?? [];
  let depth = 0;
  let indented = "";
  for (const [at, token] of tokens.entries()) {
    const next = tokens[at + 1];
    if (token === "{" || token === "[") {
      const isEmpty = next === "}" || next === "]";
      if (!isEmpty) depth++;
      indented += token + (isEmpty ? "" : lineBreak(depth));
    } else if (token === "}" || token === "]") {
      const previous = tokens[at - 1];
      const isEmpty = previous === "{" || previous === "[";
      if (!isEmpty) depth--;
      indented += (isEmpty ? "" : lineBreak(depth)) + token;
    } else if (token === ",") indented += `,${lineBreak(depth)}`;
    else if (token === ":") indented += ": ";
    else indented += token;
  }
  return indented;
}

function lineBreak(depth: number): string {
  return `\n${"  ".repeat(Math.max(0, Math.min(depth, 64)))}`;
}

/** Writes misleading characters in a JSON text as escapes of JSON, so that it can be edited. */
export function printableJson(text: string): string {
  return printable(indentJson(text), "json");
}

/** Escapes a text of several lines that the server has not escaped. */
export function printable(text: string, syntax: "text" | "json" = "text"): string {
  return escapeText(text, { syntax, keepsLines: true, maxSpaces: Number.POSITIVE_INFINITY })
    .map(({ text: part }) => part)
    .join("");
}

/** Escapes a text that the server has not escaped, such as a path, so that it is one line. */
export function printableLine(text: string): string {
  return escapeText(text, { syntax: "text", keepsLines: false, maxSpaces: Number.POSITIVE_INFINITY })
    .map(({ text: part }) => part)
    .join("");
}
