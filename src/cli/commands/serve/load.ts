import { ConfigError, type ConfigProblem } from "../../../config/problem.ts";
import type { ExecutorOptions } from "../../../executor/options.ts";
import type { JournalOptions } from "../../../journal/options.ts";
import type { Log } from "../../../log/log.ts";
import type { RuntimePolicy } from "../../../policy/policy.ts";
import type { RestateOptions } from "../../../restate/sessions/restate-options.ts";
import type { SandboxesOptions } from "../../../sandboxes/open-sandboxes.ts";
import { loadConfig } from "../../config/load-config.ts";
import type { ContextOptions } from "../../config/load-context.ts";
import type { LogSettings } from "../../config/load-log.ts";
import type { SessionsConfig } from "../../config/load-sessions.ts";
import { loadServer, type ServedConfig, type ServerConfig } from "../../config/server/load-server.ts";
import { missingLock } from "../../config/tools/load-lock.ts";
import type { ConfiguredServers } from "../mcp/servers.ts";
import { withShadow } from "./log-differences.ts";
import { reloadProblems } from "./reload-problems.ts";

export type Tools = Pick<ExecutorOptions, "registry" | "policy">;

/** What the command needs of a config. */
export interface LoadedConfig {
  readonly tools: Tools;
  readonly shadow: RuntimePolicy | undefined;
  readonly context: Omit<ContextOptions, "resultBudget">;
  readonly log: LogSettings;
  readonly options: ServerConfig["options"];
  readonly dropsNetwork: boolean;
  /** `undefined` unless the config has sessions served. */
  readonly served: ServedConfig | undefined;
  readonly sessions: SessionsConfig & Pick<ContextOptions, "resultBudget">;
  /** `undefined` if sessions run in this process. */
  readonly durable: RestateOptions | undefined;
  readonly sandboxOptions: SandboxesOptions;
  readonly journalOptions: JournalOptions | undefined;
  readonly warnings: readonly ConfigProblem[];
}

/**
 * @param servers Connect to the MCP servers of the config.
 * @param before What the server runs with; `undefined` if it does not run yet.
 * @throws {ConfigError} if the config has errors, or the server would have to be another one.
 */
export async function load(
  file: string,
  servers: ConfiguredServers,
  before?: Pick<LoadedConfig, "served" | "options">,
  hasConsole = false,
): Promise<LoadedConfig> {
  const { source, problems, registry, policy, context, log, ...loaded } = await loadConfig(file, servers);
  const { sandboxOptions, journalOptions, sessions, durable, shadow } = loaded;
  const warnings = [...problems, ...missingLock(source, loaded.lock)];
  const { options, dropsNetwork, served } = await loadServer(source, warnings);
  if (!hasConsole && before !== undefined) warnings.push(...reloadProblems(source, before.served, served));
  // TLS that is not valid was reported, and is none that ceases.
  const hasTls = source.at(["server", "tls"]) !== undefined;
  if (before !== undefined && (before.options.tls !== undefined) !== hasTls) {
    const message = "a reload cannot begin or cease to use TLS: restart the server";
    warnings.push(source.problem(["server"], message));
  }
  if (policy === undefined || warnings.some(({ severity }) => severity === "error")) {
    throw new ConfigError(warnings);
  }
  // An executor returns whole outputs: what the model reads of them is up to its clients. Sessions write a provider's messages.
  const { resultBudget, ...ownContext } = context;
  const tools = { registry, policy };
  const budgeted = { ...sessions, ...(resultBudget && { resultBudget }) };
  const own = { options, dropsNetwork, served, sessions: budgeted, durable, shadow };
  return { tools, context: ownContext, log, ...own, sandboxOptions, journalOptions, warnings };
}

export function toolsOf({ tools: { registry, policy }, shadow }: LoadedConfig, log: Log): Tools {
  return { registry, policy: withShadow(policy, shadow, log) };
}
