import { existsSync } from "node:fs";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PACKAGE_FOLDER } from "../../base/package-folder.ts";
import { makeTemporaryDirectory } from "../../base/temporary-directory.ts";
import { isLocal, parseListenAddress } from "../../http/listen-address.ts";
import { shown } from "../../rendering/shown.ts";
import { CONFIG, withConfig } from "../command.ts";
import { UsageError } from "../errors.ts";
import { ownCommand, print, type Terminal } from "../terminal.ts";

/** Options of `sandgate console`. */
interface ConsoleOptions {
  /** Default: `sandgate.yaml` if it exists, and otherwise the example. */
  readonly config: string | undefined;
  /** Whether a config that was found is used without a question. */
  readonly yes: boolean;
  /** A file with an assistant's message, whose calls are made; `-` is standard input. Default: none. */
  readonly message: string | undefined;
  readonly listen: string;
  /** Serves the example, whether or not there is a config. */
  readonly isExample: boolean;
}

/** A config with sessions and the console, for `serve`. The example is in a temporary folder that is deleted with it. */
export class ServedConsole implements AsyncDisposable {
  readonly config: string;
  readonly message: string | undefined;
  readonly listen: string;
  readonly #folder: string | undefined;

  private constructor(config: string, message: string | undefined, listen: string, folder?: string) {
    this.config = config;
    this.message = message;
    this.listen = listen;
    this.#folder = folder;
  }

  /** @throws {UsageError} if there is no such config, or the address is not one of this machine. */
  static async open(
    { config, yes, message, listen, isExample }: ConsoleOptions,
    terminal: Terminal,
  ): Promise<ServedConsole> {
    const address = parseListenAddress(listen);
    if (address?.kind !== "tcp" || !isLocal(address))
      throw new UsageError(shown`--listen must be an address of this machine, such as 127.0.0.1:7420`);
    if (isExample && (config !== undefined || message !== undefined))
      throw new UsageError(shown`--example has a config and a message of its own`);
    const hasNothing = config === undefined && message === undefined && !existsSync(CONFIG.value);
    if (isExample || hasNothing) {
      const folder = makeTemporaryDirectory("console");
      await cp(fileURLToPath(new URL("examples/console", PACKAGE_FOLDER)), folder, { recursive: true });
      const why = hasNothing ? shown`there is no ${CONFIG.value} here: ` : shown``;
      await print(
        terminal.stdout,
        shown`${why}this is an example. '${ownCommand()} init' creates a config of your own`,
      );
      return new ServedConsole(join(folder, "sandgate.yaml"), join(folder, "message.json"), listen, folder);
    }
    const { config: file } = await withConfig({ config, yes }, "calls", terminal);
    if (!existsSync(file))
      throw new UsageError(
        shown`there is no ${file}: create one with '${ownCommand()} init', or name one with --config`,
      );
    return new ServedConsole(file, message, listen);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
  }
}
