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

/** Formats of one line. The first that matches counts. Numbers have nine digits at most: beyond a safe integer, they are no JSON. */
const FORMATS: readonly RegExp[] = [
  // `src/a.ts(3,14): error TS2322: …`, as tsc and msbuild write it.
  /^(?<path>[^\s(][^(\n]*)\((?<line>\d{1,9})(?:,(?<column>\d{1,9}))?\): (?<rest>.+)$/,
  // `src/a.sh: line 3: …`, as bash writes it. Of a command without a file, it gives its own name as the path.
  /^(?!(?:\S*\/)?(?:ba|da)?sh:)(?<path>[^\s:][^:\n]*): line (?<line>\d{1,9}): (?<rest>.+)$/,
  // `src/a.sh: 3: …`, as dash writes it. Without a dot or a slash, it could be anything.
  /^(?<path>[^\s:]*[./][^\s:]*): (?<line>\d{1,9}): (?<rest>.+)$/,
  // `src/a.c:3:14: error: …`, as most others do.
  /^(?<path>[^\s:][^:\n]*):(?<line>\d{1,9})(?::(?<column>\d{1,9}))?:? (?<rest>.+)$/,
];

/** `  File "src/a.py", line 3`, as Python writes it. Source lines follow, and then a {@link PYTHON_MESSAGE}. */
const PYTHON_PLACE = /^(?:\*\*\*)?\s*File "(?<path>[^"\n]+)", line (?<line>\d{1,9})(?:, in .*)?$/;
const PYTHON_MESSAGE = /^(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Warning)(?:: .*)?$/;

/** The most lines between a place and its message. */
const MAX_SOURCE_LINES = 8;

const SEVERITY = /^(?<severity>error|warning|info|note|hint)\b:?\s*/i;

/** Python's warnings have names, such as `SyntaxWarning: …`. */
const NAMED_WARNING = /^\w+Warning\b/;

/** Longer lines hold no diagnostics. */
const MAX_LINE = 4_096;

/** Returns the diagnostics in the output of a compiler or linter, and the other lines that are not empty. */
export function parseDiagnostics(text: string): {
  readonly diagnostics: readonly Diagnostic[];
  readonly others: readonly string[];
} {
  const diagnostics: Diagnostic[] = [];
  const others: string[] = [];
  /** The lines from the last place of Python on, for which no message has come yet. */
  let pending: string[] = [];
  const giveUp = (): void => {
    others.push(...pending);
    pending = [];
  };
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === "") continue;
    const isLong = line.length > MAX_LINE;
    if (!isLong && PYTHON_PLACE.test(line)) {
      giveUp();
      pending.push(line);
      continue;
    }
    const [place] = pending;
    if (place !== undefined && !isLong && PYTHON_MESSAGE.test(line)) {
      diagnostics.push(pythonDiagnostic(place, line));
      pending = [];
      continue;
    }
    const found = isLong ? undefined : parseLine(line);
    if (place !== undefined && found === undefined && pending.length <= MAX_SOURCE_LINES) {
      pending.push(line);
      continue;
    }
    giveUp();
    if (found === undefined) others.push(line);
    else diagnostics.push(found);
  }
  giveUp();
  return { diagnostics, others };
}

function pythonDiagnostic(place: string, message: string): Diagnostic {
  const { path = "", line } = PYTHON_PLACE.exec(place)?.groups ?? {};
  return { path, line: Number(line), severity: severityOf(message), message };
}

function parseLine(text: string): Diagnostic | undefined {
  for (const format of FORMATS) {
    const groups = format.exec(text)?.groups;
    if (groups === undefined) continue;
    const { path = "", line, column, rest = "" } = groups;
    return {
      path: path.trim(),
      line: Number(line),
      ...(column !== undefined && { column: Number(column) }),
      severity: severityOf(rest),
      message: rest.replace(SEVERITY, ""),
    };
  }
  return undefined;
}

function severityOf(text: string): Diagnostic["severity"] {
  const severity = SEVERITY.exec(text)?.groups?.["severity"]?.toLowerCase();
  if (severity === "warning" || NAMED_WARNING.test(text)) return "warning";
  return severity === undefined || severity === "error" ? "error" : "info";
}
