import type { CallSuspensions } from "../../../engine/call/suspension.ts";
import { type Executor, startExecutor } from "../../../executor/executor.ts";
import type { Credentials } from "../../../executor/http/authentication.ts";
import { ListenError } from "../../../executor/http/listen-address.ts";
import type { ExecutorOptions } from "../../../executor/options.ts";
import type { Log } from "../../../log/log.ts";
import { shown } from "../../../rendering/shown.ts";
import type { AdminOptions } from "../../../server/admin.ts";
import type { ServerOptions } from "../../../server/options.ts";
import type { Server } from "../../../server/server.ts";
import type { DurableRuntime } from "../../../sessions/durable-runtime.ts";
import { SessionStoreError } from "../../../sessions/session-errors.ts";
import type { SessionStore } from "../../../sessions/store/store.ts";
import type { ServerConfig } from "../../config/server/load-server.ts";
import { UsageError } from "../../errors.ts";
import type { ConfiguredServers } from "../mcp/servers.ts";
import type { LoadedConfig } from "./load.ts";

interface StartedParts {
  readonly log: Log;
  readonly servers: ConfiguredServers;
  /** Stores the programs of the sessions while they wait. The server does not close it. */
  readonly suspensions: CallSuspensions | undefined;
  readonly durable: DurableRuntime | undefined;
}

/**
 * Starts a server of sessions if the config says so, and otherwise an executor.
 */
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
    const kept = durable === undefined ? { store: await openSessionStore(storeFile) } : { durable };
    const onProblem = (message: string): void =>
      log.write({ level: "warn", event: "mcp.problem", fields: { message } });
    return await startServer({
      ...options,
      ...admin,
      ...access,
      sessions: { ...rest, ...kept, workspaces },
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
  const { SqliteSessionStore } = await import("../../../sessions/store/sqlite/sqlite-store.ts");
  return new SqliteSessionStore(file);
}

export function credentialsOf({
  keys,
  token,
  tokenName,
  certificates,
}: ServerConfig["options"]): Credentials {
  return {
    ...(certificates && { certificates }),
    ...(keys && { keys }),
    ...(token !== undefined && { token }),
    ...(tokenName !== undefined && { tokenName }),
  };
}
