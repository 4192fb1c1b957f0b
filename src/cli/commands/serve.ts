import { ConfigError } from "../../config/problem.ts";
import { type Executor, type ExecutorOptions, startExecutor } from "../../executor/executor.ts";
import type { Credentials } from "../../executor/http/authentication.ts";
import { LISTEN_FORM, ListenError, parseListenAddress } from "../../executor/http/listen-address.ts";
import { joinShown, shown } from "../../rendering/shown.ts";
import type { ShownText } from "../../rendering/shown-text.ts";
import { openSandboxes, type SandboxesOptions } from "../../sandboxes/open-sandboxes.ts";
import type { Command } from "../command-line.ts";
import { loadConfig } from "../config/load-config.ts";
import { loadServer, type ServerConfig } from "../config/load-server.ts";
import { UsageError } from "../errors.ts";
import { showProblems } from "../terminal/problems.ts";
import { EXIT_OK, type ExitCode, print, type Terminal } from "../terminal/terminal.ts";
import { checkDropNetwork, DropNetworkError, dropNetwork } from "./drop-network.ts";
import { Reloads } from "./reloads.ts";

/**
 * Serves the tools of a config until SIGTERM or an interruption. It then answers the calls that it has accepted. On
 * SIGHUP it reloads tools, policy and credentials.
 *
 * @throws {ConfigError} if the config is invalid.
 * @throws {UsageError} if it cannot listen on the address or drop the network.
 */
export async function serve(
  { config, listen }: Extract<Command, { name: "serve" }>,
  terminal: Terminal,
): Promise<ExitCode> {
  using termination = new Termination(terminal);
  using reloads = new Reloads();
  const loaded = await load(config);
  await print(terminal.stderr, loaded.warnings);
  if (listen !== undefined && parseListenAddress(listen) === undefined) {
    throw new UsageError(shown`--listen must be ${LISTEN_FORM}`);
  }
  if (loaded.dropsNetwork) orUsageError(checkDropNetwork);
  await using sandboxes = await openSandboxes(loaded.sandboxOptions);
  sandboxes.ensureExit();
  const { options, tools } = loaded;
  await using executor = await start({ ...options, ...tools, listen: listen ?? options.listen, sandboxes });
  if (loaded.dropsNetwork) orUsageError(dropNetwork);
  reloads.begin(async () => print(terminal.stderr, await reload(executor, config)));
  await print(terminal.stdout, shown`listening on ${executor.address}`);
  await termination.requested;
  await executor.close();
  return EXIT_OK;
}

/** What the command needs of a config. */
interface LoadedConfig {
  readonly tools: Pick<ExecutorOptions, "registry" | "policy">;
  readonly options: ServerConfig["options"];
  readonly dropsNetwork: boolean;
  readonly sandboxOptions: SandboxesOptions;
  /** Empty if there are none. */
  readonly warnings: ShownText;
}

/** @throws {ConfigError} if the config has errors. */
async function load(file: string): Promise<LoadedConfig> {
  const { source, problems: toolProblems, registry, policy, sandboxOptions } = await loadConfig(file);
  const problems = [...toolProblems];
  const { options, dropsNetwork } = await loadServer(source, problems);
  if (policy === undefined || problems.some(({ severity }) => severity === "error")) {
    throw new ConfigError(problems);
  }
  const warnings = showProblems(problems);
  return { tools: { registry, policy }, options, dropsNetwork, sandboxOptions, warnings };
}

/**
 * Loads the config again, and replaces the executor's tools, policy and credentials. If the config is invalid, it
 * changes nothing.
 *
 * @returns what to tell the operator. Never rejects.
 */
async function reload(executor: Executor, file: string): Promise<ShownText> {
  try {
    const { tools, options, warnings } = await load(file);
    executor.reload({ ...tools, ...credentialsOf(options) });
    const done = shown`reloaded the config`;
    return warnings.text === "" ? done : joinShown([warnings, done], "\n");
  } catch (error) {
    // Whatever is wrong with the files, the executor goes on.
    const message = error instanceof Error ? error.message : String(error);
    const problems = error instanceof ConfigError ? showProblems(error.problems) : shown`${message}`;
    return joinShown([problems, shown`the config was not reloaded: nothing has changed`], "\n");
  }
}

function credentialsOf({ keys, token, tokenName }: ServerConfig["options"]): Credentials {
  return {
    ...(keys && { keys }),
    ...(token !== undefined && { token }),
    ...(tokenName !== undefined && { tokenName }),
  };
}

function orUsageError(step: () => void): void {
  try {
    step();
  } catch (error) {
    if (error instanceof DropNetworkError)
      throw new UsageError(shown`cannot drop the network: ${error.message}`);
    throw error;
  }
}

async function start(options: ExecutorOptions): Promise<Executor> {
  try {
    return await startExecutor(options);
  } catch (error) {
    if (error instanceof ListenError)
      throw new UsageError(shown`cannot listen on ${options.listen}: ${error.message}`);
    throw error;
  }
}

/** Waits for SIGTERM or an interruption. Only the first one is handled: a second one ends the process at once. */
class Termination implements Disposable {
  readonly requested: Promise<void>;
  #stop = (): void => {};

  constructor({ signal }: Terminal) {
    this.requested = new Promise((resolve) => {
      const end = (): void => resolve();
      process.once("SIGTERM", end);
      signal?.addEventListener("abort", end);
      if (signal?.aborted) end();
      this.#stop = () => {
        process.off("SIGTERM", end);
        signal?.removeEventListener("abort", end);
      };
    });
  }

  [Symbol.dispose](): void {
    this.#stop();
  }
}
