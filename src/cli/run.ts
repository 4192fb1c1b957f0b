import { readFile } from "node:fs/promises";
import { Writable } from "node:stream";
import { PACKAGE_FOLDER } from "../base/package-folder.ts";
import { ShownText, shown } from "../rendering/shown.ts";
import type { Command, Invocation } from "./command.ts";
import { bench, dispatch, PROGRAM_COMMANDS } from "./definitions/dispatch.ts";
import { JOURNAL_COMMANDS, why } from "./definitions/journal.ts";
import { MCP_COMMANDS } from "./definitions/mcp.ts";
import { POLICY_COMMANDS } from "./definitions/policy.ts";
import { confirm, console, GUARD_COMMANDS, serve, storeBackup, supervise } from "./definitions/serve.ts";
import { check, completion, doctor, init, schema, TOOL_COMMANDS } from "./definitions/tool.ts";
import { MessageError, UsageError } from "./errors.ts";
import { type CommandDescription, HELP, type OptionDefinition } from "./parse-arguments.ts";
import {
  EXIT_BAD_INPUT,
  EXIT_INTERRUPTED,
  EXIT_OK,
  hasColors,
  print,
  showProblems,
  styled,
  type Terminal,
} from "./terminal.ts";

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  init,
  dispatch,
  check,
  bench,
  doctor,
  ...POLICY_COMMANDS,
  serve,
  console,
  supervise,
  confirm,
  ...GUARD_COMMANDS,
  storeBackup,
  ...PROGRAM_COMMANDS,
  ...JOURNAL_COMMANDS,
  why,
  ...MCP_COMMANDS,
  ...TOOL_COMMANDS,
  schema,
  completion,
];

/** What a command line asks for. */
export type CommandLine =
  | Invocation
  | {
      readonly name: "help";
      /** The command that help is wanted for, or the first word of several. Default: every command. */
      readonly about: string | undefined;
    }
  | { readonly name: "version" };

/**
 * Runs the `sandgate` command.
 *
 * @param argv The arguments after the program's name.
 * @returns the exit code. Rejects only if there is a bug: the user's mistakes are reported on `stderr`.
 */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  try {
    return await runCommandLine(parseCommandLine(argv, COMMANDS), terminal);
  } catch (error) {
    const problem = await problemText(error, argv);
    if (problem === undefined) {
      if (terminal.signal?.aborted) return EXIT_INTERRUPTED;
      throw error;
    }
    await print(terminal.stderr, problem);
    return EXIT_BAD_INPUT;
  }
}

async function runCommandLine(line: CommandLine, terminal: Terminal): Promise<number> {
  if ("run" in line) return line.run(terminal, COMMANDS);
  const text = line.name === "help" ? helpAbout(line.about) : await readVersion();
  await print(terminal.stdout, new ShownText(text, { isData: true }));
  return EXIT_OK;
}

function helpAbout(about: string | undefined): string {
  const command = COMMANDS.find(({ name }) => name === about);
  if (command !== undefined) return commandHelp(command);
  const group = COMMANDS.filter(({ name }) => name.startsWith(`${about} `));
  return about === undefined ? listHelp(COMMANDS, true) : listHelp(group, false);
}

/** Returns the text of an error that the user caused; `undefined` for any other error. */
async function problemText(error: unknown, argv: readonly string[]): Promise<ShownText | undefined> {
  if (error instanceof UsageError) return usageProblem(error, argv);
  if (error instanceof MessageError) return error.shown;
  // The command that threw a ConfigError has loaded its module already.
  const { JournalError } = await import("../journal/journal-error.ts");
  if (error instanceof JournalError) return shown`sandgate: ${error.message}`;
  const { ConfigError } = await import("../config/problem.ts");
  if (!(error instanceof ConfigError)) return undefined;
  return showProblems(error.problems);
}

async function usageProblem(
  { shown: problem, misspelt }: UsageError,
  [first = "", second = ""]: readonly string[],
): Promise<ShownText> {
  const { suggest } = await import("../base/unknown-names.ts");
  const meant = misspelt && suggest(misspelt.word, misspelt.known);
  const suggestion = meant === undefined ? shown`` : shown`: did you mean '${meant}'?`;
  const names = COMMANDS.map(({ name }) => name);
  const command = [`${first} ${second}`, first].find((name) => names.includes(name));
  const see = command === undefined ? "sandgate --help" : `sandgate ${command} --help`;
  const end = meant === undefined ? shown`.` : shown``;
  return shown`${styled("bad", shown`sandgate:`)} ${problem}${suggestion}${end} See ${see}`;
}

