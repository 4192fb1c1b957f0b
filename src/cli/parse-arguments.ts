import { parseArgs } from "node:util";
import { ShownText, shown } from "../rendering/shown.ts";
import { UsageError } from "./errors.ts";

/** An option of a command. */
export interface OptionDefinition {
  readonly type: "string" | "boolean";
  /** One letter. */
  readonly short?: string;
  /** Whether it may be repeated. */
  readonly multiple?: boolean;
  /** The placeholder for the value in the usage, such as `FILE`. Absent for booleans. */
  readonly value?: string;
  readonly required?: boolean;
  /** The only values. Default: any. */
  readonly choices?: readonly string[];
  /** Describes what it is or does, without a full stop at the end. */
  readonly help: string;
}

/** An argument that is not an option. */
interface ArgumentDefinition {
  readonly help: string;
  readonly isOptional?: boolean;
  /** Whether it may be repeated. Only for the last one. */
  readonly isMultiple?: boolean;
}

/** Options by their long names. */
export type Options = Readonly<Record<string, OptionDefinition>>;

/** Arguments in their order, by their names in the usage. */
export type Arguments = Readonly<Record<string, ArgumentDefinition>>;

/** Options that exclude each other. */
interface Alternatives {
  readonly options: readonly string[];
  /** Whether one of them must be given. */
  readonly isRequired?: boolean;
}

/** Everything about a command that its help, its completion and the parser say and check. */
export interface CommandDescription {
  /** One or two words, such as `tool run`. */
  readonly name: string;
  /** What it does: a sentence that continues after the name, such as `runs a tool`. */
  readonly summary: string;
  /** Further paragraphs of its help. */
  readonly details?: readonly string[];
  readonly options: Options;
  readonly arguments: Arguments;
  readonly alternatives?: readonly Alternatives[];
  /** Whether its arguments are a program and that program's arguments, which stand after `--`. */
  readonly takesProgram?: boolean;
  /** How many arguments of a command that takes a program stand before the `--`. Default: 0. */
  readonly argumentsBefore?: number;
  /**
   * Whether an interruption ends it at once, since it has nothing to put in order. Default: it ends by itself when
   * `Terminal.signal` is aborted.
   */
  readonly endsAtOnce?: boolean;
  /** What its own exit codes mean, besides those of every command. */
  readonly exitCodes?: Readonly<Record<string, string>>;
}

type OptionValue<O extends OptionDefinition> = O["type"] extends "boolean"
  ? boolean
  : O["multiple"] extends true
    ? readonly string[]
    :
        | (O["choices"] extends readonly (infer Choice)[] ? Choice : string)
        | (O["required"] extends true ? never : undefined);

/** The values of options: `false`, an empty list or `undefined` for those that are absent. */
export type OptionValues<O extends Options> = { readonly [Name in keyof O]: OptionValue<O[Name]> };

type ArgumentValue<A extends ArgumentDefinition> = A["isMultiple"] extends true
  ? readonly string[]
  : string | (A["isOptional"] extends true ? undefined : never);

/** The values of arguments: an empty list or `undefined` for those that are absent. */
export type ArgumentValues<A extends Arguments> = { readonly [Name in keyof A]: ArgumentValue<A[Name]> };

/** The option of every command. */
export const HELP = {
  help: { type: "boolean", short: "h", help: "prints this help" },
} as const;

type Values = Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>;

/**
 * Parses the arguments after a command's name. Returns `undefined` if they ask for help.
 *
 * @throws {UsageError} if they do not match the description.
 */
export function parseArguments<O extends Options, A extends Arguments>(
  given: readonly string[],
  description: CommandDescription,
): { readonly options: OptionValues<O>; readonly args: ArgumentValues<A> } | undefined {
  const end = description.takesProgram ? given.indexOf("--") : -1;
  const own = end === -1 ? given : given.slice(0, end);
  const { values, positionals } = parseOptions(own, description.options);
  if (values["help"]) return undefined;
  const { takesProgram, argumentsBefore = 0 } = description;
  const stray = takesProgram ? positionals[argumentsBefore] : undefined;
  if (stray !== undefined) throw new UsageError(shown`unexpected argument '${stray}'`);
  const words = end === -1 ? positionals : [...positionals, ...given.slice(end + 1)];
  if (takesProgram && end === -1 && words.length >= argumentsBefore && argumentsBefore > 0)
    throw new UsageError(shown`a program is missing after '--'`);
  const args = readArguments(words, description);
  return { options: readOptions(values, description) as OptionValues<O>, args: args as ArgumentValues<A> };
}

function parseOptions(
  args: readonly string[],
  definitions: Options,
): { readonly values: Values; readonly positionals: readonly string[] } {
  const options = { ...HELP, ...definitions };
  const known = Object.entries(options).flatMap(([name, { short }]) => [
    `--${name}`,
    ...(short ? [`-${short}`] : []),
  ]);
  const { tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind !== "option" || known.includes(token.rawName)) continue;
    throw new UsageError(shown`unknown option '${token.rawName}'`, { word: token.rawName, known });
  }
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true }) as ReturnType<typeof parseOptions>;
  } catch (error) {
    if (error instanceof Error && "code" in error) throw new UsageError(shown`${error.message}`);
    throw error;
  }
}

function readOptions(values: Values, { options, alternatives = [] }: CommandDescription): Values {
  for (const { options: names, isRequired = false } of alternatives) {
    const [first, second] = names.filter((name) => values[name] !== undefined);
    if (second !== undefined)
      throw new UsageError(shown`--${first ?? ""} and --${second} cannot be used together`);
    const list = names.map((name) => `--${name}`).join(" or ");
    if (first === undefined && isRequired) throw new UsageError(shown`either ${list} is required`);
  }
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => {
      const value = values[name];
      if (value === undefined && option.required)
        throw new UsageError(shown`--${name} ${option.value ?? "VALUE"} is missing: ${option.help}`);
      if (typeof value === "string") checkChoice(`--${name}`, value, option.choices);
      return [name, value ?? (option.type === "boolean" ? false : option.multiple ? [] : undefined)];
    }),
  );
}

function checkChoice(option: string, value: string, choices: readonly string[] | undefined): void {
  if (choices === undefined || choices.includes(value)) return;
  const list = choices.join(", ");
  throw new UsageError(shown`${option} must be one of ${list}, not '${value}'`, {
    word: value,
    known: choices,
  });
}

function readArguments(words: readonly string[], { arguments: definitions }: CommandDescription): Values {
  const values: Record<string, string | readonly string[] | undefined> = {};
  let next = 0;
  for (const [name, { help, isOptional, isMultiple }] of Object.entries(definitions)) {
    const word = words[next];
    if (word === undefined && !isOptional)
      throw new UsageError(shown`${new ShownText(name)} is missing: ${help}`);
    values[name] = isMultiple ? words.slice(next) : word;
    next = isMultiple ? words.length : next + 1;
  }
  const extra = words[next];
  if (extra !== undefined) throw new UsageError(shown`unexpected argument '${extra}'`);
  return values;
}
