import { ConfigError } from "../../../config/problem.ts";
import type { Executor } from "../../../executor/executor.ts";
import type { Journal } from "../../../journal/journal.ts";
import type { Log } from "../../../log/log.ts";
import type { Server } from "../../../server/server.ts";
import { logWarnings } from "../../terminal/open-log.ts";
import { withOwnConsole } from "../console/own-console.ts";
import type { ConfiguredServers } from "../mcp/servers.ts";
import { fieldsOf } from "./entries.ts";
import { type LoadedConfig, load, toolsOf } from "./load.ts";
import { credentialsOf } from "./start.ts";

/**
 * Loads the config again, and replaces the server's tools, policy, credentials and modes. If the config is invalid, it
 * changes nothing. Never rejects.
 */
export async function reload(
  server: Executor | Server,
  file: string,
  before: LoadedConfig,
  log: Log,
  journal: Journal | undefined,
  servers: ConfiguredServers,
  hasConsole: boolean,
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
