import type { AccessTokenOptions } from "../access-tokens/options.ts";
import { checkReceiver, type Receiver } from "../base/receiver.ts";
import { checkResultBudget, type ResultBudget } from "../engine/bounds/result-budget.ts";
import { EventStream } from "../engine/call/events.ts";
import { Executor, type ExecutorOptions } from "../executor/executor.ts";
import type { Credentials } from "../executor/http/authentication.ts";
import { completeLimits } from "../executor/load/limits.ts";
import type { McpServer } from "../mcp/server/mcp-server.ts";
import type { McpServerOptions } from "../mcp/server/options.ts";
import type { SessionMode } from "../sessions/modes/mode.ts";
import { Modes } from "../sessions/modes/modes.ts";
import type { ConfirmationOptions, SessionLimits, SessionsOptions } from "../sessions/options.ts";
import { openSessions, type Sessions } from "../sessions/sessions.ts";
import { MemorySessionStore } from "../sessions/store/memory-store.ts";
import type { SessionStore } from "../sessions/store/store.ts";
import { absolutePath } from "../sessions/trusted-workspaces.ts";
import { Clients } from "./access/client.ts";
import { type Credential, withCredentials } from "./access/credential.ts";
import { Admin, type AdminOptions } from "./admin.ts";
import { Origins } from "./http/origins.ts";
import { McpRoutes } from "./mcp/mcp-routes.ts";
import { ReloadableTools } from "./reloadable-tools.ts";
import { SessionService } from "./service.ts";
import { SessionRoutes } from "./session-routes.ts";

/**
 * The options of {@link startServer}: those of an executor, whose `keys` and `token` are credentials of callers. The
 * server does not close the sandboxes: close them after it.
 *
 * @typeParam Embedder As of `DispatchContext`.
 */
export type ServerOptions<Embedder = unknown> = ExecutorOptions<Embedder> &
  AdminOptions & {
    readonly sessions: ServedSessions;
    /** Further credentials, with their roles. Default: none. */
    readonly credentials?: readonly Credential[];
    /**
     * Origins of the pages that may use the sessions from a browser, such as `https://console.example.com`. Default: none.
     */
    readonly origins?: readonly string[];
    /**
     * Serves MCP at `/mcp`, with the credentials of callers. Needs the package `@modelcontextprotocol/server`. Default: it
     * is not served.
     */
    readonly mcp?: ServedMcp;
  };

/** The MCP server of a server. */
export type ServedMcp = Omit<McpServerOptions, "sessions" | "registry" | "events" | "session"> & {
  /**
   * Accepts access tokens of an authorization server at `/mcp`, besides the credentials of callers. The resource is the URL of
   * the MCP server as clients reach it: `https://host/mcp`. Needs the package `jose`. Default: only credentials are accepted.
   */
  readonly oauth?: AccessTokenOptions;
};

/** The sessions of a server. */
export interface ServedSessions {
  /** When a person is asked. */
  readonly confirmations?: ConfirmationOptions;
  /** Limits of each session. */
  readonly limits?: SessionLimits;
  /** How much of a result the model reads, in the messages of providers. Default: as of `DispatchContext`. */
  readonly resultBudget?: ResultBudget;
  /** What survives a restart. The server closes it. Default: a store in memory. */
  readonly store?: SessionStore;
  /**
   * Is told of each inquiry that opens while no approver is attached to the events of its session: the JSON object
   * `{ requestId, sessionId, toolName }`. It has 5 seconds, and four are told at once. A failure is a warning of the process
   * with the code `SANDGATE_NOTIFY_FAILED`. Default: nothing is told.
   */
  readonly notify?: Receiver;
  /** The mode of new sessions, and the loosest that a caller can choose. Default: `"cautious"`. */
  readonly mode?: SessionMode;
  /**
   * The workspaces that a caller can choose, with everything below them; `~` is the home directory. Links are resolved.
   * Default: none.
   */
  readonly workspaces?: readonly string[];
}

/** What {@link Server.reload} replaces. */
interface ReloadedOptions
  extends Pick<ServerOptions, "registry" | "policy" | "credentials">,
    Credentials,
    Pick<ConfirmationOptions, "modes"> {}

