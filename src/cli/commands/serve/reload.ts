import { ConfigError } from "../../../config/problem.ts";
import type { Executor } from "../../../executor/executor.ts";
import type { Journal } from "../../../journal/journal.ts";
import { DEFAULT_LEVEL, type Log } from "../../../log/log.ts";
import type { Server } from "../../../server/server.ts";
import { logWarnings } from "../../config/load-log.ts";
import type { ConfiguredServers } from "../mcp/servers.ts";
import { withOwnConsole } from "../own-console.ts";
import { fieldsOf } from "./entries.ts";
import { type LoadedConfig, load, toolsOf } from "./load.ts";
import { credentialsOf } from "./start.ts";

interface ReloadedParts {
  readonly log: Log;
  readonly journal: Journal | undefined;
  readonly servers: ConfiguredServers;
  readonly hasConsole: boolean;
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
    // Whatever is wrong with the files, the server goes on.
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
