import { userInfo } from "node:os";
import { ConfigError } from "../../../config/problem.ts";
import type { CallSuspensions } from "../../../engine/call/suspension.ts";
import { type Executor, startExecutor } from "../../../executor/executor.ts";
import type { ExecutorOptions } from "../../../executor/options.ts";
import type { Credentials } from "../../../http/authentication.ts";
import { ListenError } from "../../../http/listen-address.ts";
import type { Journal } from "../../../journal/journal.ts";
import { shown } from "../../../rendering/shown.ts";
import type { AdminOptions } from "../../../server/admin.ts";
import type { ServerOptions } from "../../../server/options.ts";
import type { Server } from "../../../server/server.ts";
import type { DurableRuntime } from "../../../sessions/durable-runtime.ts";
import { SessionStoreError } from "../../../sessions/session-errors.ts";
import type { SessionStore } from "../../../sessions/store/store.ts";
import { DEFAULT_LEVEL, type Log } from "../../../telemetry/log.ts";
import { logWarnings } from "../../config/load-log.ts";
import type { ServedConfig, ServerConfig } from "../../config/server/load-server.ts";
import { UsageError } from "../../errors.ts";
import type { ConfiguredServers } from "../mcp/servers.ts";
import { fieldsOf, type LoadedConfig, load, toolsOf } from "./load.ts";

interface ReloadedParts {
  readonly log: Log;
  readonly journal: Journal | undefined;
  readonly servers: ConfiguredServers;
  readonly hasConsole: boolean;
}

interface StartedParts {
  readonly log: Log;
  readonly servers: ConfiguredServers;
  /** Stores the programs of the sessions while they wait. The server does not close it. */
  readonly suspensions: CallSuspensions | undefined;
  readonly durable: DurableRuntime | undefined;
}

/** Starts a server of sessions if the config has them served, and otherwise an executor. */
export async function start(
  options: ExecutorOptions,
  admin: Pick<ServerOptions, keyof AdminOptions | "history">,
  { served, sessions }: Pick<LoadedConfig, "served" | "sessions">,
  { log, servers, suspensions, durable }: StartedParts,
): Promise<Executor | Server> {
  try {
    if (served === undefined) return await startExecutor(options);
    const { workspaces, mcp, ...access } = served;
    const { storeFile, programs: _, ...rest } = sessions;
    // Loaded only for those who serve sessions.
    const { startServer } = await import("../../../server/server.ts");
    const storage = durable === undefined ? { store: await openSessionStore(storeFile) } : { durable };
    const onProblem = (message: string): void =>
      log.write({ level: "warn", event: "mcp.problem", fields: { message } });
    return await startServer({
      ...options,
      ...admin,
      ...access,
      sessions: { ...rest, ...storage, workspaces },
      ...(suspensions && { suspensions }),
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

/** Opens the file of the sessions of one server. */
async function openSessionStore(file: string): Promise<SessionStore> {
  const { SqliteSessionStore } = await import("../../../sessions/store/sqlite-store.ts");
  return new SqliteSessionStore(file);
}

function credentialsOf({ keys, token, tokenName, certificates }: ServerConfig["options"]): Credentials {
  return {
    ...(certificates && { certificates }),
    ...(keys && { keys }),
    ...(token !== undefined && { token }),
    ...(tokenName !== undefined && { tokenName }),
  };
}

/** Adds a console for the user of this process, who may do everything that a person can. */
export function withOwnConsole({ served, options }: Pick<ServerConfig, "served" | "options">): ServedConfig {
  const operator = { id: operatorId(), roles: ["admin", "approver"], approves: ["*"] } as const;
  const { token, keys = new Map(), certificates = [] } = options;
  // Without credentials, any program of this machine would be a client of the executor.
  const executor = token !== undefined || keys.size > 0 || certificates.length > 0;
  return { ...(served ?? { credentials: [], origins: [], workspaces: [], executor }), console: { operator } };
}

/** The name of the user of this process. */
export function operatorId(): string {
  return userInfo().username;
}

/**
 * Loads the config again, and replaces the server's tools, policy, credentials, modes and log level. If the config is invalid, it
 * changes nothing. Never rejects.
 */
export async function reload(
  server: Executor | Server,
  file: string,
  before: LoadedConfig,
  { log, journal, servers, hasConsole }: ReloadedParts,
): Promise<void> {
  try {
    const read = await load(file, servers, before, hasConsole);
    const loaded = hasConsole ? { ...read, served: withOwnConsole(read) } : read;
    const { options, served, warnings } = loaded;
    const tools = toolsOf(loaded, log);
    await journal?.keep(tools.policy, tools.registry.subjects);
    server.reload({
      ...tools,
      ...credentialsOf(options),
      ...(options.tls && { tls: options.tls }),
      ...(served && { credentials: served.credentials, modes: loaded.sessions.confirmations.modes ?? {} }),
    });
    await servers.accept();
    const { level = DEFAULT_LEVEL } = loaded.log;
    // Of both levels, the one that writes more shows what the reload did.
    if (!log.has(level)) log.level = level;
    logWarnings(warnings, log);
    log.write({ level: "info", event: "config.reloaded", fields: fieldsOf(tools) });
    log.level = level;
  } catch (error) {
    // An invalid config must not stop the server.
    await servers.refuse();
    const problems =
      error instanceof ConfigError
        ? error.problems
            .filter(({ severity }) => severity === "error")
            .map(({ file, line, column, message }) => `${file}:${line}:${column}: ${message}`)
        : [error instanceof Error ? error.message : String(error)];
    log.write({ level: "error", event: "config.refused", fields: { problems } });
  }
}
