import { existsSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { stripVTControlCharacters, styleText } from "node:util";
import type { ConfigProblem } from "../config/problem.ts";
import { wrapLine } from "../rendering/lines.ts";
import { joinShown, ShownText, shown, toLine } from "../rendering/shown.ts";

const MAX_PROBLEM_CHARS = 500;

/** The longest address that is printed as a whole. */
const MAX_ADDRESS_CHARS = 16_384;

/** What a style means. The colours are the same in every command. */
const STYLES = { good: "green", bad: "red", caution: "yellow", heading: "bold", minor: "dim" } as const;

/** `columns` is the width of a terminal; without it, the stream is a file or a pipe. */
type Output = Writable & {
  readonly columns?: number;
  /** Whether texts keep their styles. Default: `false`. */
  readonly showsStyles?: boolean;
};

/** The streams of a command: those of the process, or of a test. */
export interface Terminal {
  readonly stdin: Readable;
  readonly stdout: Output;
  readonly stderr: Output & { readonly isTTY?: boolean };
  /** Whether a person can be asked: input and error output are a terminal. Default: `false`. */
  readonly isInteractive?: boolean;
  /** Aborted when the user interrupts. */
  readonly signal?: AbortSignal;
}

/**
 * Writes lines and waits until they are flushed. A closed stream is not an error. On a terminal, long lines are wrapped,
 * so that no row looks like a line of its own; a wrapped line has no styles.
 */
export function print(stream: Output, { text, isData }: ShownText): Promise<void> {
  if (text === "") return Promise.resolve();
  const written = isData
    ? text
    : text
        .split("\n")
        .map((line) => terminalLine(line, stream))
        .join("\n");
  return new Promise((resolve) => {
    stream.write(written.endsWith("\n") ? written : `${written}\n`, () => resolve());
  });
}

function terminalLine(line: string, { columns, showsStyles = false }: Output): string {
  const plain = withoutStyles(line);
  const wrapped = wrapLine(plain, columns);
  return showsStyles && wrapped === plain ? line : wrapped;
}

/** Asks the person at the terminal, and returns whether the answer was yes. Without a terminal, it is not. */
export async function asksForYes(
  question: ShownText,
  { isInteractive = false, stdin, stderr, signal }: Terminal,
): Promise<boolean> {
  if (!isInteractive) return false;
  await print(stderr, question);
  const lines = createInterface({ input: stdin, ...(signal && { signal }) });
  try {
    for await (const line of lines) return /^y(es)?$/i.test(line.trim());
    return false;
  } finally {
    lines.close();
  }
}

/** Every call was dispatched, even if tools failed; or no problem was found. */
export const EXIT_OK = 0;
/** `tool run`: the tool failed. `doctor`: the config uses what does not work here. `bench`: a figure is above its maximum. */
export const EXIT_TOOL_FAILED = 1;
/** The command line, the config, the message or a tool's file is invalid. */
export const EXIT_BAD_INPUT = 2;
/** `sandgate policy diff`: the new policy permits something that the old one does not. */
export const EXIT_WIDER = 3;
/** The user interrupted the command: 128 + SIGINT, the convention of shells. */
export const EXIT_INTERRUPTED = 130;

/** The exit code of the process. */
export type ExitCode =
  | typeof EXIT_OK
  | typeof EXIT_TOOL_FAILED
  | typeof EXIT_BAD_INPUT
  | typeof EXIT_WIDER
  | typeof EXIT_INTERRUPTED;

/**
 * Styles a text for terminals with colours; `print` leaves the style out elsewhere. Only escape sequences of this function
 * reach a terminal: those in foreign text are rendered as visible characters before.
 */
export function styled(style: keyof typeof STYLES, { text, isData }: ShownText): ShownText {
  return new ShownText(styleText(STYLES[style], text, { validateStream: false }), { isData });
}

/** Removes the styles of a text. */
export function withoutStyles(text: string): string {
  return text.includes("\u001b") ? stripVTControlCharacters(text) : text;
}

/**
 * Whether a stream shows colours: a terminal does unless `NO_COLOR` is set or it is `dumb`, and any stream does if
 * `FORCE_COLOR` is set.
 */
export function hasColors(stream: NodeJS.WritableStream): boolean {
  // It applies the rules of Node.js for these variables.
  return styleText("bold", "x", { stream }) !== "x";
}

/**
 * Returns an address for a line of its own, which is never wrapped, so that it can be opened and copied. It has neither spaces nor
 * other characters than ASCII, so that no part of it looks like a line of words.
 *
 * @throws {TypeError} if it is not a URL.
 */
export function link(url: string): ShownText {
  return new ShownText(toLine(new URL(url).href, MAX_ADDRESS_CHARS), { isData: true });
}

/** Formats a problem as one line: `file:line:column: message`, with `warning: ` before a warning's message. */
export function showProblem({ file, line, column, severity, message }: ConfigProblem): ShownText {
  const label = severity === "warning" ? styled("caution", shown`warning: `) : shown``;
  const place = styled("heading", shown`${file}:${line}:${column}:`);
  return shown`${place} ${label}${new ShownText(toLine(message, MAX_PROBLEM_CHARS))}`;
}

/** Formats problems as one line each. */
export function showProblems(problems: readonly ConfigProblem[]): ShownText {
  return joinShown(problems.map(showProblem), "\n");
}

/** How package managers run a command that is installed in a project, by their names in `npm_config_user_agent`. */
const RUNNERS: ReadonlyMap<string, string> = new Map([
  ["npm", "npx sandgate"],
  ["pnpm", "pnpm exec sandgate"],
  ["yarn", "yarn sandgate"],
  ["bun", "bunx sandgate"],
]);

const LOCK_FILES: Readonly<Record<string, string>> = {
  "package-lock.json": "npm",
  "pnpm-lock.yaml": "pnpm",
  "yarn.lock": "yarn",
  "bun.lock": "bun",
};

/**
 * Returns how the user runs this command here: `sandgate` if it is on the path, or else with the package manager that runs it
 * now, or whose lock file is here or in a folder above; with npm if there is none.
 */
export function ownCommand(): ShownText {
  const { npm_config_user_agent: agent = "", PATH = "" } = process.env;
  const running = RUNNERS.get(agent.split("/", 1).join());
  if (running !== undefined) return new ShownText(running);
  // Package managers add the folders of their packages to the path of what they run.
  const folders = PATH.split(delimiter).filter(
    (folder) => isAbsolute(folder) && !/node_modules/.test(folder),
  );
  if (folders.some((folder) => existsSync(join(folder, "sandgate")))) return new ShownText("sandgate");
  return new ShownText(RUNNERS.get(lockedBy(process.cwd()) ?? "npm") as string);
}

function lockedBy(folder: string): string | undefined {
  const found = Object.keys(LOCK_FILES).find((name) => existsSync(join(folder, name)));
  if (found !== undefined) return LOCK_FILES[found];
  return dirname(folder) === folder ? undefined : lockedBy(dirname(folder));
}

/** Calls up to so many characters are put into a command that is to be copied. */
const MAX_CALL = 500;

/**
 * Returns the command that prints what would allow a call, which is never wrapped, so that it can be copied.
 *
 * @param args The arguments as JSON, which are foreign text: they are put into the command only if they are plain, and valid.
 * @param config Default: the one that the command finds.
 */
export function commandThatAllows(tool: string, args: string, config?: string): ShownText {
  const written = config === undefined ? "" : ` --config ${quoted(config) ?? "FILE"}`;
  const given = quoted(callOf(tool, args)) ?? "JSON";
  return new ShownText(`${ownCommand().text} policy explain --suggest${written} --call ${given}`, {
    isData: true,
  });
}

function callOf(tool: string, args: string): string {
  try {
    const call = JSON.stringify({ tool, arguments: JSON.parse(args) });
    return call.length <= MAX_CALL ? call : "";
  } catch {
    return "";
  }
}

/** Quotes a text for a shell, which changes nothing between single quotes; `undefined` if it is not plain. */
function quoted(text: string): string | undefined {
  if (/^[\w./@-]+$/.test(text)) return text;
  return /^[ -&(-~]+$/.test(text) ? `'${text}'` : undefined;
}
