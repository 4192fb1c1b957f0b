import { realpathSync } from "node:fs";
import type { PostgresRuntime } from "../../../cluster/open-postgres.ts";
import { EventStream } from "../../../engine/call/events.ts";
import type { ToolCall } from "../../../engine/call.ts";
import type { GuardOptions } from "../../../guard/guard-server.ts";
import { LISTEN_FORM, parseListenAddress } from "../../../http/listen-address.ts";
import type { RefusedRequest } from "../../../http/refusals.ts";
import type { RefusedHandshake } from "../../../http/tls/tls-connections.ts";
import { JournalHistory } from "../../../journal/history/journal-history.ts";
import type { SuspensionStore } from "../../../programs/stores/suspension-store.ts";
import type { Suspensions } from "../../../programs/suspension/suspensions.ts";
import { shown } from "../../../rendering/shown.ts";
import type { RestateRuntime } from "../../../restate/sessions/open-restate.ts";
import { openSandboxes } from "../../../sandboxes/open-sandboxes.ts";
import type { AdminOptions } from "../../../server/admin.ts";
import type { SessionMode } from "../../../sessions/modes/mode.ts";
import type { Sessions } from "../../../sessions/sessions.ts";
import {
  handshakeEntry,
  LoggedWarnings,
  logCalls,
  mcpEntry,
  refusalEntry,
} from "../../../telemetry/call-log.ts";
import { logWarnings, openLog } from "../../config/load-log.ts";
import { openConfiguredTelemetry } from "../../config/load-telemetry.ts";
import { type DurableConfig, readPostgresOptions } from "../../config/server/load-durable.ts";
import { UsageError } from "../../errors.ts";
import { EXIT_OK, type ExitCode, link, print, type Terminal } from "../../terminal.ts";
import { ConfiguredServers } from "../mcp/servers.ts";
import { openConfiguredJournal } from "../open-journal.ts";
import { readMessage } from "../read-message.ts";
import { adminEntry, fieldsOf, type LoadedConfig, load, noticeEntry, toolsOf } from "./load.ts";
import { operatorId, reload, start, withOwnConsole } from "./start.ts";

/** This process cannot drop the network. `message` says what to do. */
class DropNetworkError extends Error {
  override readonly name = "DropNetworkError";
}

/** The part of Node's permission model that is used here. Node 26.3 added `drop`. */
interface Permissions {
  has(scope: string): boolean;
  drop?(scope: string): void;
}

/**
 * Runs a function on each SIGHUP, one run at a time. Signals that arrive during a run cause one more, as do those that
 * arrive before {@link begin}.
 */
class Reloads implements Disposable {
  #reload: (() => Promise<void>) | undefined;
  #isRunning = false;
  #isDue = false;

  constructor() {
    process.on("SIGHUP", this.#onSignal);
  }

  /** @param reload Must not reject. */
  begin(reload: () => Promise<void>): void {
    this.#reload = reload;
    if (this.#isDue) void this.#run();
  }

  readonly #onSignal = (): void => {
    this.#isDue = true;
    if (this.#reload !== undefined && !this.#isRunning) void this.#run();
  };

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#isDue) {
      this.#isDue = false;
      await this.#reload?.();
    }
    this.#isRunning = false;
  }

