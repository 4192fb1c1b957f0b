import { EventStream } from "../engine/call/events.ts";
import { checkResultBudget } from "../engine/result-budget.ts";
import { Executor } from "../executor/executor.ts";
import { completeLimits } from "../executor/limits.ts";
import { contextOf } from "../executor/options.ts";
import { Origins } from "../http/request.ts";
import type { McpServer } from "../mcp/server/mcp-server.ts";
import type { McpServerOptions } from "../mcp/server/options.ts";
import type { RuntimePolicy } from "../policy/policy.ts";
import { Redaction } from "../redaction/redaction.ts";
import type { SessionMode } from "../sessions/modes/mode.ts";
import { Modes } from "../sessions/modes/modes.ts";
import type { SessionsOptions } from "../sessions/options.ts";
import type { Session } from "../sessions/session.ts";
import { openSessions, type Sessions } from "../sessions/sessions.ts";
import { MemorySessionStore } from "../sessions/store/memory-store.ts";
import { absolutePath } from "../sessions/trusted-workspaces.ts";
import { Clients } from "./access/client.ts";
import { needsExecutor, withCredentials } from "./access/credential.ts";
import { Admin } from "./admin.ts";
import { CallRepeats } from "./call-repeats.ts";
import type { CalledSession } from "./console/calls/console-call.ts";
import { type Console, openConsole, type ServedConsole } from "./console/console.ts";
import { checkNotify } from "./notifying/notify.ts";
import {
  checkReloadedNames,
  checkServerNames,
  type ReloadedOptions,
  type ServedMcp,
  type ServerOptions,
} from "./options.ts";
import { ReloadableTools } from "./reloadable-tools.ts";
import { SessionService } from "./service.ts";
import { SessionMetrics } from "./session-metrics.ts";
import { McpRoutes, SessionRoutes } from "./session-routes.ts";

interface ServerParts {
  readonly executor: Executor;
  readonly sessions: Sessions;
  readonly tools: ReloadableTools;
  readonly routes: SessionRoutes;
  /** That of new sessions. */
  readonly mode: SessionMode;
  readonly mcp: McpServer | undefined;
  readonly console: Console | undefined;
  readonly operator: ServedConsole["operator"];
  readonly executorPolicy: RuntimePolicy;
  readonly hasExecutor: boolean;
}

/** A server of sessions, which can be an executor, too. `docs/http-api.md` describes its API. */
export class Server implements AsyncDisposable {
  /** For the embedder's own use: what is done here has passed no credentials. */
  readonly sessions: Sessions;
  /** What serves MCP; `undefined` unless the options have `mcp`. */
  readonly mcp: McpServer | undefined;
  readonly #executor: Executor;
  readonly #tools: ReloadableTools;
  readonly #routes: SessionRoutes;
  readonly #mode: SessionMode;
  readonly #console: Console | undefined;
  readonly #operator: ServedConsole["operator"];
  readonly #executorPolicy: RuntimePolicy;
  readonly #hasExecutor: boolean;

  private constructor({ executor, sessions, tools, routes, mode, mcp, ...more }: ServerParts) {
    this.#executor = executor;
    this.#console = more.console;
    this.#operator = more.operator;
    this.#executorPolicy = more.executorPolicy;
    this.#hasExecutor = more.hasExecutor;
    this.sessions = sessions;
    this.mcp = mcp;
    this.#tools = tools;
    this.#routes = routes;
    this.#mode = mode;
  }