interface ServerParts {
  readonly executor: Executor;
  readonly sessions: Sessions;
  readonly tools: ReloadableTools;
  readonly routes: SessionRoutes;
  /** That of new sessions. */
  readonly mode: SessionMode;
  readonly mcp: McpServer | undefined;
}

/** An executor that also serves sessions. `docs/sessions.md` describes its API. */
export class Server implements AsyncDisposable {
  /** For the embedder's own use: what is done here has passed no credentials. */
  readonly sessions: Sessions;
  /** What serves MCP; `undefined` unless the options have `mcp`. */
  readonly mcp: McpServer | undefined;
  readonly #executor: Executor;
  readonly #tools: ReloadableTools;
  readonly #routes: SessionRoutes;
  readonly #mode: SessionMode;

  private constructor({ executor, sessions, tools, routes, mode, mcp }: ServerParts) {
    this.#executor = executor;
    this.sessions = sessions;
    this.mcp = mcp;
    this.#tools = tools;
    this.#routes = routes;
    this.#mode = mode;
  }

  /** See {@link startServer}. @internal */
  static async start(options: ServerOptions): Promise<Server> {
    const { sessions: served, credentials = [], origins: pages = [], mcp: servedMcp, ...others } = options;
    const { policyFile, beforePolicy, onAdmin, ...given } = others;
    const { mode = "cautious", workspaces = [], store = new MemorySessionStore() } = served;
    const { listen, hosts, keys, token, tokenName, tokens, limits, ...context } = given;
    new Modes(served.confirmations?.modes).resolve(mode);
    if (served.resultBudget !== undefined) checkResultBudget(served.resultBudget);
    const complete = completeLimits(limits);
    const { bodyBytes } = complete;
    const paths = workspaces.map((path) => absolutePath(path, "a workspace"));
    const bounds = { mode, workspaces: paths, bodyBytes };
    const notify = served.notify && checkReceiver(served.notify, "notify");
    const origins = new Origins(pages);
    const access = withCredentials(given, credentials);
    const tools = new ReloadableTools(context);
    const admin = new Admin(tools, {
      ...(policyFile !== undefined && { policyFile }),
      ...(beforePolicy && { beforePolicy }),
      ...(onAdmin && { onAdmin }),
    });
    const events = eventsBefore(context.events);
    const sessions = await openSessions({
      ...(context as unknown as SessionsOptions),
      ...{ registry: tools.registry, policy: tools.policy, events, store },
      ...(served.confirmations && { confirmations: served.confirmations }),
      ...(served.limits && { limits: served.limits }),
      ...(served.resultBudget && { resultBudget: served.resultBudget }),
    });
    try {
      const service = new SessionService({ sessions, admin, events, bounds, notify });
      const clients = new Clients(credentials);
      const common = { sessions, registry: tools.registry, events };
      const mcp = servedMcp && (await openMcp(servedMcp, { ...common, session: () => ({ mode }) }));
      const routes = new SessionRoutes({ service, clients, origins, limits: complete, mcp });
      const executor = await Executor.start({ ...given, ...access, policy: tools.policy }, routes);
      return new Server({ executor, sessions, tools, routes, mode, mcp: mcp?.server });
    } catch (error) {
      await sessions.close();
      throw error;
    }
  }

  /** See {@link Executor.address}. */
  get address(): string {
    return this.#executor.address;
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
  reload({ registry, policy, credentials = [], modes, ...own }: ReloadedOptions): void {
    if (modes !== undefined) new Modes(modes).resolve(this.#mode);
    this.#executor.reload({ registry, policy: this.#tools.policy, ...withCredentials(own, credentials) });
    this.#tools.replace({ registry, policy });
    this.#routes.reload(new Clients(credentials), this.#executor.guards);
    if (modes !== undefined) this.sessions.replaceModes(modes);
    this.#routes.toolsChanged();
  }

  /**
   * Stops accepting calls and messages, and closes: see {@link Executor.close}. Calls that wait for a person go on waiting
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
 * Starts a server of sessions, which is an executor too. Sessions of its store are opened again.
 *
 * @throws {ListenError} if it cannot listen, or if clients from other machines could reach it without credentials.
 * @throws {TypeError} if an option is invalid, and `SessionStoreError` if the store fails.
 */
export function startServer<Embedder = unknown>(options: ServerOptions<Embedder>): Promise<Server> {
  return Server.start(options as unknown as ServerOptions);
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
