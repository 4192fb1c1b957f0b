import { ConfigError } from "../../config/problem.ts";
import type { Journal } from "../../journal/journal.ts";
import type { AgentCapabilities } from "../../policy/agent-capabilities.ts";
import { CapabilityKernel } from "../../policy/capability-kernel.ts";
import { shown } from "../../rendering/shown.ts";
import { ToolPreparationError } from "../../sandboxes/contract/sandbox.ts";
import { openSandboxes, type Sandboxes } from "../../sandboxes/open-sandboxes.ts";
import { kernelPolicy } from "../../supervisor/access/kernel-policy.ts";
import type { AgentHandle } from "../../supervisor/agent.ts";
import type { AgentLogLine } from "../../supervisor/agent-log.ts";
import { openSupervisor, type Supervisor } from "../../supervisor/supervisor.ts";
import { type Config, loadConfig } from "../config/load-config.ts";
import { openLog } from "../config/load-log.ts";
import { openConfiguredTelemetry } from "../config/load-telemetry.ts";
import { UsageError } from "../errors.ts";
import { EXIT_TOOL_FAILED, print, type Terminal } from "../terminal.ts";
import { ConfiguredServers } from "./mcp/servers.ts";
import { openConfiguredJournal } from "./open-journal.ts";

/** Options of `sandgate supervise`. */
interface SuperviseCommand {
  readonly config: string;
  /** Which of the config's agents. Default: the only one. */
  readonly agent: string | undefined;
  /** Whether the calls come over descriptor 3. Default: over the standard streams. */
  readonly hasChannel: boolean;
  readonly isUnconfined: boolean;
  /** The names of the variables that the agent gets. */
  readonly env: readonly string[];
  /** The program and its arguments. */
  readonly command: readonly [string, ...string[]];
}

/**
 * Runs an agent as a child process until it ends, and answers its calls under the capabilities that the config gives it. What
 * else it writes goes to standard error. SIGINT and SIGTERM end it.
 *
 * @returns Its exit code, or 128 and the number of the signal that ended it.
 * @throws {ConfigError} if the config is invalid.
 * @throws {UsageError} if there is no such agent, or it cannot be started.
 */
export async function supervise(command: SuperviseCommand, terminal: Terminal): Promise<number> {
  await using servers = new ConfiguredServers("warning");
  const config = await loadConfig(command.config, { policy: "optional", importTools: servers.importTools });
  if (config.problems.some(({ severity }) => severity === "error")) throw new ConfigError(config.problems);
  const [name, capabilities] = chooseAgent(config, command.agent);
  const { registry, context, log: settings, sandboxOptions, journalOptions } = config;
  const kernel = new CapabilityKernel();
  await using log = openLog(terminal, settings, context.redaction);
  const recorded = { registry, policy: config.policy ?? kernelPolicy(kernel), redaction: context.redaction };
  await using journal = await openConfiguredJournal(journalOptions, recorded, ({ kind, message }) =>
    log.write({
      level: kind === "healthy" ? "info" : "error",
      event: `journal.${kind}`,
      fields: { message },
    }),
  );
  await using telemetry = await openConfiguredTelemetry(config.telemetry, {
    redaction: context.redaction,
    onProblem: (message) => log.write({ level: "warn", event: "telemetry.problem", fields: { message } }),
    continues: true,
  });
  await using sandboxes = await openSandboxes(sandboxOptions);
  sandboxes.ensureExit();
  const traced = { ...config, context: { ...context, ...telemetry.traced } };
  await using supervisor = openFor(traced, { kernel, sandboxes, journal, terminal });
  if (command.isUnconfined)
    await print(
      terminal.stderr,
      shown`sandgate: the agent is not confined: it can do everything that you can`,
    );
  const agent = await start(supervisor, command, name, capabilities);
  using _ending = new Ending(agent, terminal);
  const { code } = await agent.wait();
  return code ?? EXIT_TOOL_FAILED;
}

function chooseAgent({ agents }: Config, name: string | undefined): readonly [string, AgentCapabilities] {
  const names = [...agents.keys()];
  const chosen = name ?? (names.length === 1 ? names[0] : undefined);
  const capabilities = chosen === undefined ? undefined : agents.get(chosen);
  if (chosen !== undefined && capabilities !== undefined) return [chosen, capabilities];
  if (names.length === 0) throw new UsageError(shown`the config has no agents: it needs agents: { NAME: … }`);
  throw new UsageError(shown`--agent must be one of ${names.join(", ")}`);
}

function openFor(
  { registry, policy, context }: Config,
  {
    kernel,
    sandboxes,
    journal,
    terminal,
  }: {
    readonly kernel: CapabilityKernel;
    readonly sandboxes: Sandboxes;
    readonly journal: Journal | undefined;
    readonly terminal: Terminal;
  },
): Supervisor {
  const { resultBudget: _, ...shared } = context;
  return openSupervisor({
    ...shared,
    registry,
    kernel,
    sandboxes,
    ...(policy && { policy }),
    ...(journal && { journal }),
    onLog: (line) => void print(terminal.stderr, lineOf(line)),
  });
}

function lineOf({ source, text }: AgentLogLine): ReturnType<typeof shown> {
  return source === "supervisor" ? shown`sandgate: ${text}` : shown`${text}`;
}

async function start(
  supervisor: Supervisor,
  { command: [program, ...args], hasChannel, isUnconfined, env: names }: SuperviseCommand,
  id: string,
  capabilities: AgentCapabilities,
): Promise<AgentHandle> {
  const variables = names.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  try {
    return await supervisor.start({
      id,
      command: program,
      args,
      capabilities,
      cwd: process.cwd(),
      env: Object.fromEntries(variables),
      channel: hasChannel,
      confinement: isUnconfined ? "none" : "process",
    });
  } catch (error) {
    if (error instanceof ToolPreparationError || error instanceof TypeError)
      throw new UsageError(shown`the agent cannot be started: ${error.message}`);
    throw error;
  }
}

/** Ends the agent on SIGTERM or an interruption. */
class Ending implements Disposable {
  readonly #stop: () => void;

  constructor(agent: AgentHandle, { signal }: Terminal) {
    const end = (): void => void agent.stop();
    process.once("SIGTERM", end);
    signal?.addEventListener("abort", end);
    if (signal?.aborted) end();
    this.#stop = () => {
      process.off("SIGTERM", end);
      signal?.removeEventListener("abort", end);
    };
  }

  [Symbol.dispose](): void {
    this.#stop();
  }
}
