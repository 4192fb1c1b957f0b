import { EventStream } from "../engine/call/events.ts";
import { checkResultBudget } from "../engine/result-budget.ts";
import { type ExecutorCalls, openExecutorCalls } from "../executor/executor.ts";
import { completeLimits, type ExecutorLimits } from "../executor/limits.ts";
import type { ExecutorContext } from "../executor/once/call-runner.ts";
import { partsOf } from "../executor/options.ts";
import type { Credentials } from "../http/authentication.ts";
import { Clients, needsExecutor, withCredentials } from "../http/clients.ts";
import { HttpServer, type ListeningOptions } from "../http/http-server.ts";
import { Origins } from "../http/request.ts";
import { TokenSenders } from "../http/token-senders.ts";
import type { McpServer } from "../mcp/server/mcp-server.ts";
import { Redaction } from "../redaction/redaction.ts";
import type { SessionMode } from "../sessions/modes/mode.ts";
import { Modes } from "../sessions/modes/modes.ts";
import type { SessionsOptions } from "../sessions/options.ts";
import { openSessions, type Sessions } from "../sessions/sessions.ts";
import { MemorySessionStore } from "../sessions/store/memory-store.ts";
import { absolutePath } from "../sessions/trusted-workspaces.ts";
import { Admin, ReloadableTools } from "./admin.ts";
import { CallRepeats } from "./call-repeats.ts";
import { type Console, openConsole } from "./console/console.ts";
import { StreamRoom } from "./event-stream.ts";
import { McpRoutes } from "./mcp-routes.ts";
import { checkNotify, type Notify } from "./notifying/notify.ts";
import { checkReloadedNames, checkServerNames, type ReloadedOptions, type ServerOptions } from "./options.ts";
import { SessionRoutes } from "./routes/app.ts";
import { type CallerBounds, SessionService } from "./service.ts";
import { SessionMetrics } from "./session-metrics.ts";

/** The options of a server, checked. */
interface Settings {
  readonly options: ServerOptions;
  readonly context: ExecutorContext;
  readonly listening: ListeningOptions;
  readonly limits: ExecutorLimits;
  readonly bounds: CallerBounds;
  readonly origins: Origins;
  /** Those of the executor and those with roles. */
  readonly credentials: Credentials;
  readonly notify: Notify | undefined;
}

/** @throws {TypeError} if an option is invalid. */
function settingsOf(options: ServerOptions): Settings {
  checkServerNames(options);
  const {
    sessions,
    credentials = [],
    origins = [],
    mcp,
    console,
    executor = false,
    history,
    ...given
  } = options;
  const { policyFile, beforePolicy, onAdmin, ...others } = given;
  const { mode = "cautious", workspaces = [] } = sessions;
  const { context, listening, credentials: own } = partsOf(others);
  new Modes(sessions.confirmations?.modes).resolve(mode);
  if (sessions.resultBudget !== undefined) checkResultBudget(sessions.resultBudget);
  const limits = completeLimits(options.limits);
  const paths = workspaces.map((path) => absolutePath(path, "a workspace"));
  const access = withCredentials(own, credentials, executor);
  const hasOtherCallers = mcp?.oauth !== undefined || console?.operator !== undefined;
  if (!executor && credentials.length === 0 && !hasOtherCallers)
    throw new TypeError(needsExecutor("a server without credentials", "credentials with the role 'caller'"));
  return {
    options,
    context,
    listening,
    limits,
    bounds: { mode, workspaces: paths, bodyBytes: limits.bodyBytes },
    origins: new Origins(origins, console !== undefined),
    credentials: access,
    notify: sessions.notify && checkNotify(sessions.notify),
  };
}

/** The calls of a server, as its console follows them: those of sessions, and those of its executor. */
interface Followed {
  readonly console: Console | undefined;
  /** What sessions run under, and where their events go. */
  readonly session: Pick<ExecutorContext, "policy"> & { readonly events: EventStream };
  /** The same for the executor. */
  readonly executor: Pick<ExecutorContext, "policy" | "events">;
}

/** What a server is made of. */
interface ServerParts {
  readonly settings: Settings;
  readonly tools: ReloadableTools;
  readonly followed: Followed;
  readonly sessions: Sessions;
  readonly mcp: McpServer | undefined;
  readonly calls: ExecutorCalls;
  readonly http: HttpServer;
}

