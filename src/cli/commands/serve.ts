import { ConfigError, type ConfigProblem } from "../../config/problem.ts";
import { EventStream } from "../../engine/call/events.ts";
import { type Executor, type ExecutorOptions, startExecutor } from "../../executor/executor.ts";
import type { Credentials } from "../../executor/http/authentication.ts";
import { LISTEN_FORM, ListenError, parseListenAddress } from "../../executor/http/listen-address.ts";
import type { RefusedRequest } from "../../executor/http/refused-request.ts";
import type { Journal } from "../../journal/journal.ts";
import type { JournalNotice } from "../../journal/notice.ts";
import type { JournalOptions } from "../../journal/options.ts";
import { logCalls } from "../../log/call-log.ts";
import type { Log } from "../../log/log.ts";
import type { LogEntry, LogFields } from "../../log/log-entry.ts";
import { LoggedWarnings } from "../../log/logged-warnings.ts";
import { mcpEntry } from "../../log/mcp-entry.ts";
import { refusalEntry } from "../../log/refusal-entry.ts";
import type { RuntimePolicy } from "../../policy/policy.ts";
import { shown } from "../../rendering/shown.ts";
import { openSandboxes, type SandboxesOptions } from "../../sandboxes/open-sandboxes.ts";
import type { AdminEvent, AdminOptions } from "../../server/admin.ts";
import type { Server } from "../../server/server.ts";
import { SessionStoreError } from "../../sessions/store/session-store-error.ts";
import { loadConfig } from "../config/load-config.ts";
import type { ContextOptions } from "../config/load-context.ts";
import type { LogSettings } from "../config/load-log.ts";
import type { SessionsConfig } from "../config/load-sessions.ts";
import { loadServer, type ServedConfig, type ServerConfig } from "../config/server/load-server.ts";
import { UsageError } from "../errors.ts";
import { openLog } from "../terminal/open-log.ts";
import { EXIT_OK, type ExitCode, print, type Terminal } from "../terminal/terminal.ts";
import { checkDropNetwork, DropNetworkError, dropNetwork } from "./drop-network.ts";
import { withShadow } from "./log-differences.ts";
import { ConfiguredServers } from "./mcp/servers.ts";
import { openConfiguredJournal } from "./open-journal.ts";
import { Reloads } from "./reloads.ts";

/** Options of `sandgate serve`. */
interface ServeOptions {
  readonly config: string;
  /** Overrides the config's address. */
  readonly listen: string | undefined;
}

/**
 * Serves the tools of a config until SIGTERM or an interruption. It then answers the calls that it has accepted. On
 * SIGHUP it reloads tools, policy, credentials and modes.
 *
 * @throws {ConfigError} if the config is invalid.
 * @throws {UsageError} if it cannot listen on the address or drop the network.
 */
export async function serve({ config, listen }: ServeOptions, terminal: Terminal): Promise<ExitCode> {
  using termination = new Termination(terminal);
  using reloads = new Reloads();
  await using servers = new ConfiguredServers("warning", { serves: true });
  const loaded = await load(config, servers);
  await servers.accept();
  if (listen !== undefined && parseListenAddress(listen) === undefined) {
    throw new UsageError(shown`--listen must be ${LISTEN_FORM}`);
  }
  if (loaded.dropsNetwork) orUsageError(checkDropNetwork);
  const { options, context } = loaded;
  await using log = openLog(terminal, loaded.log, context.redaction);
  const tools = toolsOf(loaded, log);
  logWarnings(loaded.warnings, log);
  using _warnings = new LoggedWarnings(log);
  servers.listen((notice) => log.write(mcpEntry(notice)));
  const recorded = { ...tools, redaction: context.redaction };
  await using journal = await openConfiguredJournal(loaded.journalOptions, recorded, (notice) =>
    log.write(noticeEntry(notice)),
  );
  await using sandboxes = await openSandboxes(loaded.sandboxOptions);
  sandboxes.ensureExit();
  const events = new EventStream();
  events.on(logCalls(log));
  const onRefusal = (refused: RefusedRequest): void => log.write(refusalEntry(refused));
  const where = listen ?? options.listen;
  const dispatching = { ...context, ...tools, ...(journal && { journal }), sandboxes, events };
  const admin: AdminOptions = {
    policyFile: config,
    onAdmin: (event) => log.write(adminEntry(event)),
    ...(journal && { beforePolicy: (policy, registry) => journal.keep(policy, registry.subjects) }),
  };
  const serving = { ...options, ...dispatching, listen: where, onRefusal };
  await using server = await start(serving, admin, loaded, log, servers);
  if ("mcp" in server) servers.serveThrough(server.mcp);
  if (loaded.dropsNetwork) orUsageError(dropNetwork);
  reloads.begin(() => reload(server, config, loaded, log, journal, servers));
  const { address } = server;
  log.write({ level: "info", event: "server.started", fields: { address, ...fieldsOf(tools) } });
  await print(terminal.stdout, shown`listening on ${address}`);
  const reason = await termination.requested;
  log.write({ level: "info", event: "server.stopping", fields: { reason } });
  await server.close();
  log.write({ level: "info", event: "server.stopped" });
  return EXIT_OK;
}

