import type { MaybePromise } from "../base/promises.ts";
import { defineTool, type Tool } from "../engine/tool.ts";
import type { HostContext } from "../tool/implementations/implementations.ts";
import type { ProgramCompletion } from "../tool/implementations/process-implementation.ts";
import { ToolFailure } from "../tool/tool-failure.ts";
import type { ModelReader } from "../tool/tool-traits.ts";
import { listText, onOneLine } from "./model-texts.ts";
import { inputSchema, type ToolsetNaming } from "./tool-parts.ts";

/** A message of a compiler or linter about a place in a file. */
interface Diagnostic {
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
  // `src/a.c:3:14: error: …`, as most other tools do.
  /^(?<path>[^\s:][^:\n]*):(?<line>\d{1,9})(?::(?<column>\d{1,9}))?:? (?<rest>.+)$/,
];

/** `  File "src/a.py", line 3`, as Python writes it. Source lines follow, and then a {@link PYTHON_MESSAGE}. */
const PYTHON_PLACE = /^(?:\*\*\*)?\s*File "(?<path>[^"\n]+)", line (?<line>\d{1,9})(?:, in .*)?$/;

const PYTHON_MESSAGE = /^(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Warning)(?:: .*)?$/;

/** Maximum number of lines between a place and its message. */
const MAX_SOURCE_LINES = 8;

const SEVERITY = /^(?<severity>error|warning|info|note|hint)\b:?\s*/i;

/** Python's warnings have names, such as `SyntaxWarning: …`. */
const NAMED_WARNING = /^\w+Warning\b/;

/** Longer lines are not parsed as diagnostics. */
const MAX_LINE = 4_096;

/** The options of the toolset `diagnostics`: where diagnostics come from. One of both is needed. */
export interface DiagnosticsOptions extends ToolsetNaming {
  /**
   * A compiler or linter and its arguments, such as `["tsc", "--noEmit"]`, which runs in the sandbox `process`. It must write
   * diagnostics as `path(line,column): error …` or `path:line:column: error …`, or as bash, dash and Python do.
   */
  readonly command?: readonly [program: string, ...args: string[]];
  /** A function of the embedder, such as a client of a language server. */
  readonly find?: (paths: readonly string[], context: HostContext) => MaybePromise<readonly Diagnostic[]>;
}

/** Maximum number of diagnostics in an answer, and of other lines. */
const MAX_DIAGNOSTICS = 500;
const MAX_OTHERS = 50;

/** Maximum number of lines of a command that could not be run. */
const MAX_REASON_LINES = 5;

const INPUT = inputSchema(
  {},
  {
    paths: {
      type: "array",
      items: { type: "string", pattern: "^[^-]", maxLength: 4_096 },
      maxItems: 1_000,
      description: "The files that are asked about. Default: all of the project.",
    },
  },
);

/** A tool that says what a compiler or linter finds wrong with files: `get_diagnostics`. */
export function diagnosticsTools({ command, find }: DiagnosticsOptions): readonly Tool[] {
  if ((command === undefined) === (find === undefined)) {
    throw new TypeError("The toolset 'diagnostics' needs either a command or a function find");
  }
  const [program = "", ...args] = command ?? [];
  return [
    defineTool({
      name: "get_diagnostics",
      description: "Returns errors and warnings of the project's compiler or linter, with their places.",
      sideEffects: "read",
      inputSchema: INPUT,
      modelText: diagnosticsText,
      ...(find !== undefined && {
        host: async ({ paths = [] }: { readonly paths?: readonly string[] }, context: HostContext) =>
          shorten(await find(paths, context), []),
      }),
      ...(command !== undefined && {
        process: {
          command: program,
          args: [...args, { argument: "/paths" }],
          input: "none",
          output: "completion",
          result: (completion, { paths = [] }: { readonly paths?: readonly string[] }) =>
            answerFor(program, completion, paths),
        },
      }),
    }),
  ];
}

/** The tool's result. */
interface FoundDiagnostics {
  readonly diagnostics: readonly Diagnostic[];
  readonly leftOut?: number;
  readonly otherOutput?: string;
  readonly exitCode?: number;
  readonly note?: string;
}

/** Returns how the model reads it: as compilers write diagnostics. */
function diagnosticsText(
  { diagnostics, leftOut = 0, otherOutput, exitCode, note }: FoundDiagnostics,
  reader: ModelReader,
): string {
  const lines = diagnostics.map(
    ({ path, line, column, severity, message }) =>
      `${onOneLine(path)}:${line}${column === undefined ? "" : `:${column}`}: ${severity}: ${message}`,
  );
  const others = otherOutput === undefined ? [] : [otherOutput];
  const code = exitCode === undefined ? [] : [`Exit code: ${exitCode}`];
  const notes = [
    ...(leftOut > 0 ? [`${leftOut} more are left out.`] : []),
    ...(note === undefined ? [] : [note]),
  ];
  return listText(
    {
      lines: [...lines, ...others, ...code],
      what: "lines",
      none: "There are no errors or warnings.",
      narrower: "Ask about fewer paths.",
      ...(notes.length > 0 && { note: notes.join(" ") }),
    },
    reader,
  );
}

/**
 * Returns what a command found in the files that were asked about.
 *
 * @throws {ToolFailure} if the command could not be run, which would look as if it had found nothing.
 */
function answerFor(
  program: string,
  { exitCode, stdout, stderr, truncated }: ProgramCompletion,
  paths: readonly string[],
) {
  const { diagnostics, others } = parseDiagnostics(`${stdout}\n${stderr}`);
  const isUnread = diagnostics.length === 0 && exitCode !== 0;
  if (isUnread && NOT_RUN.has(exitCode)) throw notRun(program, exitCode, others);
  const asked = diagnostics.filter(({ path }) => paths.length === 0 || isAsked(path, paths));
  const notes = [
    ...(isUnread
      ? [`The command failed with exit code ${exitCode}, and wrote no diagnostics that could be read.`]
      : []),
    ...(truncated ? ["The output was too long: diagnostics from its middle are missing."] : []),
  ];
  return { exitCode, ...shorten(asked, others), ...(notes.length > 0 && { note: notes.join(" ") }) };
}

/** The exit codes of a shell, and of Sandgate, for a program that cannot be executed or is not there. */
const NOT_RUN: ReadonlySet<number> = new Set([126, 127]);

function notRun(program: string, exitCode: number, lines: readonly string[]): ToolFailure {
  const words = lines.slice(-MAX_REASON_LINES).join("\n");
  return new ToolFailure(
    "execution_error",
    `The command '${program}', which finds diagnostics, could not be run (exit code ${exitCode}): ask the user to install ` +
      `it, or to configure another one.${words === "" ? "" : `\n${words}`}`,
    { effect: "none" },
  );
}

/** Whether a path is one of those that were asked about, or below it. */
function isAsked(path: string, paths: readonly string[]): boolean {
  const name = path.replace(/^\.\//, "");
  return paths.some((each) => {
    const asked = each.replace(/^\.\//, "").replace(/\/+$/, "");
    return name === asked || name.startsWith(`${asked}/`) || asked === ".";
  });
}

/** Leaves out what is too much, and says how much that is. */
function shorten(diagnostics: readonly Diagnostic[], others: readonly string[]) {
  const leftOut = diagnostics.length - MAX_DIAGNOSTICS;
  return {
    diagnostics: diagnostics.slice(0, MAX_DIAGNOSTICS),
    ...(leftOut > 0 && { leftOut }),
    ...(others.length > 0 && { otherOutput: others.slice(-MAX_OTHERS).join("\n") }),
  };
}

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