/** A server of sessions, which can be an executor, too. `docs/http-api.md` describes its API. */
export class Server implements AsyncDisposable {
  /** For the embedder's own use: what is done here has passed no credentials. */
  readonly sessions: Sessions;
  /** What serves MCP; `undefined` unless the options have `mcp`. */
  readonly mcp: McpServer | undefined;
  readonly #parts: ServerParts;

  private constructor(parts: ServerParts) {
    this.sessions = parts.sessions;
    this.mcp = parts.mcp;
    this.#parts = parts;
  }

  /** See {@link startServer}. @internal */
  static async start(options: ServerOptions): Promise<Server> {
    const settings = settingsOf(options);
    const { context, limits } = settings;
    // If a part cannot start, those before it are closed, the last one first. The HTTP server closes all that it serves.
    await using started = new AsyncDisposableStack();
    const tools = new ReloadableTools(context);
    const clients = new Clients(options.credentials ?? [], options.console?.operator);
    // Calls of an earlier process can continue while the sessions open.
    const opening: { sessions?: Sessions } = {};
    const followed = await follow(settings, tools, opening);
    const sessions = started.use(await openServedSessions(settings, tools, followed));
    opening.sessions = sessions;
    const room = new StreamRoom();
    const mcp = await openMcp(settings, { tools, followed, sessions, room });
    if (mcp !== undefined) started.defer(() => mcp.drain(0));
    const admin = openAdmin(settings, { tools, followed, mcp: mcp?.server });
    const service = openService(settings, { tools, followed, sessions, admin, clients, room });
    started.defer(() => service.close(0));
    const { events } = followed.session;
    const routes = new SessionRoutes({
      service,
      metrics: new SessionMetrics({ sessions, admin, tools, events }),
      othersDrained: async () => mcp?.drain(limits.drainMs),
    });
    const calls = openExecutorCalls(
      { ...context, ...followed.executor },
      { limits, frames: options.frames, refuseIfPaused: () => service.refuseIfPaused() },
    );
    const http = await HttpServer.start(
      {
        ...settings.listening,
        limits,
        credentials: settings.credentials,
        hasOtherCredentials: options.executor !== true || options.mcp?.oauth !== undefined,
        backlog: calls.backlog,
        processId: calls.dispatcher.processId,
        clients,
        origins: settings.origins,
        logins: followed.console?.logins,
        accessTokens: mcp?.tokens,
      },
      [calls.routes, ...(mcp === undefined ? [] : [mcp]), routes],
    );
    started.move();
    return new Server({ settings, tools, followed, sessions, mcp: mcp?.server, calls, http });
  }

  /** Whether it serves HTTPS. */
  get scheme(): "http" | "https" {
    return this.#parts.http.scheme;
  }

  /** See {@link Executor.address}. */
  get address(): string {
    return this.#parts.http.address;
  }

  /**
   * Returns a token with which one browser can log in to the console as its operator, within 10 minutes.
   *
   * @throws {TypeError} if the options have no operator.
   */
  issueConsoleToken(): string {
    const { console } = this.#parts.followed;
    if (console === undefined) throw new TypeError("the server has no console: see its option 'console'");
    return console.issueToken();
  }

  /**
   * Replaces tools, policy, credentials and modes, for calls that the policy has not decided on, and for calls that wait for a
   * person: if the tool or what the policy grants is not what the person was shown, the person is asked again. Streams of
   * events, and requests whose bodies have not arrived, end if their credential is gone or its roles have changed.
   *
   * @param options.modes The modes of the configuration: see `Sessions.replaceModes`. Default: they stay.
   * @throws {ListenError | TypeError} as `Executor.reload` does, and if a mode is invalid or that of new sessions is gone;
   *   nothing is replaced then.
   */
  reload(options: ReloadedOptions): void {
    checkReloadedNames(options);
    const { registry, policy, credentials = [], modes, tls, ...own } = options;
    const { settings, tools, followed, calls, http } = this.#parts;
    if (modes !== undefined) new Modes(modes).resolve(settings.bounds.mode);
    const access = withCredentials(own, credentials, settings.options.executor === true);
    http.reload(access, { tls, holders: credentials });
    calls.dispatcher.replace({ registry, policy: followed.executor.policy });
    tools.replace({ registry, policy });
    if (modes !== undefined) this.sessions.replaceModes(modes);
    this.mcp?.toolsChanged();
    followed.console?.pageChanges.change();
  }

