import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { shown } from "../rendering/shown.ts";
import { UsageError } from "./errors.ts";

/** Options of every command. */
export const HELP = { help: { type: "boolean", short: "h" } } as const;

/** Options of every command that reads a config. */
export const CONFIG = { config: { type: "string", short: "c" } } as const;

/**
 * Parses the options and positional arguments of a command.
 *
 * @throws {UsageError} if they are invalid.
 */
export function parse<Options extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: Options,
  maxPositionals: number,
): ReturnType<typeof parseArgs<{ options: Options; allowPositionals: true }>> {
  try {
    const parsed = parseArgs({ args: [...args], options, allowPositionals: true });
    const extra = parsed.positionals[maxPositionals];
    if (extra === undefined) return parsed;
    throw new UsageError(shown`unexpected argument '${extra}'`);
  } catch (error) {
    if (error instanceof Error && "code" in error) throw new UsageError(shown`${error.message}`);
    throw error;
  }
}

/** @throws {UsageError} if the config is missing. */
export function required(config: string | undefined): string {
  if (config !== undefined) return config;
  throw new UsageError(shown`--config is missing: it names the sandgate.yaml to use`);
}

/**
 * Returns the value of an option that has a few choices.
 *
 * @throws {UsageError} if the option has any other value.
 */
export function oneOf<Choice extends string>(
  choices: readonly Choice[],
  option: string,
  given: string | undefined,
): Choice | undefined {
  const choice = choices.find((known) => known === given);
  if (choice !== undefined || given === undefined) return choice;
  throw new UsageError(shown`${option} must be one of ${choices.join(", ")}, not '${given}'`);
}