type Tools = Pick<ExecutorOptions, "registry" | "policy">;

/** What the command needs of a config. */
interface LoadedConfig {
  readonly tools: Tools;
  readonly shadow: RuntimePolicy | undefined;
  readonly context: Omit<ContextOptions, "resultBudget">;
  readonly log: LogSettings;
  readonly options: ServerConfig["options"];
  readonly dropsNetwork: boolean;
  /** `undefined` unless the config has sessions served. */
  readonly served: ServedConfig | undefined;
  readonly sessions: SessionsConfig & Pick<ContextOptions, "resultBudget">;
  readonly sandboxOptions: SandboxesOptions;
  readonly journalOptions: JournalOptions | undefined;
  readonly warnings: readonly ConfigProblem[];
}

/**
 * @param servers Connect to the MCP servers of the config.
 * @param before What the server runs with; `undefined` if it does not run yet.
 * @throws {ConfigError} if the config has errors, or the server would have to be another one.
 */
async function load(
  file: string,
  servers: ConfiguredServers,
  before?: Pick<LoadedConfig, "served">,
): Promise<LoadedConfig> {
  const { source, problems, registry, policy, context, log, ...loaded } = await loadConfig(file, servers);
  const { sandboxOptions, journalOptions, sessions, shadow } = loaded;
  const warnings = [...problems];
  const { options, dropsNetwork, served } = await loadServer(source, warnings);
  if (before !== undefined && (before.served === undefined) !== (served === undefined)) {
    const message = "a reload cannot switch the sessions on or off: restart the server";
    warnings.push(source.problem(["server", "sessions"], message));
  }
  if (policy === undefined || warnings.some(({ severity }) => severity === "error")) {
    throw new ConfigError(warnings);
  }
  // An executor returns whole outputs: what the model reads of them is up to its clients. Sessions write a provider's messages.
  const { resultBudget, ...ownContext } = context;
  const tools = { registry, policy };
  const budgeted = { ...sessions, ...(resultBudget && { resultBudget }) };
  const own = { options, dropsNetwork, served, sessions: budgeted, shadow };
  return { tools, context: ownContext, log, ...own, sandboxOptions, journalOptions, warnings };
}

function toolsOf({ tools: { registry, policy }, shadow }: LoadedConfig, log: Log): Tools {
  return { registry, policy: withShadow(policy, shadow, log) };
}

/**
 * Loads the config again, and replaces the server's tools, policy, credentials and modes. If the config is invalid, it
 * changes nothing. Never rejects.
 */
