import { formatDuration } from "../../base/units.ts";
import { rustPattern } from "../../patterns/rust-pattern.ts";
import type {
  ProcessImplementation,
  ProgramCompletion,
} from "../../tool/implementations/process-implementation.ts";
import { FileFailure, shownPath, ToolFailure } from "../../tool/tool-failure.ts";
import type { ProgramContext } from "../../tool/tool-traits.ts";
import type { GlobToken } from "../files/glob.ts";
import { prefixOf } from "../files/walk.ts";
import { LinePattern } from "./line-pattern.ts";
import {
  DEFAULT_MATCHES,
  type FoundLine,
  type Line,
  MatchedLines,
  moreThan,
  NARROWER,
} from "./matched-lines.ts";
import { compilePathGlob, type PathGlob, readPathGlob } from "./path-glob.ts";
import { notSearched } from "./search.ts";

/** The lines that ripgrep found in a file. */
interface FoundFile {
  readonly path: string;
  readonly lines: readonly Line[];
}

/** What is found among the lines of a file. */
interface CheckedLines {
  readonly lines: readonly FoundLine[];
  readonly matches: number;
  readonly hasMore: boolean;
}

/** How many lines of each file are read to find out whether the file has a match, if only paths are asked for. */
const LINES_FOR_PATH = 3;

/** Maximum number of bytes that the script writes: less than what is retained of a program's output. */
const MAX_OUTPUT_BYTES = 450_000;

/** With what the script begins the lines of its standard error that are its own. */
const SAYS = "sandgate: ";

/**
 * Rules of a `.gitignore` that ripgrep reads differently from Git: alternatives in braces, escapes, POSIX
 * classes, and `**` that is not a whole name.
 */
const OTHER_RULES = "^[^#].*([{}\\\\]|\\[\\[:|\\[:|[^/!]\\*\\*|\\*\\*[^/*\\r])|^[{}\\\\]";

/**
 * Finds files in two steps. The first one has ripgrep find the files that have a match, with all CPUs, and orders their paths
 * as the walk does: files before the directories beside them. The second one reads the matches of the first of them, one
 * after another. Only the first one can take long, and only the second one can write much.
 *
 * The first step leaves out files that have a NUL near their beginning. The second one also finds lines with a NUL: their
 * files are binary. Only a file that has as many matches as may be read before its first NUL passes for text.
 *
 * ripgrep is started in the directory that is searched: version 13 applies rules of the directories above to wrong paths
 * otherwise.
 *
 * Its arguments are the pattern, the path, what paths begin with (as a replacement of sed), more options of ripgrep (one on
 * each line), an extended regular expression for paths, the number of files, of lines in each file and of lines around each
 * match, and the seconds that it may take.
 */
const SCRIPT: string = `
pattern=$1 path=$2 prefix=$3 options=$4 paths=$5 files=$6 lines=$7 context=$8 seconds=$9
say() { echo "${SAYS}$1" >&2; }
command -v rg >/dev/null || { say missing; exit 0; }
[ -d "$path" ] || [ -f "$path" ] || { say "no path"; exit 0; }
[ ! -f "$path" ] || ! rg --no-config --text --quiet --encoding none -e '\\x00' -- "$path" || say binary
walk() {
  timeout "$seconds" rg --no-config --hidden --no-ignore-dot --no-ignore-exclude --no-ignore-global --no-require-git \\
    --encoding none --color never --null "$@"
}
IFS='
'
set -f
[ ! -f .gitignore ] || { rg --no-config --quiet -e '${OTHER_RULES}' -- .gitignore 2>/dev/null && say "other rules"; } &
{ ! [ -d "$path" ] || { cd -- "$path" && path=.; }
  walk -g '!.git' --files-with-matches $options -e "$pattern" -- "$path"; say "ended $?"; } |
  sed -zE -e "s:^\\./:$prefix:" -e "\\:$paths:!d" -e '/[\\x01-\\x03\\\\]/d' \\
    -e 's:([^/]*)/:\\x03\\1\\x01:g' -e 's:[^\\x01\\x03]*$:\\x02&:' | sort -z |
  sed -z -e 's:[\\x02\\x03]::g' -e 's:\\x01:/:g' -e "$((files + 50))q" |
  xargs -0 -r rg --no-config -j1 --text --encoding none --no-heading --with-filename --null --line-number --color never \\
    --max-count "$lines" --context "$context" --no-context-separator -e "$pattern" -e '\\x00' -- 2>/dev/null |
  head -c ${MAX_OUTPUT_BYTES}
wait
`;

