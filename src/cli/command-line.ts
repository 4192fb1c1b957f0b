import { type ParseArgsOptionsConfig, parseArgs } from "node:util";

/** The formats in which a message can come, by the names that the command line knows. */
const FORMATS = ["native", "openai", "anthropic"] as const;
/** How the executions can be printed. */
const OUTPUTS = ["table", "json", "messages"] as const;

/** The name of a message's format. */
export type Format = (typeof FORMATS)[number];

/** What the user wants. */
export type Command =
  | { readonly name: "help" | "version" }
  | { readonly name: "check"; readonly config: string }
  | {
      readonly name: "dispatch";
      /** `-` is the standard input. */
      readonly file: string;
      readonly config: string;
      readonly format: Format;
      readonly output: (typeof OUTPUTS)[number];
    };

/** A command line that means nothing. The message says what to do. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

const HELP = { help: { type: "boolean", short: "h" } } as const;
const VERSION = { version: { type: "boolean", short: "v" } } as const;
const CONFIG = { config: { type: "string", short: "c" } } as const;
const DISPATCH = { format: { type: "string" }, output: { type: "string" } } as const;

/**
 * Reads the arguments after the program's name.
 *
 * @throws {UsageError}
 */
export function parseCommandLine(argv: readonly string[]): Command {
  const [name, ...rest] = argv;
  if (name === undefined) throw new UsageError("a command is missing");
  if (name === "dispatch") return parseDispatch(rest);
  if (name === "check") return parseCheck(rest);
  if (!name.startsWith("-")) throw new UsageError(`'${name}' is no command`);
  const { values } = parse(argv, { ...HELP, ...VERSION }, 0);
  return { name: values.help ? "help" : "version" };
}

function parseDispatch(args: readonly string[]): Command {
  const { values, positionals } = parse(args, { ...HELP, ...CONFIG, ...DISPATCH }, 1);
  if (values.help) return { name: "help" };
  return {
    name: "dispatch",
    file: positionals[0] ?? "-",
    config: required(values.config),
    format: oneOf(FORMATS, "--format", values.format) ?? "native",
    output: oneOf(OUTPUTS, "--output", values.output) ?? "table",
  };
}

function parseCheck(args: readonly string[]): Command {
  const { values } = parse(args, { ...HELP, ...CONFIG }, 0);
  return values.help ? { name: "help" } : { name: "check", config: required(values.config) };
}

function parse<Options extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: Options,
  maxPositionals: number,
): ReturnType<typeof parseArgs<{ options: Options; allowPositionals: true }>> {
  try {
    const parsed = parseArgs({ args: [...args], options, allowPositionals: true });
    const tooMuch = parsed.positionals[maxPositionals];
    if (tooMuch === undefined) return parsed;
    throw new UsageError(`'${tooMuch}' is one argument too many`);
  } catch (error) {
    if (error instanceof Error && "code" in error) throw new UsageError(error.message);
    throw error;
  }
}

function required(config: string | undefined): string {
  if (config !== undefined) return config;
  throw new UsageError("--config is missing: it names the sandgate.yaml to use");
}

function oneOf<Choice extends string>(
  choices: readonly Choice[],
  option: string,
  given: string | undefined,
): Choice | undefined {
  const choice = choices.find((known) => known === given);
  if (choice !== undefined || given === undefined) return choice;
  throw new UsageError(`${option} must be one of ${choices.join(", ")}, not '${given}'`);
}