async function reload(
  server: Executor | Server,
  file: string,
  before: LoadedConfig,
  log: Log,
  journal: Journal | undefined,
  servers: ConfiguredServers,
): Promise<void> {
  try {
    const loaded = await load(file, servers, before);
    const { options, served, warnings } = loaded;
    const tools = toolsOf(loaded, log);
    await journal?.keep(tools.policy, tools.registry.subjects);
    server.reload({
      ...tools,
      ...credentialsOf(options),
      ...(served && { credentials: served.credentials, modes: loaded.sessions.confirmations.modes ?? {} }),
    });
    await servers.accept();
    logWarnings(warnings, log);
    log.write({ level: "info", event: "config.reloaded", fields: fieldsOf(tools) });
  } catch (error) {
    // Whatever is wrong with the files, the server goes on.
    await servers.refuse();
    const problems =
      error instanceof ConfigError
        ? error.problems.map(({ file, line, column, message }) => `${file}:${line}:${column}: ${message}`)
        : [error instanceof Error ? error.message : String(error)];
    log.write({ level: "error", event: "config.refused", fields: { problems } });
  }
}

function noticeEntry({ kind, message }: JournalNotice): LogEntry {
  const level = kind === "healthy" ? "info" : kind === "unhealthy" ? "error" : "warn";
  return { level, event: `journal.${kind}`, fields: { message } };
}

function adminEntry({ action, principal, policyRevision }: AdminEvent): LogEntry {
  const by = principal === undefined ? {} : { principal: principal.id };
  const fields = { ...by, ...(policyRevision !== undefined && { policyRevision }) };
  const event = action === "policy-replaced" ? "policy.replaced" : `server.${action}`;
  return { level: action === "paused" ? "warn" : "info", event, fields };
}

function logWarnings(warnings: readonly ConfigProblem[], log: Log): void {
  for (const { file, line, column, message } of warnings) {
    log.write({ level: "warn", event: "config.warning", fields: { file, line, column, message } });
  }
}

function fieldsOf({ registry, policy }: Tools): LogFields {
  return { tools: registry.size, policyRevision: policy.revision };
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

/** Starts a server of sessions if the config says so, and otherwise an executor. */
async function start(
  options: ExecutorOptions,
  admin: AdminOptions,
  { served, sessions }: Pick<LoadedConfig, "served" | "sessions">,
  log: Log,
  servers: ConfiguredServers,
): Promise<Executor | Server> {
  try {
    if (served === undefined) return await startExecutor(options);
    const { workspaces, mcp, ...access } = served;
    const { storeFile, ...rest } = sessions;
    // Loaded only for those who serve sessions.
    const { startServer } = await import("../../server/server.ts");
    const { SqliteSessionStore } = await import("../../sessions/store/sqlite-store.ts");
    const store = new SqliteSessionStore(storeFile);
    const onProblem = (message: string): void =>
      log.write({ level: "warn", event: "mcp.problem", fields: { message } });
    return await startServer({
      ...{ ...options, ...admin, ...access, sessions: { ...rest, store, workspaces } },
      ...(mcp && {
        mcp: { ...mcp, ...(servers.hasServers && { imported: () => servers.offers() }), onProblem },
      }),
    });
  } catch (error) {
    if (error instanceof SessionStoreError)
      throw new UsageError(shown`cannot open the sessions: ${error.message}`);
    if (error instanceof ListenError)
      throw new UsageError(shown`cannot listen on ${options.listen}: ${error.message}`);
    throw error;
  }
}

/** Waits for SIGTERM or an interruption. Only the first one is handled: a second one ends the process at once. */
class Termination implements Disposable {
  /** Resolves to what requested it. */
  readonly requested: Promise<"SIGTERM" | "interruption">;
  #stop = (): void => {};

  constructor({ signal }: Terminal) {
    this.requested = new Promise((resolve) => {
      const terminate = (): void => resolve("SIGTERM");
      const interrupt = (): void => resolve("interruption");
      process.once("SIGTERM", terminate);
      signal?.addEventListener("abort", interrupt);
      if (signal?.aborted) interrupt();
      this.#stop = () => {
        process.off("SIGTERM", terminate);
        signal?.removeEventListener("abort", interrupt);
      };
    });
  }

  [Symbol.dispose](): void {
    this.#stop();
  }
}