/**
 * Parses the arguments after the program's name.
 *
 * @param all Every command.
 * @throws {UsageError} if they are invalid.
 */
export function parseCommandLine(argv: readonly string[], all: readonly Command[]): CommandLine {
  const [first, second = ""] = argv;
  if (first === undefined) throw new UsageError(shown`the command is missing`);
  if (first === "--version" || first === "-v" || first === "version") return parseVersion(argv);
  if (first === "help") return parseCommandLine([...argv.slice(1), "--help"], all);
  if (isHelp(first)) return { name: "help", about: undefined };
  const found =
    all.find(({ name }) => name === first) ?? all.find(({ name }) => name === `${first} ${second}`);
  if (found === undefined) return parseGroup(first, second, all);
  const rest = argv.slice(found.name.split(" ").length);
  return found.parse(rest) ?? { name: "help", about: found.name };
}

function isHelp(word: string): boolean {
  return word === "--help" || word === "-h";
}

function parseVersion([, extra]: readonly string[]): CommandLine {
  if (extra === undefined) return { name: "version" };
  throw new UsageError(shown`unexpected argument '${extra}'`);
}

/** Parses a command line whose words are not a command: `tool --help`, or a mistake. */
function parseGroup(first: string, second: string, all: readonly Command[]): CommandLine {
  const seconds = all.flatMap(({ name }) =>
    name.startsWith(`${first} `) ? [name.slice(first.length + 1)] : [],
  );
  if (seconds.length === 0) {
    const known = [...new Set(all.map(({ name }) => name.split(" ")[0] ?? "")), "help", "version"];
    const what = shown`${first.startsWith("-") ? "unknown option" : "unknown command"}`;
    const options = ["--help", "--version"];
    throw new UsageError(shown`${what} '${first}'`, { word: first, known: [...known, ...options] });
  }
  if (isHelp(second)) return { name: "help", about: first };
  const list = seconds.join(", ");
  throw new UsageError(shown`'${first}' must be followed by one of ${list}, not '${second}'`, {
    word: second,
    known: seconds,
  });
}

/** Runs the command line of this process, and ends the process with its exit code. */
export async function start(): Promise<never> {
  const interruption = new AbortController();
  // Handles only the first SIGINT. A second one ends the process, even if a tool hangs.
  process.once("SIGINT", () => interruption.abort());
  // A tool may wait for the interruption only. Without a timer the process would exit before its result.
  setInterval(() => {}, 60_000);
  // The reader may close the pipe, like `head` does. That is not an error.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

  const { stdin } = process;
  const stderr = Object.assign(process.stderr, { showsStyles: hasColors(process.stderr) });
  const write = process.stdout.write.bind(process.stdout);
  const stdout = Object.assign(
    new Writable({ write: (chunk, encoding, done) => void write(chunk, encoding, done) }),
    process.stdout.columns === undefined ? {} : { columns: process.stdout.columns },
    { showsStyles: hasColors(process.stdout) },
  );
  // Its error is that of the pipe: what is written later is dropped.
  stdout.on("error", () => {});
  // Standard output is for results. What trusted tools print, here or in a thread, goes to standard error.
  process.stdout.write = stderr.write.bind(stderr);
  const isInteractive = stdin.isTTY === true && stderr.isTTY === true;
  const terminal = { stdin, stdout, stderr, isInteractive, signal: interruption.signal };
  const exitCode = await run(process.argv.slice(2), terminal);
  // All output is written. Timers and handles of tools must not keep the process alive.
  process.exit(exitCode);
}

const WIDTH = 90;

/** The exit codes of every command. */
const EXIT_CODES = {
  0: "success",
  2: "the command line, the config or another input is invalid",
  130: "the command was interrupted",
} as const;

