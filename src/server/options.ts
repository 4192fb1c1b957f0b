import type { AccessTokenOptions } from "../access-tokens/options.ts";
import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import type { CallSuspensions } from "../engine/call/suspension.ts";
import type { ResultBudget } from "../engine/result-budget.ts";
import { EXECUTOR_NAMES, type ExecutorOptions } from "../executor/options.ts";
import type { Credentials } from "../http/authentication.ts";
import type { Credential } from "../http/clients.ts";
import type { JournalHistory } from "../journal/history/journal-history.ts";
import type { McpServerOptions } from "../mcp/server/options.ts";
import type { DurableRuntime } from "../sessions/durable-runtime.ts";
import type { SessionMode } from "../sessions/modes/mode.ts";
import type { ConfirmationOptions, SessionLimits } from "../sessions/options.ts";
import type { SessionStore } from "../sessions/store/store.ts";
import type { AdminOptions } from "./admin.ts";
import type { ServedConsole } from "./console/console.ts";
import type { Notify } from "./notifying/notify.ts";

/**
 * The options of `startServer`: those of an executor, and more. The server does not close the sandboxes: close them after it.
 *
 * @typeParam Embedder As of `DispatchContext`.
 */
export type ServerOptions<Embedder = unknown> = ExecutorOptions<Embedder> &
  AdminOptions & {
    readonly sessions: ServedSessions;
    /**
     * Whether calls can be dispatched without a session, over the remote protocol (`POST /v1/dispatch` and frames). They run
     * under the policy alone: no person is asked, and `confirm` of tools, levels, modes and quotas of sessions do not apply. Who
     * may do so are senders with `keys`, `token`, `tokens`, `certificates` or the role `client`, and senders without a
     * credential if the server has none. Without it, these are refused when the server starts. Default: `false`.
     */
    readonly executor?: boolean;
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
    /**
     * Stores programs of sessions while they wait: see `openSuspensions`. The server does not close it: close it after the
     * server. Default: they end with the process.
     */
    readonly suspensions?: CallSuspensions;
    /** Shows the calls in the journal to approvers, readers and admins. Default: they cannot be read over HTTP. */
    readonly history?: JournalHistory;
    /** Serves a page for people at `/console/`. Default: it is not served. */
    readonly console?: ServedConsole;
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
  /** Runs the calls of sessions on several servers: see `SessionsOptions.durable`. `store` must be absent then. */
  readonly durable?: DurableRuntime;
  /**
   * How people are notified of the confirmations that open while no approver follows the events of their sessions: of those that open
   * within a second, together. A failure is a warning of the process with the code `SANDGATE_NOTIFY_FAILED`. Default: nobody.
   */
  readonly notify?: Notify;
  /** The mode of new sessions, and the loosest that a caller can choose. Default: `"cautious"`. */
  readonly mode?: SessionMode;
  /**
   * The workspaces that a caller can choose, with everything below them; `~` is the home directory. Links are resolved.
   * Default: none.
   */
  readonly workspaces?: readonly string[];
}

/** What `Server.reload` replaces. */
export interface ReloadedOptions
  extends Pick<ServerOptions, "registry" | "policy" | "credentials" | "tls">,
    Credentials,
    Pick<ConfirmationOptions, "modes"> {}

const SERVER_NAMES: OptionNames<ServerOptions> = {
  ...EXECUTOR_NAMES,
  sessions: true,
  executor: true,
  credentials: true,
  origins: true,
  mcp: true,
  suspensions: true,
  history: true,
  console: true,
  policyFile: true,
  beforePolicy: true,
  onAdmin: true,
};
const SESSIONS_NAMES: OptionNames<ServedSessions> = {
  confirmations: true,
  limits: true,
  resultBudget: true,
  store: true,
  durable: true,
  notify: true,
  mode: true,
  workspaces: true,
};
const MCP_NAMES: OptionNames<ServedMcp> = {
  resources: true,
  resourceTemplates: true,
  prompts: true,
  imported: true,
  info: true,
  instructions: true,
  confirm: true,
  approvalUrl: true,
  logs: true,
  lists: true,
  searchAbove: true,
  onProblem: true,
  oauth: true,
};
const CONSOLE_NAMES: OptionNames<ServedConsole> = { page: true, operator: true };
const RELOADED_NAMES: OptionNames<ReloadedOptions> = {
  registry: true,
  policy: true,
  credentials: true,
  tls: true,
  modes: true,
  keys: true,
  token: true,
  tokenName: true,
  tokens: true,
  certificates: true,
};

/** @throws {TypeError} if an option is unknown. */
export function checkServerNames(options: ServerOptions): void {
  refuseUnknown(options, SERVER_NAMES, "a server");
  const { sessions, mcp, console } = options;
  refuseUnknown(sessions, SESSIONS_NAMES, "sessions of a server");
  if (mcp !== undefined) refuseUnknown(mcp, MCP_NAMES, "mcp of a server");
  if (console !== undefined) refuseUnknown(console, CONSOLE_NAMES, "console of a server");
}

/** @throws {TypeError} if an option is unknown. */
export function checkReloadedNames(options: ReloadedOptions): void {
  refuseUnknown(options, RELOADED_NAMES, "a reload");
}