  /** See {@link startServer}. @internal */
  static async start(options: ServerOptions): Promise<Server> {
    checkServerNames(options);
    const {
      sessions: served,
      credentials = [],
      origins: pages = [],
      mcp: servedMcp,
      console: servedConsole,
      executor: hasExecutor = false,
      ...others
    } = options;
    const { history, policyFile, beforePolicy, onAdmin, ...given } = others;
    const { mode = "cautious", workspaces = [], durable } = served;
    const persistence =
      durable === undefined ? { store: served.store ?? new MemorySessionStore() } : { durable };
    const { limits } = given;
    const context = contextOf(given);
    new Modes(served.confirmations?.modes).resolve(mode);
    if (served.resultBudget !== undefined) checkResultBudget(served.resultBudget);
    const complete = completeLimits(limits);
    const { bodyBytes } = complete;
    const paths = workspaces.map((path) => absolutePath(path, "a workspace"));
    const bounds = { mode, workspaces: paths, bodyBytes };
    const notify = served.notify && checkNotify(served.notify);
    const origins = new Origins(pages, servedConsole !== undefined);
    const access = withCredentials(given, credentials, hasExecutor);
    if (!hasExecutor && credentials.length === 0 && !hasOtherCallers(options))
      throw new TypeError(
        needsExecutor("a server without credentials", "credentials with the role 'caller'"),
      );
    const tools = new ReloadableTools(context);
    // Calls of an earlier process can continue while the sessions open.
    let sessionsOf: Sessions | undefined;
    const console =
      servedConsole &&
      (await openConsole(servedConsole, tools, {
        journal: context.journal !== undefined,
        redaction: context.redaction,
        sessionOf: (id) => openedSession(sessionsOf?.get(id)),
      }));
    const admin = new Admin(tools, {
      ...(policyFile !== undefined && { policyFile }),
      ...(beforePolicy && { beforePolicy }),
      onAdmin: (event) => {
        console?.pageChanges.change();
        // What clients are listed depends on the policy.
        if (event.action === "policy-replaced") routesOf?.toolsChanged();
        onAdmin?.(event);
      },
    });
    let routesOf: SessionRoutes | undefined;
    const operator = servedConsole?.operator;
    const events = eventsBefore(context.events);
    const executed = console && eventsBefore(context.events);
    console?.follow("session", events);
    if (executed !== undefined) console?.follow("executor", executed);
    const policy = console?.observe("session", tools) ?? tools.policy;
    const executorPolicy = console?.observe("executor", tools) ?? tools.policy;
    const sessions = await openSessions({
      ...(context as unknown as SessionsOptions),
      registry: tools.registry,
      policy,
      events,
      ...persistence,
      ...(served.confirmations && { confirmations: served.confirmations }),
      ...(served.limits && { limits: served.limits }),
      ...(served.resultBudget && { resultBudget: served.resultBudget }),
    });
    sessionsOf = sessions;
    try {
      const redaction = context.redaction ?? new Redaction();
      const repeats = history && new CallRepeats({ ...context, registry: tools.registry, policy, events });
      const inspected = { registry: tools.registry, redaction, history, repeats };
      const service = new SessionService({
        sessions,
        admin,
        events,
        bounds,
        inspected,
        approves: (id, session) => routesOf?.approves(id, session) ?? false,
        notify,
        console,
      });
      const metrics = new SessionMetrics({ sessions, admin, tools, events });
      const clients = new Clients(credentials, operator);
      const common = { sessions, registry: tools.registry, events };
      const mcp = servedMcp && (await openMcp(servedMcp, { ...common, session: () => ({ mode }) }));
      const routes = new SessionRoutes({
        service,
        clients,
        origins,
        limits: complete,
        mcp,
        metrics,
        hasExecutor,
      });
      routesOf = routes;
      const executor = await Executor.start(
        { ...given, ...access, policy: executorPolicy, ...(executed && { events: executed }) },
        routes,
      );
      return new Server({
        executor,
        sessions,
        tools,
        routes,
        mode,
        mcp: mcp?.server,
        console,
        operator,
        executorPolicy,
        hasExecutor,
      });
    } catch (error) {
      await sessions.close();
      throw error;
    }
  }

  /** See {@link Executor.scheme}. */
  get scheme(): "http" | "https" {
    return this.#executor.scheme;
  }

  /** See {@link Executor.address}. */
  get address(): string {
    return this.#executor.address;
  }

  /**
   * Returns a token with which one browser can log in to the console as its operator, within 10 minutes.
   *
   * @throws {TypeError} if the options have no operator.
   */
  issueConsoleToken(): string {
    if (this.#console === undefined)
      throw new TypeError("the server has no console: see its option 'console'");
    return this.#console.issueToken();
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
    const { registry, policy, credentials = [], modes, ...own } = options;
    if (modes !== undefined) new Modes(modes).resolve(this.#mode);
    const access = withCredentials(own, credentials, this.#hasExecutor);
    this.#executor.reload({ registry, policy: this.#executorPolicy, ...access });
    this.#tools.replace({ registry, policy });
    this.#routes.reload(new Clients(credentials, this.#operator));
    if (modes !== undefined) this.sessions.replaceModes(modes);
    this.#routes.toolsChanged();
    this.#console?.pageChanges.change();
  }

  /**
   * Stops accepting calls and messages, and closes: see {@link Executor.close}. Calls that wait for a person continue waiting
   * in the store.
   */
  close(): Promise<void> {
    return this.#executor.close();
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

/** Whether the sessions can be used without credentials: with access tokens, or at the console. */
function hasOtherCallers({ mcp, console }: Pick<ServerOptions, "mcp" | "console">): boolean {
  return mcp?.oauth !== undefined || console?.operator !== undefined;
}

async function openMcp({ oauth, ...options }: ServedMcp, common: CommonMcpOptions): Promise<McpRoutes> {
  // Loaded only for those who need them.
  const tokens = oauth && (await (await import("./mcp/token-senders.ts")).TokenSenders.open(oauth));
  const { openMcpServer } = await import("../mcp/server/mcp-server.ts");
  return new McpRoutes(await openMcpServer({ ...options, ...common }), tokens);
}

type CommonMcpOptions = Pick<McpServerOptions, "sessions" | "registry" | "events" | "session">;

/** The events of sessions alone, which pass on to the embedder's. A client of the executor names its sessions as it likes. */
function eventsBefore(own: EventStream | undefined): EventStream {
  const events = new EventStream();
  if (own !== undefined) events.on((event) => own.emit(event));
  return events;
}

function openedSession(session: Session | undefined): CalledSession | undefined {
  return session && { name: session.name, openedAt: session.openedAt };
}
