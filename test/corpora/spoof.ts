import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { formatTable } from "../../src/cli/commands/dispatch.ts";
import { NOTHING_RAN, type ToolExecution } from "../../src/engine/call/execution.ts";
import { sealExecution } from "../../src/engine/result.ts";
import { CanonicalJson } from "../../src/json/canonical.ts";
import { copyJson } from "../../src/json/copy.ts";
import { Redaction } from "../../src/redaction/redaction.ts";
import { toPageLines, toTerminalLines } from "../../src/rendering/lines.ts";
import { render, textOf } from "../../src/rendering/render.ts";
import { shown, toPrintableJson } from "../../src/rendering/shown.ts";
import { inputSummary } from "../../src/rendering/text-summary.ts";
import { CHROMIUM, showAllOnPage } from "../rendering/page.ts";

interface SpoofRecord {
  readonly id: string;
  readonly text: string;
  readonly why: string;
}

const records = readFileSync(`${process.env["SANDGATE_CORPORA"]}/spoof/spoof.jsonl`, "utf8")
  .trim()
  .split("\n")
  .map((line): SpoofRecord => JSON.parse(line));
const CHARS = 2_000;
const STYLES = /\u001b\[(?:32|31|39)m/g;
const RAW = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

console.log(`spoof: pages in ${CHROMIUM ?? "a tree of parse5, as Chromium is not installed"}`);

/** What a person who overlooks the invisible would take a text for. */
function benignOf(text: string): string {
  return text
    .replace(/\u001b(?:\[[\d;]*[A-Za-z]|[P\]].*?(?:\u001b\\|\u0007))/gs, "")
    .replace(/[\p{C}\p{Default_Ignorable_Code_Point}]/gu, "")
    .replace(/[аеорсух]/g, (letter) => "aeopcyx"["аеорсух".indexOf(letter)] ?? "");
}

function execution(text: string): ToolExecution {
  const given = { callId: text, toolName: text, arguments: {}, success: true, output: text };
  return sealExecution({ ...given, durationMs: 1, sandbox: "host", receipt: NOTHING_RAN }, {});
}

const pageLines = records.map(({ text }) => toPageLines(render(text, { keepsLines: true, chars: CHARS })));
let pages: ReturnType<typeof showAllOnPage> = [];
beforeAll(() => {
  pages = showAllOnPage(pageLines);
});

describe.each(records.map((record, at) => ({ ...record, at })))("$id: $why", ({ text, at }) => {
  test("is one line without characters that act, in a line of Sandgate", () => {
    const { text: line } = shown`the tool '${text}' failed`;
    expect(line).not.toMatch(RAW);
    expect(line).toMatch(/^the tool '.*' failed$/);
  });

  test("is told from what it looks like", () => {
    const benign = benignOf(text);
    if (benign !== text) expect(textOf(render(text))).not.toBe(textOf(render(benign)));
    else expect(render(text).charactersLeftOut).toBe(0);
  });

  test("shows all of its lines with a prefix, on a terminal and on a page", () => {
    const rendering = render(text, { keepsLines: true, chars: CHARS });
    const rows = toTerminalLines(rendering, 80).text.split("\n");
    for (const row of rows) {
      expect(row).toMatch(/^[|:] /);
      expect(row).not.toMatch(RAW);
      expect(row.length).toBeLessThanOrEqual(80);
    }
    const lines = pageLines[at] ?? [];
    expect(pages[at]).toEqual(lines);
    expect(lines.length).toBeLessThanOrEqual(rows.length);
    for (const line of lines) expect(line[0]).toEqual({ kind: "prefix", text: "| " });
  });

  test("is one row of a table, and the same value in JSON", () => {
    const table = formatTable([execution(text)], 200).text.split("\n");
    expect(table).toHaveLength(2);
    // The outcome has a colour of Sandgate around it, and nothing else acts.
    const styles = table.join("").match(STYLES) ?? [];
    expect(styles).toHaveLength(2);
    expect(table.join("").replaceAll(STYLES, "")).not.toMatch(RAW);
    const { text: json } = toPrintableJson({ [text]: text });
    expect(json.replaceAll("\n", "")).not.toMatch(RAW);
    expect(JSON.parse(json)).toEqual({ [text]: text });
  });

  test("is summarised for the person who is asked, with what is left out and the digest of what runs", () => {
    const canonical = new CanonicalJson(copyJson({ command: text }));
    const summary = inputSummary(canonical, { redaction: new Redaction() });
    expect(summary.text).not.toMatch(RAW);
    expect(summary.isPartial).toBe(canonical.text.length > CHARS);
    if (summary.isPartial) expect(summary.text).toContain(`⟦${summary.missing}⟧`);
    else expect(JSON.parse(summary.text)).toEqual({ command: text });
    expect(summary.digest).toBe(canonical.digest);
  });
});
