import type { OptionNames } from "../../base/unknown-names.ts";
import type { EventStream } from "../../engine/call/events.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import type { OpenSessionOptions } from "../../sessions/session-record.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import type { Principal } from "../../tool/principal.ts";
import type { McpOffers } from "./mcp-offers.ts";

/** Options of `openMcpServer`. */
export interface McpServerOptions extends McpOffers {
  /** The sessions in which the calls of clients run. The server does not close them. */
  readonly sessions: Sessions;
  /**
   * The registry of the sessions. The server adds the tools `resources/read`, `prompts/get` and `completion/complete` if it has
   * resources or prompts, and removes them when it is closed. Only its own sessions see them.
   */
  readonly registry: ToolRegistry;
  /**
   * What imported servers offer, such as `McpImports.offers`: it comes after what the server offers itself. Called at each
   * request, and when the server opens. Default: nothing.
   */
  readonly imported?: () => McpOffers;
  /** The event stream of the sessions: progress and logs come from it. Default: clients get neither. */
  readonly events?: EventStream;
  /** The server's description of itself. Default: the name `sandgate`, and the version of the package. */
  readonly info?: { readonly name: string; readonly version: string; readonly title?: string };
  /** What clients show to their models about the server. Default: nothing. */
  readonly instructions?: string;
  /**
   * Who confirms calls and answers the questions of tools. `none`: only the approvers of the sessions. `elicitation`: the person
   * at the client, too, if the client can show forms. The client passes the answer on, with the credential that made the
   * call, so an agent that controls its client approves its own calls. Default: `"none"`.
   */
  readonly confirm?: "elicitation" | "none";
  /**
   * Where approvers answer, such as the address of a console. With it, a call that the person at the client cannot confirm
   * waits for an approver, and its text names the address if it waits in vain. Default: such a call is denied at once.
   */
  readonly approvalUrl?: string;
  /** Whether clients that ask for logs get those of tools (`context.logger`). They are meant for operators. Default: `false`. */
  readonly logs?: boolean;
  /**
   * What lists of tools, resources and prompts have. `allowed`: only that of which the policy and the levels of the session could
   * let some call of the client run. `all`: also what is denied to it in any case. Default: `"allowed"`.
   */
  readonly lists?: "allowed" | "all";
  /**
   * Above how many tools a client's list has `search_tools`, `describe_tools` and `call_tool` in their place, and `run_program` if
   * there is one: 0 for always. A call through `call_tool` is one of the tool itself, for policy, confirmation and journal. Default:
   * lists have all tools.
   */
  readonly searchAbove?: number;
  /** The workspace, the mode and the tools of a client's session. Default: those of `Sessions.open`. */
  readonly session?: (principal: Principal | undefined) => Omit<OpenSessionOptions, "id" | "principal">;
  /**
   * Receives problems other than those of calls, such as malformed messages. Must not throw. Default: they
   * are ignored.
   */
  readonly onProblem?: (problem: string) => void;
}

/** Who sends a request, as it was authenticated. */
export interface McpSender {
  /** Default: not known. */
  readonly principal?: Principal | undefined;
}

/** The names of all options of `openMcpServer`. */
export const MCP_SERVER_NAMES: OptionNames<McpServerOptions> = {
  resources: true,
  resourceTemplates: true,
  prompts: true,
  sessions: true,
  registry: true,
  imported: true,
  events: true,
  info: true,
  instructions: true,
  confirm: true,
  approvalUrl: true,
  logs: true,
  lists: true,
  searchAbove: true,
  session: true,
  onProblem: true,
};

type Sdk = typeof import("@modelcontextprotocol/server");

let loading: Promise<Sdk> | undefined;

/**
 * Loads the SDK on first use: it takes longer to load than this package, and is an optional peer.
 *
 * @throws {TypeError} as a rejection, if it is not installed.
 */
export function loadSdk(): Promise<Sdk> {
  loading ??= import("@modelcontextprotocol/server").catch((cause: unknown) => {
    loading = undefined;
    throw new TypeError("an MCP server needs the package @modelcontextprotocol/server: install it", {
      cause,
    });
  });
  return loading;
}

/** The SDK, once it is loaded. */
export type { Sdk };
