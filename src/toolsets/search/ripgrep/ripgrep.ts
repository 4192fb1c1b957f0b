import { formatDuration } from "../../../base/units.ts";
import { rustPattern } from "../../../patterns/rust-pattern.ts";
import { FileFailure, shownPath } from "../../../tool/file-failure.ts";
import type {
  ProcessImplementation,
  ProgramCompletion,
} from "../../../tool/implementations/process-implementation.ts";
import type { ProgramContext } from "../../../tool/program-context.ts";
import { ToolFailure } from "../../../tool/tool-failure.ts";
import { prefixOf } from "../../files/walk.ts";
import type { GrepInput } from "../grep-input.ts";
import { LinePattern } from "../line-pattern.ts";
import { MatchedLines, NARROWER } from "../matched-lines.ts";
import { compilePathGlob } from "../path-glob.ts";
import { DEFAULT_MATCHES, moreThan } from "../search-input.ts";
import { checkLines, type FoundFile, readFound } from "./found-lines.ts";
import { globExpression, nameOptions } from "./glob-expression.ts";
import { LINES_FOR_PATH, MAX_OUTPUT_BYTES, SAYS, SCRIPT } from "./script.ts";

/** The exit code of timeout(1). */
const TIME_IS_UP = 124;

/** What ripgrep says of a pattern that it does not take. */
const REFUSED_PATTERN = /^(?:rg: )?(?:regex parse error|Compiled regex exceeds size limit)/m;

/** The exit code of ripgrep if something could not be read. */
const TROUBLE = 2;

/**
 * Returns a program that searches as the walk of `grep` does, with `ripgrep`. What it finds is matched again here, by the
 * same patterns and globs.
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
  const { pattern, glob, ignoreCase = false, filesOnly = false, limit = DEFAULT_MATCHES } = input;
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
    `${limit + 1}`,
    `${canMatchReturn(pattern) ? ANY_NUMBER : filesOnly ? LINES_FOR_PATH : limit + 1}`,
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
  const { filesOnly = false, limit = DEFAULT_MATCHES, ignoreCase = false } = input;
  const pattern = new LinePattern(input.pattern, ignoreCase);
  const notes = new Set<string>();
  const isCut = truncated || Buffer.byteLength(stdout) >= MAX_OUTPUT_BYTES;
  noteTrouble(stderr, input.path ?? ".", timeMs, notes);
  const files = inGlob(
    readFound(truncated ? stdout.replace(/\n\[… [\d,]+ bytes left out …\]\n.*$/s, "") : stdout),
    input,
  );
  if (filesOnly) {
    const found = files.filter(({ lines }) => lines.some(({ text }) => pattern.matches(text)));
    if (found.length > limit || isCut) notes.add(moreThan(Math.min(limit, found.length), NARROWER));
    return { paths: found.slice(0, limit).map(({ path }) => path), ...noteOf(notes) };
  }
  const matched = new MatchedLines(pattern, limit, (text) => notes.add(text));
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

/** Reads what the script says of itself, among what ripgrep says. */
function noteTrouble(stderr: string, path: string, timeMs: number, notes: Set<string>): void {
  const said = stderr
    .split("\n")
    .filter((line) => line.startsWith(SAYS))
    .map((line) => line.slice(SAYS.length));
  if (said.includes("missing")) {
    throw new ToolFailure(
      "execution_error",
      "ripgrep is not installed in the sandbox. Run another program.",
      {
        effect: "none",
      },
    );
  }
  if (said.includes("no path")) {
    throw new FileFailure("no-entry", `Cannot stat '${shownPath(path)}': no such file or directory`);
  }
  if (REFUSED_PATTERN.test(stderr)) {
    throw new ToolFailure("validation_error", "The pattern is too large for ripgrep. Write a shorter one.", {
      effect: "none",
    });
  }
  if (said.includes("other rules")) {
    notes.add(
      "The .gitignore of the workspace has rules with braces, escapes or **, which ripgrep may read otherwise than Git.",
    );
  }
  const ended = said.find((line) => line.startsWith("ended "));
  const code = Number(ended?.slice("ended ".length) ?? TROUBLE);
  if (code === TIME_IS_UP) {
    notes.add(
      `The search ended after ${formatDuration(timeMs)}, before all files were searched. Narrow it to a directory or a glob.`,
    );
  } else if (code >= TROUBLE) notes.add("Some files could not be read.");
}