  /**
   * Stops accepting calls and messages, and closes: see {@link Executor.close}. Calls that wait for a person continue waiting
   * in the store.
   */
  close(): Promise<void> {
    return this.#parts.http.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Starts a server of sessions, and of an executor if the options say so. Sessions of its store are opened again.
 *
 * @throws {ListenError} if it cannot listen, or if clients from other machines could reach it without credentials.
 * @throws {TypeError} if an option is invalid, and `SessionStoreError` if the store fails.
 */
export function startServer<Embedder = unknown>(options: ServerOptions<Embedder>): Promise<Server> {
  return Server.start(options as unknown as ServerOptions);
}

/** Opens the console, if there is one, and has it follow the calls. */
async function follow(
  { options, context }: Settings,
  tools: ReloadableTools,
  opening: { readonly sessions?: Sessions },
): Promise<Followed> {
  const own = context.events;
  const events = eventsBefore(own);
  if (options.console === undefined)
    return {
      console: undefined,
      session: { policy: tools.policy, events },
      executor: { policy: tools.policy, ...(own && { events: own }) },
    };
  const console = await openConsole(options.console, tools, {
    journal: context.journal !== undefined,
    redaction: context.redaction,
    sessionOf: (id) => {
      const session = opening.sessions?.get(id);
      return session && { name: session.name, openedAt: session.openedAt };
    },
  });
  const executed = eventsBefore(own);
  console.follow("session", events);
  console.follow("executor", executed);
  return {
    console,
    session: { policy: console.observe("session", tools), events },
    executor: { policy: console.observe("executor", tools), events: executed },
  };
}

/** The events of sessions alone, which pass on to the embedder's. A client of the executor names its sessions as it likes. */
function eventsBefore(own: EventStream | undefined): EventStream {
  const events = new EventStream();
  if (own !== undefined) events.on((event) => own.emit(event));
  return events;
}

function openServedSessions(
  { options, context }: Settings,
  { registry }: ReloadableTools,
  { session }: Followed,
): Promise<Sessions> {
  const { confirmations, limits, resultBudget, durable, store } = options.sessions;
  return openSessions({
    ...(context as unknown as SessionsOptions),
    ...session,
    registry,
    ...(durable === undefined ? { store: store ?? new MemorySessionStore() } : { durable }),
    ...(confirmations && { confirmations }),
    ...(limits && { limits }),
    ...(resultBudget && { resultBudget }),
  });
}

/** The parts of a server that others use. */
interface OpenParts extends Pick<ServerParts, "tools" | "followed" | "sessions"> {
  readonly room: StreamRoom;
}

async function openMcp(
  { options, bounds }: Settings,
  { tools, followed, sessions, room }: OpenParts,
): Promise<McpRoutes | undefined> {
  if (options.mcp === undefined) return undefined;
  const { oauth, ...served } = options.mcp;
  await using started = new AsyncDisposableStack();
  const tokens = oauth && (await TokenSenders.open(oauth));
  if (tokens !== undefined) started.defer(() => tokens.close());
  // Loaded only for those who need it.
  const { openMcpServer } = await import("../mcp/server/mcp-server.ts");
  const { registry } = tools;
  const { events } = followed.session;
  const session = (): { readonly mode: SessionMode } => ({ mode: bounds.mode });
  const server = await openMcpServer({ ...served, sessions, registry, events, session });
  started.move();
  return new McpRoutes({ server, tokens, unread: room.unread });
}

function openAdmin(
  { options }: Settings,
  { tools, followed, mcp }: Pick<ServerParts, "tools" | "followed" | "mcp">,
): Admin {
  const { policyFile, beforePolicy, onAdmin } = options;
  return new Admin(tools, {
    ...(policyFile !== undefined && { policyFile }),
    ...(beforePolicy && { beforePolicy }),
    onAdmin: (event) => {
      followed.console?.pageChanges.change();
      // What clients are listed depends on the policy.
      if (event.action === "policy-replaced") mcp?.toolsChanged();
      onAdmin?.(event);
    },
  });
}

function openService(
  { options, context, bounds, notify }: Settings,
  {
    tools: { registry },
    followed: { console, session },
    sessions,
    admin,
    clients,
    room,
  }: OpenParts & { readonly admin: Admin; readonly clients: Clients },
): SessionService {
  const { history } = options;
  const redaction = context.redaction ?? new Redaction();
  const repeats = history && new CallRepeats({ ...context, ...session, registry });
  return new SessionService({
    sessions,
    admin,
    events: session.events,
    bounds,
    room,
    inspected: { registry, redaction, history, repeats },
    approves: (id, of) => clients.approves(id, of),
    notify,
    console,
  });
}