/** Returns the help of one command. */
export function commandHelp(command: CommandDescription): string {
  const { summary, details = [], arguments: args, exitCodes = {} } = command;
  const options = Object.entries({ ...command.options, ...HELP });
  const sections = [
    `Usage: ${fill(usageOf(command), 9)}`,
    fill(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`, 0),
    ...details.map((text) => fill(text, 0)),
    section(
      "Arguments",
      Object.entries(args).map(([name, { help }]) => [name, help]),
    ),
    section(
      "Options",
      options.map(([name, option]) => [optionForm(name, option), optionHelp(option)]),
    ),
    section("Exit codes", Object.entries({ ...EXIT_CODES, ...exitCodes })),
  ];
  return sections.filter((text) => text !== "").join("\n\n");
}

/** Returns the help of several commands: their names, and what they do. */
export function listHelp(commands: readonly CommandDescription[], isAll: boolean): string {
  const rows = commands.map(({ name, summary }) => [name, summary] as const);
  const builtIn: [string, string][] = [
    ["help [COMMAND]", "prints this, or the help of a command"],
    ["version", "prints the version"],
  ];
  return [
    "Usage: sandgate COMMAND [OPTION]...",
    section("Commands", isAll ? [...rows, ...builtIn] : rows),
    ...(isAll ? [section("Exit codes of every command", Object.entries(EXIT_CODES))] : []),
    "sandgate COMMAND --help prints the usage, options and exit codes of a command.",
  ].join("\n\n");
}

/** Returns the usage of a command: its name, arguments and options, on one line. */
function usageOf({
  name,
  arguments: args,
  options,
  alternatives = [],
  takesProgram,
  argumentsBefore = 0,
}: CommandDescription): string {
  const words = Object.entries(args).map(
    ([word, { isOptional, isMultiple }]) => `${isOptional ? `[${word}]` : word}${isMultiple ? "..." : ""}`,
  );
  const grouped = new Set(alternatives.flatMap(({ options: names }) => names));
  const forms = Object.entries(options).flatMap(([option, { required, multiple, ...definition }]) => {
    if (grouped.has(option)) return [];
    const form = valueForm(option, definition);
    return [`${required ? form : `[${form}]`}${multiple ? "..." : ""}`];
  });
  const choices = alternatives.map(({ options: names, isRequired }) => {
    const list = names.flatMap((option) => {
      const definition = options[option];
      return definition === undefined ? [] : [valueForm(option, definition)];
    });
    return isRequired ? `(${list.join(" | ")})` : `[${list.join(" | ")}]`;
  });
  const isRequired = (form: string): boolean => !form.startsWith("[");
  const ordered = [
    ...[...choices, ...forms].filter(isRequired),
    ...[...forms, ...choices].filter((form) => !isRequired(form)),
  ];
  const parts = takesProgram
    ? [...words.slice(0, argumentsBefore), ...ordered, "--", ...words.slice(argumentsBefore)]
    : [...words, ...ordered];
  // An option and its value stay on one line.
  return ["sandgate", name, ...parts.map((part) => part.replaceAll(" ", "\u00a0"))].join(" ");
}

/** Reads the version of this package. */
export async function readVersion(): Promise<string> {
  const text = await readFile(new URL("package.json", PACKAGE_FOLDER), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}

function valueForm(name: string, { value }: Pick<OptionDefinition, "value">): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

function optionForm(name: string, option: OptionDefinition): string {
  return `${option.short === undefined ? "   " : `-${option.short},`} ${valueForm(name, option)}`;
}

function optionHelp({ help, choices = [] }: OptionDefinition): string {
  return choices.length > 1 ? `${help} (${choices.join(", ")})` : help;
}

/** Formats rows of two columns under a heading. A name that is too long for its column has a line of its own. */
function section(heading: string, rows: readonly (readonly [string, string])[]): string {
  if (rows.length === 0) return "";
  const widest = Math.max(...rows.map(([name]) => name.length));
  const column = Math.min(widest, 28) + 4;
  const lines = rows.map(([name, help]) => {
    const start = `  ${name}`.padEnd(column);
    const text = fill(help, column);
    return start.length > column ? `${start}\n${" ".repeat(column)}${text}` : start + text;
  });
  return `${heading}:\n${lines.join("\n")}`;
}

/** Breaks a text between words, so that it fits beside an indentation. The first line has none. */
function fill(text: string, indent: number): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last !== "" && indent + last.length + word.length + 1 > WIDTH) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines.join(`\n${" ".repeat(indent)}`).replaceAll("\u00a0", " ");
}