/** Names for which a glob of ripgrep means the same. */
const PLAIN_NAME = /^[\w.*-]+$/;

/** The arguments of `grep`. */
interface GrepInput {
  readonly pattern: string;
  /** Default: the workspace. */
  readonly path?: string;
  /** Default: all files. */
  readonly glob?: string;
  readonly ignoreCase?: boolean;
  /** How many lines to show before and after each match. Default: 0. */
  readonly context?: number;
  readonly filesOnly?: boolean;
  /** Maximum number of matches, or paths. */
  readonly limit?: number;
  /** How many of them are skipped. Default: 0. */
  readonly offset?: number;
}

/** The exit code of timeout(1). */
const TIME_IS_UP = 124;

/** The message of ripgrep about a pattern that it does not support. */
const REFUSED_PATTERN = /^(?:rg: )?(?:regex parse error|Compiled regex exceeds size limit)/m;

/** The exit code of ripgrep if something could not be read. */
const TROUBLE = 2;

/**
 * Returns a program that searches as the walk of `grep` does, with `ripgrep`. Its results are matched again
 * here, with the same patterns and globs.
 *
 * @param timeMs After how many milliseconds the search ends with what it has found.
 */
export function ripgrep(timeMs: number): ProcessImplementation<GrepInput> {
  return {
    command: "sh",
    args: (input, context) => ["-c", SCRIPT, "sh", ...argumentsFor(input, context, timeMs)],
    input: "none",
    output: "completion",
    result: (completion, input) => resultOf(completion, input, timeMs),
  };
}

function argumentsFor(input: GrepInput, context: ProgramContext, timeMs: number): readonly string[] {
  const { pattern, glob, ignoreCase = false, filesOnly = false, limit = DEFAULT_MATCHES, offset = 0 } = input;
  const most = `${offset + limit + 1}`;
  // Refuses what the walk refuses, with the same text.
  new LinePattern(pattern, ignoreCase);
  const prefix = prefixOf(pathIn(input.path ?? ".", context));
  return [
    rustPattern(pattern, ignoreCase),
    prefix.replace(/\/$/, "") || ".",
    prefix.replace(/[\\&:\n]/g, "\\$&"),
    [
      // The walk does not read what is above such a path, either.
      ...(prefix.split("/").includes("..") ? ["--no-ignore-parent"] : []),
      ...(glob === undefined ? [] : nameOptions(glob)),
    ].join("\n"),
    glob === undefined ? "^" : globExpression(glob, prefix),
    most,
    `${canMatchReturn(pattern) ? ANY_NUMBER : filesOnly ? LINES_FOR_PATH : most}`,
    `${filesOnly ? 0 : (input.context ?? 0)}`,
    `${timeMs / 1_000}`,
  ];
}

/** More lines than a file has. */
const ANY_NUMBER = 1_000_000_000;

/**
 * Whether a pattern may match a carriage return. To ripgrep, the one before a line feed is a part of the line, so that it finds
 * lines that do not match here: those must not count. If they are more than can be written, a note says so.
 */
