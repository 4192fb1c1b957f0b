/** What a compiler or linter says of a place in a file. */
export interface Diagnostic {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  /** From 1; absent if it is not known. */
  readonly column?: number;
  readonly severity: "error" | "warning" | "info";
  readonly message: string;
}

/** `src/a.ts(3,14): error TS2322: …`, as tsc and msbuild write it. */
const IN_PARENTHESES = /^(?<path>[^\s(][^(\n]*)\((?<line>\d+)(?:,(?<column>\d+))?\): (?<rest>.+)$/;

/** `src/a.c:3:14: error: …`, as most others do. */
const WITH_COLONS = /^(?<path>[^\s:][^:\n]*):(?<line>\d+)(?::(?<column>\d+))?:? (?<rest>.+)$/;

const SEVERITY = /^(?<severity>error|warning|info|note|hint)\b:?\s*/i;

/** Longer lines hold no diagnostics. */
const MAX_LINE = 4_096;

/** Returns the diagnostics in the output of a compiler or linter, and the other lines that are not empty. */
export function parseDiagnostics(text: string): {
  readonly diagnostics: readonly Diagnostic[];
  readonly others: readonly string[];
} {
  const diagnostics: Diagnostic[] = [];
  const others: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    const found = line.length > MAX_LINE ? undefined : parseLine(line);
    if (found !== undefined) diagnostics.push(found);
    else if (line.trim() !== "") others.push(line);
  }
  return { diagnostics, others };
}

function parseLine(text: string): Diagnostic | undefined {
  const groups = (IN_PARENTHESES.exec(text) ?? WITH_COLONS.exec(text))?.groups;
  if (groups === undefined) return undefined;
  const { path = "", line, column, rest = "" } = groups;
  const severity = SEVERITY.exec(rest)?.groups?.["severity"]?.toLowerCase();
  return {
    path: path.trim(),
    line: Number(line),
    ...(column !== undefined && { column: Number(column) }),
    severity:
      severity === "warning" ? "warning" : severity === undefined || severity === "error" ? "error" : "info",
    message: rest.replace(SEVERITY, ""),
  };
}
