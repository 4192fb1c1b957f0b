import { shown } from "../rendering/shown.ts";
import type { Command, Invocation } from "./command.ts";
import { UsageError } from "./errors.ts";

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
