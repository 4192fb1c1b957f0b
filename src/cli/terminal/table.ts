import { formatDuration } from "../../base/units.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import { toToolResult } from "../../engine/call/messages.ts";
import { toText } from "../../protocols/parsing/text.ts";
import { FOREIGN_PREFIX } from "../../rendering/lines.ts";
import { render, textOf } from "../../rendering/render.ts";
import { ShownText } from "../../rendering/shown-text.ts";
import { fitText, textWidth } from "../../rendering/text-width.ts";
import { styled } from "./styled.ts";

const HEADINGS = ["call", "tool", "sandbox", "outcome", "rules", "time"] as const;
const GAP = "  ";
const OUTCOME_COLUMN = 3;
/** The model chooses ids and names. They must not push the outcome out of view. */
const MAX_COLUMNS = [24, 32, 7, Number.POSITIVE_INFINITY, 24, 12] as const;
const MIN_OUTCOME_COLUMNS = 20;
/** More characters than a line can show: the others are not examined. Runs of spaces would look like the next column. */
const CELL = { chars: 1_000, maxSpaces: 1 } as const;
const HEADING_PREFIX = " ".repeat(FOREIGN_PREFIX.length);

/** The names of the policy's rules for each execution. */
export type RulesOfExecutions = ReadonlyMap<ToolExecution, readonly string[]>;

/**
 * Formats executions as a table with one line each, at most `columns` wide. Texts from tools and models are rendered, and
 * each line has the prefix of foreign text, as the model chooses how it begins.
 */
export function formatTable(
  executions: readonly ToolExecution[],
  columns: number,
  rules: RulesOfExecutions = new Map(),
): ShownText {
  const rows = [HEADINGS, ...executions.map((execution) => toRow(execution, rules.get(execution)))].map(
    (row) => row.map((cell) => textOf(render(cell, CELL))),
  );
  const widths = HEADINGS.map((_, column) => {
    const widest = Math.max(...rows.map((row) => textWidth(row[column] ?? "")));
    return Math.min(widest, MAX_COLUMNS[column] ?? widest);
  });
  const others = widths.reduce((sum, width, column) => (column === OUTCOME_COLUMN ? sum : sum + width), 0);
  const left = columns - FOREIGN_PREFIX.length - others - GAP.length * (HEADINGS.length - 1);
  widths[OUTCOME_COLUMN] = Math.min(widths[OUTCOME_COLUMN] ?? 0, Math.max(left, MIN_OUTCOME_COLUMNS));
  const lines = rows.map(
    (row, index) => (index === 0 ? HEADING_PREFIX : FOREIGN_PREFIX) + formatRow(row, widths, index > 0),
  );
  return new ShownText(lines.join("\n"));
}

function formatRow(row: readonly string[], widths: readonly number[], isCall: boolean): string {
  const cells = row.map((cell, column) => {
    const fitted = fitText(cell, widths[column] ?? 0);
    if (!isCall || column !== OUTCOME_COLUMN) return fitted;
    return styled(cell.startsWith("ok:") ? "good" : "bad", new ShownText(fitted)).text;
  });
  return cells.join(GAP).trimEnd();
}

function toRow(execution: ToolExecution, rules: readonly string[] = []): readonly string[] {
  const { callId, toolName, sandbox, durationMs, error } = execution;
  const outcome = `${error?.code ?? "ok"}: ${toText(toToolResult(execution).content)}`;
  const time = formatDuration(Number(durationMs.toFixed(durationMs < 10 ? 1 : 0)));
  return [callId, toolName, sandbox ?? "-", outcome, rules.join(", ") || "-", time];
}
