import type { ConfigProblem } from "../../config/problem.ts";
import { joinShown, shown, toLine } from "../../rendering/shown.ts";
import { ShownText } from "../../rendering/shown-text.ts";
import { styled } from "./terminal.ts";

const MAX_MESSAGE_LENGTH = 500;

/** Formats a problem as one line: `file:line:column: message`, with `warning: ` before a warning's message. */
export function showProblem({ file, line, column, severity, message }: ConfigProblem): ShownText {
  const label = severity === "warning" ? styled("caution", shown`warning: `) : shown``;
  const place = styled("heading", shown`${file}:${line}:${column}:`);
  return shown`${place} ${label}${new ShownText(toLine(message, MAX_MESSAGE_LENGTH))}`;
}

/** Formats problems as one line each. */
export function showProblems(problems: readonly ConfigProblem[]): ShownText {
  return joinShown(problems.map(showProblem), "\n");
}
