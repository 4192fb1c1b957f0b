import type { ConfigUse } from "./found-config.ts";
import {
  type Arguments,
  type ArgumentValues,
  type CommandDescription,
  type Options,
  type OptionValues,
  parseArguments,
} from "./parse-arguments.ts";
import { EXIT_INTERRUPTED, type Terminal } from "./terminal.ts";

/** The option `--config` without its help. */
export const CONFIG = { type: "string", short: "c", value: "sandgate.yaml" } as const;

/** The options of commands that find the config in the current folder if none is named: see {@link withConfig}. */
export const FOUND_CONFIG = {
  config: {
    type: "string",
    short: "c",
    value: "sandgate.yaml",
    help: "the config, with the tools, the policy and the sandboxes; default: sandgate.yaml in this folder, if only you can write it",
  },
  yes: { type: "boolean", help: "uses a config that was found, not named, without asking" },
} as const;

/**
 * Returns the options of a command with the path of its config, which is found if none was named.
 *
 * @throws {UsageError} if none is found, or it must not be used.
 */
export async function withConfig<Given extends { readonly config: string | undefined }>(
  given: Given & { readonly yes?: boolean },
  use: ConfigUse,
  terminal: Terminal,
): Promise<Given & { readonly config: string }> {
  if (given.config !== undefined) return { ...given, config: given.config };
  // Loaded lazily: help and version do not need it.
  const { findConfig } = await import("./found-config.ts");
  return { ...given, config: await findConfig(CONFIG.value, use, given.yes ?? false, terminal) };
}

/** The option `--config` of commands that serve: they do not look for a config. */
export const REQUIRED_CONFIG = {
  config: {
    type: "string",
    short: "c",
    value: "sandgate.yaml",
    required: true,
    help: "the config, with the tools, the policy and the sandboxes",
  },
} as const;

/** The option `--json`. */
export const JSON_OUTPUT = { json: { type: "boolean", help: "prints JSON" } } as const;

/** A command with its parsed arguments. */
export interface Invocation {
  /** The command's name. */
  readonly name: string;
  /** The arguments, in the form that the command takes. */
  readonly given: unknown;
  /**
   * Runs the command.
   *
   * @param all Every command.
   * @returns the exit code.
   */
  run(terminal: Terminal, all: readonly Command[]): Promise<number>;
}

export interface Command extends CommandDescription {
  /**
   * Parses the arguments after the command's name. Returns `undefined` if they ask for help.
   *
   * @throws {UsageError} if they are invalid.
   */
  parse(args: readonly string[]): Invocation | undefined;
}

interface Definition<O extends Options, A extends Arguments, Given> extends CommandDescription {
  readonly options: O;
  readonly arguments: A;
  /**
   * Converts the arguments to the form that the command takes.
   *
   * @throws {UsageError} if they are invalid in a way that the description cannot express.
   */
  read(options: OptionValues<O>, args: ArgumentValues<A>): Given;
  /** Loads the command's code and runs it. */
  run(given: Given, terminal: Terminal, all: readonly Command[]): Promise<number>;
}

/** Defines a command. Its code is loaded when it runs, so that a definition costs little. */
export function defineCommand<const O extends Options, const A extends Arguments, Given>(
  definition: Definition<O, A, Given>,
): Command {
  const { read, run, ...description } = definition;
  return {
    ...description,
    parse: (args) => {
      const parsed = parseArguments<O, A>(args, definition);
      if (parsed === undefined) return undefined;
      const given = read(parsed.options, parsed.args);
      return {
        name: definition.name,
        given,
        run: (terminal, all) => {
          const running = run(given, terminal, all);
          return definition.endsAtOnce ? orInterrupted(running, terminal) : running;
        },
      };
    },
  };
}

/** Waits for a command until the user interrupts it. Its work then continues until the process exits. */
async function orInterrupted(running: Promise<number>, { signal }: Terminal): Promise<number> {
  if (signal === undefined) return running;
  // Loaded lazily: help and version do not need it.
  const { race } = await import("../base/timers.ts");
  const code = await race(running, { signals: [signal] });
  return code === "aborted" ? EXIT_INTERRUPTED : code;
}