  [Symbol.dispose](): void {
    process.off("SIGHUP", this.#onSignal);
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

/** Options of `sandgate serve`. */
interface ServeOptions {
  readonly config: string;
  /** Overrides the config's address. */
  readonly listen: string | undefined;
  /** The ingress of Restate, in place of that in the config. Default: as in the config. */
  readonly restate?: string | undefined;
  /** Serves sessions and the console for the user, who logs in with the printed link. Default: as in the config. */
  readonly console?: boolean;
  /** With `console`: a file with an assistant's message, whose calls are made; `-` is standard input. Default: none. */
  readonly message?: string;
  /** Also answers the hooks of coding agents, on a socket. Default: it does not. */
  readonly guard?: Pick<GuardOptions, "socket" | "key" | "runner">;
}

/**
 * Serves the tools of a config until SIGTERM or an interruption. It then answers the calls that it has accepted. On
 * SIGHUP it reloads tools, policy, credentials and modes.
 *
 * @throws {ConfigError} if the config is invalid, and {@link MessageError} if the message is.
 * @throws {UsageError} if it cannot listen on the address or drop the network.
 */
export async function serve(
  { config, listen, restate, console: hasConsole = false, message, guard }: ServeOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  using termination = new Termination(terminal);
  using reloads = new Reloads();
  await using servers = new ConfiguredServers("warning", { serves: true });
  const read = await load(config, servers, undefined, hasConsole);
  const own = hasConsole ? { ...read, served: withOwnConsole(read) } : read;
  const loaded = restate === undefined ? own : { ...own, durable: withIngress(own.durable, restate) };
  await servers.accept();
  if (listen !== undefined && parseListenAddress(listen) === undefined) {
    throw new UsageError(shown`--listen must be ${LISTEN_FORM}`);
  }
  if (loaded.dropsNetwork) orUsageError(checkDropNetwork);
  const { options, context } = loaded;
  // The person at the terminal has to find the link.
  const quiet = hasConsole && terminal.stderr.isTTY ? ({ level: "warn", format: "text" } as const) : {};
  await using log = openLog(terminal, { ...quiet, ...loaded.log }, context.redaction);
  const tools = toolsOf(loaded, log);
  const said =
    message === undefined ? undefined : await readMessage(message, "auto", tools.registry, terminal);
  logWarnings(loaded.warnings, log);
  using _warnings = new LoggedWarnings(log);
  servers.listen((notice) => log.write(mcpEntry(notice)));
  const recorded = { ...tools, redaction: context.redaction };
  await using journal = await openConfiguredJournal(loaded.journalOptions, recorded, (notice) =>
    log.write(noticeEntry(notice)),
  );
  await using telemetry = await openConfiguredTelemetry(loaded.telemetry, {
    redaction: context.redaction,
    onProblem: (message) => log.write({ level: "warn", event: "telemetry.problem", fields: { message } }),
  });
  await using sandboxes = await openSandboxes(loaded.sandboxOptions);
  sandboxes.ensureExit();
  const events = new EventStream();
  events.on(logCalls(log));
  const onRefusal = (refused: RefusedRequest): void => log.write(refusalEntry(refused));
  const onRefusedHandshake = (refused: RefusedHandshake): void => log.write(handshakeEntry(refused));
  const where = listen ?? options.listen;
  const handingOver = guard && new (await import("../../../guard/handover.ts")).HandingOver(sandboxes);
  const dispatching = {
    ...context,
    ...telemetry.traced,
    ...tools,
    ...(journal && { journal }),
    sandboxes: handingOver ?? sandboxes,
    events,
  };
  const admin: AdminOptions = {
    policyFile: config,
    onAdmin: (event) => log.write(adminEntry(event)),
    ...(journal && { beforePolicy: (policy, registry) => journal.keep(policy, registry.subjects) }),
  };
  const { directory = "" } = loaded.journalOptions ?? {};
  const history = journal && new JournalHistory(journal, directory);
  const serving = { ...options, ...dispatching, listen: where, onRefusal, onRefusedHandshake };
  // Closed after the server, whose calls are suspended when it ends.
  const durable = await openDurable(loaded);
  await using suspensions = await openPrograms(loaded, durable?.programs);
  const administered = { ...admin, ...(history && { history }) };
  await using server = await start(serving, administered, loaded, { log, servers, suspensions, durable });
  if ("mcp" in server) servers.serveThrough(server.mcp);
  await using _guard = handingOver && (await openGuard({ ...guard, handingOver }, server, loaded));
  if (loaded.dropsNetwork) orUsageError(dropNetwork);
  reloads.begin(() => reload(server, config, loaded, { log, journal, servers, hasConsole }));
  const { address } = server;
  log.write({ level: "info", event: "server.started", fields: { address, ...fieldsOf(tools) } });
  await print(terminal.stdout, shown`listening on ${address}`);
  if (hasConsole && "issueConsoleToken" in server) {
    const page = `${server.scheme}://${address}/console/#token=${server.issueConsoleToken()}`;
    await print(terminal.stdout, shown`the console, with a link that works once, for 10 minutes:`);
    await print(terminal.stdout, link(page));
    if (said !== undefined) {
      await makeCalls(server.sessions, said.calls, loaded.sessions.mode, (error) =>
        log.write({ level: "warn", event: "message.failed", fields: { message: String(error) } }),
      );
    }
  }
  const reason = await termination.requested;
  log.write({ level: "info", event: "server.stopping", fields: { reason } });
  await server.close();
  log.write({ level: "info", event: "server.stopped" });
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

/**
 * Answers the hooks of agents with the sessions of a server.
 *
 * @throws {UsageError} unless the config serves sessions with a console and has the toolset `guard`.
 */
async function openGuard(
  options: Pick<GuardOptions, "socket" | "key" | "runner" | "handingOver">,
  server: Awaited<ReturnType<typeof start>>,
  { served, tools }: Pick<LoadedConfig, "served" | "tools">,
): Promise<AsyncDisposable> {
  if (!("sessions" in server) || served?.console === undefined || !tools.registry.has("use_unknown_tool"))
    throw new UsageError(
      shown`the config of a guard needs 'toolsets: [guard]', and 'sessions: true' and 'console: true' in server`,
    );
  const { startGuard } = await import("../../../guard/guard-server.ts");
  const page = `${server.scheme}://${server.address}/console/#/waiting/`;
  return startGuard({
    ...options,
    sessions: server.sessions,
    workspaces: served.workspaces.map((path) => realpathSync(path)),
    linkOf: (id) => `${page}${encodeURIComponent(id)}`,
  });
}

/** Makes calls in a session of the user of this process, and does not wait for them: some may wait for a person. */
async function makeCalls(
  sessions: Sessions,
  calls: readonly ToolCall[],
  mode: SessionMode | undefined,
  onProblem: (error: unknown) => void,
): Promise<void> {
  const principal = { id: operatorId(), kind: "user" } as const;
  const session = await sessions.open({ principal, ...(mode !== undefined && { mode }) });
  session.turn().dispatchAll(calls).catch(onProblem);
}

/** @throws {UsageError} if the config has the sessions on PostgreSQL. */
function withIngress(durable: DurableConfig | undefined, ingress: string): DurableConfig {
  if (durable?.postgres !== undefined)
    throw new UsageError(shown`--restate contradicts durable.postgres in the config: leave one of them out`);
  return { restate: { ...durable?.restate, ingress } };
}

/**
 * Opens Restate or PostgreSQL, which several servers share for their sessions, if the config has it. The server closes it.
 *
 * @throws {UsageError} if it cannot be used, or no sessions are served.
 */
async function openDurable({
  served,
  durable,
}: Pick<LoadedConfig, "served" | "durable">): Promise<RestateRuntime | PostgresRuntime | undefined> {
  if (durable === undefined) return undefined;
  if (served === undefined)
    throw new UsageError(shown`durable needs sessions: set server.sessions in the config`);
  // Loaded only if the config needs it.
  if (durable.restate !== undefined) {
    const { openRestate } = await import("../../../restate/sessions/open-restate.ts");
    return openRestate(durable.restate).catch((error: Error) => {
      throw new UsageError(shown`cannot use Restate: ${error.message}`);
    });
  }
  const { openPostgres } = await import("../../../cluster/open-postgres.ts");
  try {
    return await openPostgres(await readPostgresOptions(durable.postgres));
  } catch (error) {
    throw new UsageError(shown`cannot use PostgreSQL: ${(error as Error).message}`);
  }
}

/**
 * Opens the store of suspended programs, if the config has it. Close it after the server.
 *
 * @param shared The store of several servers. Default: the file that the config names.
 * @throws {UsageError} if the keys or the store cannot be opened.
 */
async function openPrograms(
  { served, sessions: { programs } }: Pick<LoadedConfig, "served" | "sessions">,
  shared?: SuspensionStore,
): Promise<Suspensions | undefined> {
  if (served === undefined || programs === undefined) return undefined;
  // Loaded only if the config stores programs.
  const { openSuspensions } = await import("../../../programs/suspension/suspensions.ts");
  const { readSuspensionKeys } = await import("../../../programs/suspension/keys.ts");
  const { SqliteSuspensionStore } = await import("../../../programs/stores/sqlite-store.ts");
  try {
    const keys = readSuspensionKeys(programs.keysFile);
    return openSuspensions({ keys, store: shared ?? new SqliteSuspensionStore(programs.storeFile) });
  } catch (error) {
    throw new UsageError(shown`cannot keep programs: ${(error as Error).message}`);
  }
}

/**
 * Checks that this process can drop the network for good: it needs Node's permission model, and must not be able to
 * start threads or processes or load addons, which would have the network again.
 *
 * @throws {DropNetworkError} if it cannot.
 */
function checkDropNetwork(): void {
  const { permission } = process as { readonly permission?: Permissions };
  if (permission === undefined) {
    throw new DropNetworkError("it needs Node's permission model: start node with --permission");
  }
  if (typeof permission.drop !== "function") throw new DropNetworkError("it needs Node 26.3 or later");
  if (permission.has("worker") || permission.has("child") || permission.has("addon")) {
    throw new DropNetworkError(
      "node must not be started with --allow-worker, --allow-child-process or --allow-addons",
    );
  }
}

/**
 * Drops the network for good. Open sockets stay open, but no new ones can be opened.
 *
 * @throws {DropNetworkError} like {@link checkDropNetwork}.
 */
function dropNetwork(): void {
  checkDropNetwork();
  process.permission.drop("net");
  if (process.permission.has("net")) throw new DropNetworkError("Node did not drop the permission");
}
