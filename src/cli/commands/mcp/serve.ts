import { resolve } from "node:path";
import { ConfigError } from "../../../config/problem.ts";
import { EventStream } from "../../../engine/call/events.ts";
import { LOCAL_ID } from "../../../http/authentication.ts";
import { openMcpServer } from "../../../mcp/server/mcp-server.ts";
import { openSandboxes } from "../../../sandboxes/open-sandboxes.ts";
import { openSessions } from "../../../sessions/sessions.ts";
import { LoggedWarnings, logCalls, mcpEntry } from "../../../telemetry/call-log.ts";
import { missingLock } from "../../config/load-all-tools.ts";
import { loadConfig } from "../../config/load-config.ts";
import { logWarnings, openLog } from "../../config/load-log.ts";
import { openConfiguredTelemetry } from "../../config/load-telemetry.ts";
import { loadServer } from "../../config/server/load-server.ts";
import { EXIT_INTERRUPTED, EXIT_OK, type ExitCode, type Terminal } from "../../terminal.ts";
import { openConfiguredJournal } from "../open-journal.ts";
import { ConfiguredServers } from "./servers.ts";

/** Options of `sandgate mcp serve`. */
interface ServeMcpOptions {
  readonly config: string;
  /** The folder in which the tools work. Default: none. */
  readonly workspace: string | undefined;
}

/**
 * Serves the tools of a config, and those of its MCP servers, to one client over standard input and output, until the client closes its end. The log goes to
 * standard error. The sessions are retained in memory.
 *
 * @throws {ConfigError} if the config is invalid.
 */
export async function serveMcp(
  { config, workspace }: ServeMcpOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  await using servers = new ConfiguredServers("warning", { serves: true });
  const loaded = await loadConfig(config, servers);
  const { source, registry, policy, context } = loaded;
  const problems = [...loaded.problems];
  const { mcp = {} } = await loadServer(source, problems);
  if (policy === undefined || problems.some(({ severity }) => severity === "error")) {
    throw new ConfigError(problems);
  }
  await using log = openLog(terminal, loaded.log, context.redaction);
  using _warnings = new LoggedWarnings(log);
  servers.listen((notice) => log.write(mcpEntry(notice)));
  logWarnings([...problems, ...missingLock(source, loaded.lock)], log);
  const recorded = { registry, policy, redaction: context.redaction };
  await using journal = await openConfiguredJournal(loaded.journalOptions, recorded, ({ kind, message }) =>
    log.write({ level: "warn", event: `journal.${kind}`, fields: { message } }),
  );
  await using telemetry = await openConfiguredTelemetry(loaded.telemetry, {
    redaction: context.redaction,
    onProblem: (message) => log.write({ level: "warn", event: "telemetry.problem", fields: { message } }),
    continues: true,
  });
  await using sandboxes = await openSandboxes(loaded.sandboxOptions);
  sandboxes.ensureExit();
  const events = new EventStream();
  events.on(logCalls(log));
  const { confirmations, limits, mode } = loaded.sessions;
  await using sessions = await openSessions({
    ...context,
    ...telemetry.traced,
    registry,
    policy,
    sandboxes,
    events,
    ...(journal && { journal }),
    ...(confirmations && { confirmations }),
    ...(limits && { limits }),
  });
  const { oauth: _oauth, ...options } = mcp;
  await using server = await openMcpServer({
    ...options,
    sessions,
    registry,
    events,
    ...(servers.hasServers && { imported: () => servers.offers() }),
    session: () => ({
      ...(mode !== undefined && { mode }),
      ...(workspace !== undefined && { workspace: resolve(workspace) }),
    }),
    onProblem: (message) => log.write({ level: "warn", event: "mcp.problem", fields: { message } }),
  });
  servers.serveThrough(server);
  const principal = { id: LOCAL_ID, kind: "service" } as const;
  const client = server.serveStdio({ principal }, { input: terminal.stdin, output: terminal.stdout });
  const { signal } = terminal;
  const interrupt = (): void => void client.close();
  signal?.addEventListener("abort", interrupt);
  process.once("SIGTERM", interrupt);
  log.write({ level: "info", event: "server.started", fields: { address: "stdio", tools: registry.size } });
  await client.closed;
  process.off("SIGTERM", interrupt);
  signal?.removeEventListener("abort", interrupt);
  return signal?.aborted ? EXIT_INTERRUPTED : EXIT_OK;
}
