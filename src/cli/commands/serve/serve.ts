import { EventStream } from "../../../engine/call/events.ts";
import { LISTEN_FORM, parseListenAddress } from "../../../executor/http/listen-address.ts";
import type { RefusedRequest } from "../../../executor/http/refused-request.ts";
import type { RefusedHandshake } from "../../../executor/tls/tls-connections.ts";
import { JournalHistory } from "../../../journal/history/journal-history.ts";
import { logCalls } from "../../../log/call-log.ts";
import { LoggedWarnings } from "../../../log/logged-warnings.ts";
import { mcpEntry } from "../../../log/mcp-entry.ts";
import { handshakeEntry, refusalEntry } from "../../../log/refusal-entry.ts";
import { shown } from "../../../rendering/shown.ts";
import { openSandboxes } from "../../../sandboxes/open-sandboxes.ts";
import type { AdminOptions } from "../../../server/admin.ts";
import { UsageError } from "../../errors.ts";
import { link } from "../../terminal/link.ts";
import { logWarnings, openLog } from "../../terminal/open-log.ts";
import { EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { makeCalls } from "../console/make-calls.ts";
import { withOwnConsole } from "../console/own-console.ts";
import { ConfiguredServers } from "../mcp/servers.ts";
import { openConfiguredJournal } from "../open-journal.ts";
import { readMessage } from "../read-message.ts";
import { checkDropNetwork, DropNetworkError, dropNetwork } from "./drop-network.ts";
import { adminEntry, fieldsOf, noticeEntry } from "./entries.ts";
import { load, toolsOf } from "./load.ts";
import { openDurable } from "./open-durable.ts";
import { openPrograms } from "./open-programs.ts";
import { reload } from "./reload.ts";
import { Reloads } from "./reloads.ts";
import { start } from "./start.ts";
import { Termination } from "./termination.ts";

/** Options of `sandgate serve`. */
interface ServeOptions {
  readonly config: string;
  /** Overrides the config's address. */
  readonly listen: string | undefined;
  /** The ingress of Restate, in place of that in the config. Default: what the config says. */
  readonly restate?: string | undefined;
  /** Serves sessions and the console for this user, who logs in with the printed link. Default: what the config says. */
  readonly console?: boolean;
  /** With `console`: a file with an assistant's message, whose calls are made; `-` is standard input. Default: none. */
  readonly message?: string;
}

/**
 * Serves the tools of a config until SIGTERM or an interruption. It then answers the calls that it has accepted. On
 * SIGHUP it reloads tools, policy, credentials and modes.
 *
 * @throws {ConfigError} if the config is invalid, and {@link MessageError} if the message is.
 * @throws {UsageError} if it cannot listen on the address or drop the network.
 */
export async function serve(
  { config, listen, restate, console: hasConsole = false, message }: ServeOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  using termination = new Termination(terminal);
  using reloads = new Reloads();
  await using servers = new ConfiguredServers("warning", { serves: true });
  const read = await load(config, servers, undefined, hasConsole);
  const own = hasConsole ? { ...read, served: withOwnConsole(read) } : read;
  const loaded = restate === undefined ? own : { ...own, durable: { ...own.durable, ingress: restate } };
  await servers.accept();
  if (listen !== undefined && parseListenAddress(listen) === undefined) {
    throw new UsageError(shown`--listen must be ${LISTEN_FORM}`);
  }
  if (loaded.dropsNetwork) orUsageError(checkDropNetwork);
  const { options, context } = loaded;
  await using log = openLog(terminal, loaded.log, context.redaction);
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
  await using sandboxes = await openSandboxes(loaded.sandboxOptions);
  sandboxes.ensureExit();
  const events = new EventStream();
  events.on(logCalls(log));
  const onRefusal = (refused: RefusedRequest): void => log.write(refusalEntry(refused));
  const onRefusedHandshake = (refused: RefusedHandshake): void => log.write(handshakeEntry(refused));
  const where = listen ?? options.listen;
  const dispatching = { ...context, ...tools, ...(journal && { journal }), sandboxes, events };
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
  await using server = await start(
    ...([serving, administered, loaded, log, servers, suspensions, durable] as const),
  );
  if ("mcp" in server) servers.serveThrough(server.mcp);
  if (loaded.dropsNetwork) orUsageError(dropNetwork);
  reloads.begin(() => reload(server, config, loaded, log, journal, servers, hasConsole));
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