function canMatchReturn(pattern: string): boolean {
  return /\\[sWDPpBrcxu0]|\[\^|\[[^\]]*-|\r/.test(pattern);
}

/** The program sees the workspace under another path than this process. */
function pathIn(path: string, { workspace }: ProgramContext): string {
  if (!path.startsWith("/")) return path;
  if (workspace !== undefined && `${path}/`.startsWith(`${workspace}/`)) {
    return path.slice(workspace.length + 1) || ".";
  }
  const next = "Give one that is relative to the workspace.";
  throw new ToolFailure("validation_error", `Cannot search an absolute path here. ${next}`, {
    effect: "none",
  });
}

function resultOf(
  { stdout, stderr, truncated }: ProgramCompletion,
  input: GrepInput,
  timeMs: number,
): object {
  const { filesOnly = false, limit = DEFAULT_MATCHES, ignoreCase = false, offset = 0 } = input;
  const end = offset + limit;
  const pattern = new LinePattern(input.pattern, ignoreCase);
  const notes = new Set<string>();
  const isCut = truncated || Buffer.byteLength(stdout) >= MAX_OUTPUT_BYTES;
  noteTrouble(stderr, input, timeMs, notes);
  const files = inGlob(
    readFound(truncated ? stdout.replace(/\n\[… [\d,]+ bytes left out …\]\n.*$/s, "") : stdout),
    input,
  );
  if (filesOnly) {
    const found = files.filter(({ lines }) => lines.some(({ text }) => pattern.matches(text)));
    if (found.length > end || isCut) notes.add(moreThan(limit, NARROWER, Math.min(end, found.length)));
    return { paths: found.slice(offset, end).map(({ path }) => path), ...noteOf(notes) };
  }
  const matched = new MatchedLines(pattern, { limit, offset }, (text) => notes.add(text));
  const isAll = files.every(({ path, lines }) => {
    const checked = checkLines(lines, pattern, input.context ?? 0, matched.left);
    return checked.lines.length === 0 && !checked.hasMore ? true : matched.add(path, checked);
  });
  if (isAll && isCut) notes.add(`There are more or longer lines than can be shown. ${NARROWER}.`);
  return { matches: matched.files, ...noteOf(notes) };
}

function inGlob(files: readonly FoundFile[], { glob, path = "." }: GrepInput): readonly FoundFile[] {
  if (glob === undefined) return files;
  const filter = compilePathGlob(glob);
  const { length } = path.startsWith("/") ? "" : prefixOf(path);
  return files.filter(({ path: found }) => filter(found === path ? found : found.slice(length)));
}

function noteOf(notes: ReadonlySet<string>): { readonly note?: string } {
  return notes.size === 0 ? {} : { note: [...notes].join(" ") };
}

/** Reads the script's own lines among the messages of ripgrep. */
function noteTrouble(stderr: string, input: GrepInput, timeMs: number, notes: Set<string>): void {
  const { path = "." } = input;
  const reports = stderr
    .split("\n")
    .filter((line) => line.startsWith(SAYS))
    .map((line) => line.slice(SAYS.length));
  if (reports.includes("missing")) {
    throw new ToolFailure(
      "execution_error",
      "ripgrep is not installed in the sandbox. Run another program.",
      {
        effect: "none",
      },
    );
  }
  if (reports.includes("no path")) {
    throw new FileFailure("no-entry", `Cannot stat '${shownPath(path)}': no such file or directory`);
  }
  if (REFUSED_PATTERN.test(stderr)) {
    throw new ToolFailure("validation_error", "The pattern is too large for ripgrep. Write a shorter one.", {
      effect: "none",
    });
  }
  if (reports.includes("binary") && inGlob([{ path, lines: [] }], input).length > 0)
    notes.add(notSearched(path));
  if (reports.includes("other rules")) {
    notes.add(
      "The .gitignore of the workspace has rules with braces, escapes or **, which ripgrep may read differently from Git.",
    );
  }
  const ended = reports.find((line) => line.startsWith("ended "));
  const code = Number(ended?.slice("ended ".length) ?? TROUBLE);
  if (code === TIME_IS_UP) {
    notes.add(
      `The search ended after ${formatDuration(timeMs)}, before all files were searched. Narrow it to a directory or a glob.`,
    );
  } else if (code >= TROUBLE) notes.add("Some files could not be read.");
}

/**
 * Returns a POSIX extended regular expression (of `sed -zE` between colons, in a UTF-8 locale) that matches all paths that a glob matches,
 * and for some sets of characters a few more.
 *
 * @param prefix What paths begin with, before what the glob is matched against.
 * @throws {ToolFailure} `validation_error` if it is not a valid glob.
 */
function globExpression(source: string, prefix: string): string {
  const start = `^(${[...prefix].map(escaped).join("")})?`;
  const globs = readPathGlob(source).map(
    ({ tokens, isOfNames }) => `${isOfNames ? "(.*/)?" : ""}${tokens.map(written).join("")}`,
  );
  return `${start}(${globs.join("|")})$`;
}

/** Returns the options that have ripgrep read no other files, for a glob of names that it takes in the same way. */
function nameOptions(source: string): readonly string[] {
  const names = readPathGlob(source).map(plainName);
  if (names.some((name) => name === undefined)) return [];
  return [...names.flatMap((name) => ["--type-add", `sandgate:${name}`]), "--type", "sandgate"];
}

function plainName({ tokens, isOfNames }: PathGlob): string | undefined {
  const name = tokens.map((token) => (token.kind === "character" ? String.fromCodePoint(token.code) : "*"));
  const isPlain = tokens.every(({ kind }) => kind === "character" || kind === "star");
  return isOfNames && isPlain && PLAIN_NAME.test(name.join("")) ? name.join("") : undefined;
}

function written(token: GlobToken): string {
  switch (token.kind) {
    case "character":
      return escaped(String.fromCodePoint(token.code));
    case "set":
      return "[^/]";
    case "star":
      return "[^/]*";
    case "deep":
      return ".*";
    case "deep-slash":
      return "(.*/)?";
  }
}

function escaped(character: string): string {
  if (character === ":" || character === "\n") return "[^/]";
  return /[\\^$.[\]|()?*+{}]/.test(character) ? `\\${character}` : character;
}

/**
 * Reads the lines that ripgrep wrote as `PATH NUL NUMBER:TEXT`, in order. A line that is not complete is left out, and so are files
 * with a NUL in a line.
 */
function readFound(stdout: string): readonly FoundFile[] {
  const files: { readonly path: string; readonly lines: Line[] }[] = [];
  for (let at = 0; at < stdout.length; ) {
    const nul = stdout.indexOf("\0", at);
    const end = nul < 0 ? -1 : stdout.indexOf("\n", nul);
    if (end < 0) break;
    const path = stdout.slice(at, nul);
    const [, number = ""] = /^(\d+)[:-]/.exec(stdout.slice(nul + 1, nul + 20)) ?? [];
    const start = nul + number.length + 2;
    const text = stdout.slice(start, stdout[end - 1] === "\r" && end > start ? end - 1 : end);
    let file = files.at(-1);
    if (file?.path !== path) {
      file = { path, lines: [] };
      files.push(file);
    }
    file.lines.push({ number: Number(number), text });
    at = end + 1;
  }
  return files.filter(({ lines }) => !lines.some(({ text }) => text.includes("\0")));
}

/**
 * Matches the lines again: ripgrep is asked for more than the pattern matches.
 *
 * @param context How many lines before and after each match are returned.
 * @param limit The most matches.
 */
function checkLines(
  lines: readonly Line[],
  pattern: LinePattern,
  context: number,
  limit: number,
): CheckedLines {
  const matching = lines.filter(({ text }) => pattern.matches(text));
  const shown = matching.slice(0, limit).map(({ number }) => number);
  const next = matching[limit]?.number ?? Number.POSITIVE_INFINITY;
  const isShown = ({ number }: Line): boolean =>
    number < next && shown.some((each) => Math.abs(each - number) <= context);
  const numbers = new Set(shown);
  return {
    lines: lines.filter(isShown).map((line) => ({ ...line, isMatch: numbers.has(line.number) })),
    matches: shown.length,
    hasMore: matching.length > limit,
  };
}
