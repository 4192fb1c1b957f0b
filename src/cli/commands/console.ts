import { existsSync } from "node:fs";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PACKAGE_FOLDER } from "../../base/package-folder.ts";
import { makeTemporaryDirectory } from "../../base/temporary-directory.ts";
import { isLocal, parseListenAddress } from "../../executor/http/listen-address.ts";
import { shown } from "../../rendering/shown.ts";
import { UsageError } from "../errors.ts";
import { type ExitCode, print, type Terminal } from "../terminal.ts";
import { serve } from "./serve/serve.ts";

/** A config with calls to look at, in a temporary folder that is deleted with it. */
class Example implements AsyncDisposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async create(): Promise<Example> {
    const folder = makeTemporaryDirectory("console");
    await cp(fileURLToPath(new URL("examples/console", PACKAGE_FOLDER)), folder, { recursive: true });
    return new Example(folder);
  }

  get config(): string {
    return join(this.#folder, "sandgate.yaml");
  }

  get message(): string {
    return join(this.#folder, "message.json");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Options of `sandgate console`. */
interface ConsoleOptions {
  /** Default: `sandgate.yaml` if it exists, and otherwise the example. */
  readonly config: string | undefined;
  /** A file with an assistant's message, whose calls are made; `-` is standard input. Default: none. */
  readonly message: string | undefined;
  readonly listen: string;
  /** Serves the example, whether or not there is a config. */
  readonly isExample: boolean;
}

const DEFAULT_CONFIG = "sandgate.yaml";

/**
 * Serves a config with sessions and the console until SIGTERM or an interruption, and prints a link to log in with.
 *
 * @throws {ConfigError} if the config is invalid.
 * @throws {MessageError} if the message is invalid.
 * @throws {UsageError} if there is no such config, or the address is not one of this machine.
 */
export async function console(
  { config, message, listen, isExample }: ConsoleOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  const address = parseListenAddress(listen);
  if (address?.kind !== "tcp" || !isLocal(address))
    throw new UsageError(shown`--listen must be an address of this machine, such as 127.0.0.1:7420`);
  const options = { listen, console: true } as const;
  if (isExample && (config !== undefined || message !== undefined))
    throw new UsageError(shown`--example has a config and a message of its own`);
  const hasNothing = config === undefined && message === undefined && !existsSync(DEFAULT_CONFIG);
  if (isExample || hasNothing) {
    await using example = await Example.create();
    const why = hasNothing ? shown`there is no ${DEFAULT_CONFIG} here: ` : shown``;
    await print(
      terminal.stdout,
      shown`${why}this is an example. 'sandgate init' creates a config of your own`,
    );
    return await serve({ ...options, config: example.config, message: example.message }, terminal);
  }
  const file = config ?? DEFAULT_CONFIG;
  if (!existsSync(file))
    throw new UsageError(
      shown`there is no ${file}: create one with 'sandgate init', or name one with --config`,
    );
  return await serve({ ...options, config: file, ...(message !== undefined && { message }) }, terminal);
}
