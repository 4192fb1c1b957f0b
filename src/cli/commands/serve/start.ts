import type { CallSuspensions } from "../../../engine/call/suspension.ts";
import { type Executor, startExecutor } from "../../../executor/executor.ts";
import type { Credentials } from "../../../executor/http/authentication.ts";
import { ListenError } from "../../../executor/http/listen-address.ts";
import type { ExecutorOptions } from "../../../executor/options.ts";
import type { Log } from "../../../log/log.ts";
import type { SuspensionStore } from "../../../programs/stores/suspension-store.ts";
import { shown } from "../../../rendering/shown.ts";
import type { RestateOptions } from "../../../restate/sessions/restate-options.ts";
import type { AdminOptions } from "../../../server/admin.ts";
import type { ServerOptions } from "../../../server/options.ts";
import type { Server } from "../../../server/server.ts";
import { SessionStoreError } from "../../../sessions/store/session-store-error.ts";
import type { SessionsConfig } from "../../config/load-sessions.ts";
import type { ServerConfig } from "../../config/server/load-server.ts";
import { UsageError } from "../../errors.ts";
import type { ConfiguredServers } from "../mcp/servers.ts";
import type { LoadedConfig } from "./load.ts";

/** Starts a server of sessions if the config says so, and otherwise an executor. */
export async function start(
  options: ExecutorOptions,
  admin: Pick<ServerOptions, keyof AdminOptions | "history">,
  { served, sessions, durable }: Pick<LoadedConfig, "served" | "sessions" | "durable">,
  log: Log,
  servers: ConfiguredServers,
): Promise<Executor | Server> {
  try {
    if (served === undefined) {
      if (durable !== undefined)
        throw new UsageError(shown`durable needs sessions: set server.sessions in the config`);
      return await startExecutor(options);
    }
    const { workspaces, mcp, ...access } = served;
    // Loaded only for those who serve sessions.
    const { startServer } = await import("../../../server/server.ts");
    const { programs, storeFile, ...rest } = sessions;
    const { programs: programStore, ...kept } =
      durable === undefined ? await openSessionStore(storeFile) : await openDurable(durable);
    const suspensions = programs && (await openPrograms(programs, programStore));
    const onProblem = (message: string): void =>
      log.write({ level: "warn", event: "mcp.problem", fields: { message } });
    return await startServer({
      ...{ ...options, ...admin, ...access, sessions: { ...rest, ...kept, workspaces } },
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

type SessionStores = Pick<ServerOptions["sessions"], "store" | "durable"> & {
  readonly programs?: SuspensionStore;
};

/** Opens the file of the sessions of one server. */
async function openSessionStore(file: string): Promise<SessionStores> {
  const { SqliteSessionStore } = await import("../../../sessions/store/sqlite-store.ts");
  return { store: new SqliteSessionStore(file) };
}

/** Opens what keeps the sessions of several servers, and runs their calls. */
async function openDurable(options: RestateOptions): Promise<SessionStores> {
  const { openRestate } = await import("../../../restate/sessions/open-restate.ts");
  try {
    const durable = await openRestate(options);
    return { durable, programs: durable.programs };
  } catch (error) {
    throw new UsageError(shown`cannot use Restate: ${(error as Error).message}`);
  }
}

/**
 * Opens what keeps programs while they wait. It ends with the process.
 *
 * @param shared Where several servers keep them. Default: in the file.
 */
async function openPrograms(
  { storeFile, keysFile }: NonNullable<SessionsConfig["programs"]>,
  shared?: SuspensionStore,
): Promise<CallSuspensions> {
  const { openSuspensions } = await import("../../../programs/suspension/suspensions.ts");
  const { readSuspensionKeys } = await import("../../../programs/suspension/keys.ts");
  const { SqliteSuspensionStore } = await import("../../../programs/stores/sqlite-store.ts");
  try {
    const keys = readSuspensionKeys(keysFile);
    return openSuspensions({ keys, store: shared ?? new SqliteSuspensionStore(storeFile) });
  } catch (error) {
    throw new UsageError(shown`cannot keep programs: ${(error as Error).message}`);
  }
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
