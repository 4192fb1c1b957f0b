import { readFile } from "node:fs/promises";
import { PACKAGE_FOLDER } from "../base/package-folder.ts";
import { type CommandDescription, HELP, type OptionDefinition } from "./parse-arguments.ts";

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
