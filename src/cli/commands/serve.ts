import { ConfigError } from "../../config/problem.ts";
import { type Executor, type ExecutorOptions, startExecutor } from "../../executor/executor.ts";
import { LISTEN_FORM, ListenError, parseListenAddress } from "../../executor/http/listen-address.ts";
import { shown } from "../../rendering/shown.ts";
import { openSandboxes } from "../../sandboxes/open-sandboxes.ts";
import type { Command } from "../command-line.ts";
import { loadConfig } from "../config/load-config.ts";
import { loadServer } from "../config/load-server.ts";
import { UsageError } from "../errors.ts";
import { showProblems } from "../terminal/problems.ts";
import { EXIT_OK, type ExitCode, print, type Terminal } from "../terminal/terminal.ts";
import { checkDropNetwork, DropNetworkError, dropNetwork } from "./drop-network.ts";

/**
 * Serves the tools of a config until SIGTERM or an interruption. It then answers the calls that it has accepted.
 *
 * @throws {ConfigError} if the config is invalid.
 * @throws {UsageError} if it cannot listen on the address or drop the network.
 */
export async function serve(
  { config, listen }: Extract<Command, { name: "serve" }>,
  terminal: Terminal,
): Promise<ExitCode> {
  using termination = new Termination(terminal);
  const { source, problems: toolProblems, registry, policy, sandboxOptions } = await loadConfig(config);
  const problems = [...toolProblems];
  const { options, dropsNetwork } = await loadServer(source, problems);
  if (policy === undefined || problems.some(({ severity }) => severity === "error")) {
    throw new ConfigError(problems);
  }
  await print(terminal.stderr, showProblems(problems));
  if (listen !== undefined && parseListenAddress(listen) === undefined) {
    throw new UsageError(shown`--listen must be ${LISTEN_FORM}`);
  }
  if (dropsNetwork) orUsageError(checkDropNetwork);
  await using sandboxes = await openSandboxes(sandboxOptions);
  sandboxes.ensureExit();
  const where = listen ?? options.listen;
  await using executor = await start({ ...options, listen: where, registry, policy, sandboxes });
  if (dropsNetwork) orUsageError(dropNetwork);
  await print(terminal.stdout, shown`listening on ${executor.address}`);
  await termination.requested;
  await executor.close();
  return EXIT_OK;
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
