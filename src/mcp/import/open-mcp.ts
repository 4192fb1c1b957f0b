import { race } from "../../base/timers.ts";
import { type OptionNames, refuseUnknown } from "../../base/unknown-names.ts";
import { Egress, type EgressOptions } from "../../egress/egress.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import { canonicalText } from "../../json/canonical.ts";
import type { JsonObject } from "../../json/value.ts";
import { LockPins } from "../../pins/lock-file.ts";
import type { Sandboxes } from "../../sandboxes/open-sandboxes.ts";
import type { McpConnection } from "../../sandboxes/remote/mcp-client/connection.ts";
import { MessageRoom } from "../../sandboxes/remote/mcp-client/message-streams.ts";
import type { OnMcpNotice } from "../../sandboxes/remote/mcp-client/notice.ts";
import type { McpServerInfo } from "../../sandboxes/remote/mcp-client/wire.ts";
import { CallLinks, type ClientOfCall } from "../gateway/client-link.ts";
import { ImportedOffers } from "../gateway/imported-offers.ts";
import { ServerOffers } from "../gateway/listed-offer.ts";
import type { McpOffers } from "../server/mcp-offers.ts";
import { FollowedLists } from "./followed-lists.ts";
import { connectionTo } from "./open-connection.ts";
import { asksOf, checkServer, type ImportedServerOptions } from "./server-options.ts";
import { ServerTools } from "./server-tools.ts";
import { ImportedClasses, importedToolName, type ToolClasses, ToolNames, wireName } from "./tool-name.ts";

/** Something that several users have, one after the other, and that is closed by the last of them. */
class Shared<T> {
  readonly value: T;
  readonly #close: (value: T) => Promise<void>;
  #users = 1;

  /** @param close Called once, when the last user has released it. */
  constructor(value: T, close: (value: T) => Promise<void>) {
    this.value = value;
    this.#close = close;
  }

  retain(): this {
    this.#users++;
    return this;
  }

  async release(): Promise<void> {
    if (--this.#users === 0) await this.#close(this.value);
  }
}

const NAMES: OptionNames<McpOptions> = {
  servers: true,
  registry: true,
  sandboxes: true,
  classes: true,
  egress: true,
  onNotice: true,
  connectTimeoutMs: true,
  clientOf: true,
  onListsChanged: true,
  reuse: true,
};

/** Options of {@link openMcp}. */
export interface McpOptions {
  /** By name: 1 to 32 letters, digits, `_` and `-`. A tool is registered as `mcp_<server>_<tool>`. */
  readonly servers: Readonly<Record<string, ImportedServerOptions>>;
  /** Where the tools are registered. Its pins apply to them, too. */
  readonly registry: ToolRegistry;
  /** Start the servers that are programs. */
  readonly sandboxes: Pick<Sandboxes, "startConfinedProgram">;
  /** The classes of tools, by patterns of their names. Default: all are `destructive`. */
  readonly classes?: ToolClasses;
  /** How requests to HTTP servers are sent. */
  readonly egress?: EgressOptions;
  /** Gets what operators may want to know. Must not throw. */
  readonly onNotice?: OnMcpNotice;
  /** Milliseconds to wait for each server at first. One that takes longer gets its tools registered later. Default: 30,000. */
  readonly connectTimeoutMs?: number;
  /** Finds the client of a call, such as `McpServer.clientOf`: servers can ask it. Default: servers can ask nothing. */
  readonly clientOf?: ClientOfCall;
  /** Called when lists of a server were read again: its tools, or its resources and prompts (`offers`). Must not throw. */
  readonly onListsChanged?: (lists: "tools" | "offers") => void;
  /** Imports of which the connections are taken over, for servers whose options are the same. Close them afterwards. */
  readonly reuse?: McpImports | undefined;
}

/** One of the servers. */
export interface ImportedServer {
  /** What it says about itself; `undefined` if it was never connected. Its texts are hostile. */
  readonly info: McpServerInfo | undefined;
  /** Why it had no tools at first; `undefined` if it had. For operators. */
  readonly problem: string | undefined;
  /** The names of its registered tools. */
  readonly tools: readonly string[];
  /** Sends requests other than calls of tools. @internal */
  readonly connection: McpConnection;
}

/** The imported tools of MCP servers. Closing it ends the servers, and leaves the tools registered: their calls fail. */
export interface McpImports extends AsyncDisposable {
  /** By name, in the order of the options. */
  readonly servers: ReadonlyMap<string, ImportedServer>;
  /** The resources, resource templates and prompts of the servers, for `openMcpServer`. They are read at each request. */
  readonly offers: McpOffers;
  /**
   * The texts of the servers for a model, other than their tools, as they are pinned: their instructions by
   * the names of the servers, and resources, templates and prompts by `<server>/<list>/<id>`.
   */
  definitions(): ReadonlyMap<string, JsonObject>;
  /** The instructions of servers, by name. With the pins of a lock, only those that were approved. */
  instructions(): ReadonlyMap<string, string>;
  /** Idempotent. */
  close(): Promise<void>;
}

/**
 * Connects to MCP servers, and registers their tools: `mcp_<server>_<tool>`. They are called like all other
 * tools, through policy and journal. The tools of an unreachable server are missing, and the connection is
 * retried.
 *
 * @throws {TypeError} if an option is invalid.
 */
export async function openMcp(options: McpOptions): Promise<McpImports> {
  refuseUnknown(options, NAMES, "openMcp");
  for (const [name, server] of Object.entries(options.servers)) checkServer(name, server);
  const imports = new Imports(options);
  await imports.open(options.connectTimeoutMs ?? 30_000);
  return imports;
}

interface Followed {
  readonly shared: Shared<McpConnection>;
  /** The options as canonical text: only a server with the same ones is the same. */
  readonly key: string;
  readonly connection: McpConnection;
  readonly tools: ServerTools;
  readonly offers: ServerOffers;
  readonly followed: readonly FollowedLists[];
  problem: string | undefined;
}

class Imports implements McpImports {
  readonly #registry: ToolRegistry;
  readonly #egress: Shared<Egress>;
  readonly #room: MessageRoom;
  readonly #followed = new Map<string, Followed>();
  readonly offers: McpOffers;
  #isClosed = false;

  constructor(options: McpOptions) {
    const { servers, registry, sandboxes, classes, egress, onNotice, reuse } = options;
    this.#registry = registry;
    const before = reuse instanceof Imports ? reuse : undefined;
    // The egress of the first import, which its connections continue to use.
    this.#egress =
      before === undefined ? new Shared(new Egress(egress), (each) => each.close()) : before.#egress.retain();
    this.#room = before === undefined ? new MessageRoom() : before.#room;
    const hasClients = options.clientOf !== undefined;
    const services = { sandboxes, egress: this.#egress.value, room: this.#room, onNotice, hasClients };
    const links = new CallLinks(options.clientOf, (name) => asksOf(servers[name] ?? { asks: [] }));
    const nameOf = (server: string, original: string): string =>
      servers[server]?.keepsNames === true ? wireName(original) : importedToolName(server, original);
    const imported = new ImportedClasses(classes);
    const names = new ToolNames();
    for (const [name, server] of Object.entries(servers)) {
      const key = canonicalText(JSON.parse(JSON.stringify(server)));
      const known = before === undefined ? undefined : before.#followed.get(name);
      const shared =
        known?.key === key
          ? known.shared.retain()
          : new Shared(connectionTo(name, server, services), (each) => each.close());
      const connection = shared.value;
      const tools = new ServerTools({
        connection,
        registry,
        classes: imported,
        names,
        links,
        nameOf: (original) => nameOf(name, original),
      });
      const offers = new ServerOffers(connection);
      const onRefreshed = (): void => {
        const entry = this.#followed.get(name);
        if (entry !== undefined) entry.problem = undefined;
        options.onListsChanged?.("tools");
      };
      const onOffersRefreshed = (): void => options.onListsChanged?.("offers");
      const followed = [
        new FollowedLists({ connection, lists: tools, kinds: ["tools"], onNotice, onRefreshed }),
        new FollowedLists({
          connection,
          lists: offers,
          onNotice,
          kinds: ["resources", "prompts"],
          onRefreshed: onOffersRefreshed,
        }),
      ];
      this.#followed.set(name, { shared, key, connection, tools, offers, followed, problem: undefined });
    }
    this.offers = new ImportedOffers(() => Array.from(this.#followed.values(), ({ offers }) => offers), {
      links,
      promptName: nameOf,
      isApproved: (name, definition) => this.#isApproved(name, definition),
    });
  }

  async open(timeoutMs: number): Promise<void> {
    let turn: Promise<unknown> = Promise.resolve();
    const opening = [...this.#followed.values()].map((followed) => {
      // The servers answer at once; their tools are registered in the order of the options.
      const [tools, offers] = followed.followed;
      const opened = race(tools?.open(turn) ?? turn.then(() => undefined), { timeoutMs });
      const offered = race(offers?.open(turn) ?? turn.then(() => undefined), { timeoutMs });
      turn = opened;
      return Promise.all([opened, offered]).then(([problem]) => {
        followed.problem = problem === "timeout" ? "it did not answer in time" : problem;
      });
    });
    await Promise.all(opening);
  }

  get servers(): ReadonlyMap<string, ImportedServer> {
    return new Map(
      [...this.#followed].map(([name, { tools, connection, problem }]) => [
        name,
        { info: tools.info, problem, tools: tools.names, connection },
      ]),
    );
  }

  definitions(): ReadonlyMap<string, JsonObject> {
    const definitions = new Map(this.#instructions());
    for (const { offers } of this.#followed.values()) {
      for (const offer of offers.offers) {
        const { name, definition } = offers.pinOf(offer);
        definitions.set(name, definition);
      }
    }
    return definitions;
  }

  #instructions(): ReadonlyMap<string, JsonObject> {
    const definitions = new Map<string, JsonObject>();
    for (const [name, { info }] of this.servers) {
      const { instructions } = info ?? {};
      if (instructions !== undefined) definitions.set(name, { serverName: info?.name ?? null, instructions });
    }
    return definitions;
  }

  instructions(): ReadonlyMap<string, string> {
    const approved = new Map<string, string>();
    for (const [name, definition] of this.#instructions()) {
      if (this.#isApproved(name, definition)) approved.set(name, definition["instructions"] as string);
    }
    return approved;
  }

  /** Only the pins of a lock cover servers. */
  #isApproved(name: string, definition: JsonObject): boolean {
    const { pins } = this.#registry;
    return pins === undefined || (pins instanceof LockPins && pins.isApprovedServer(name, definition));
  }

  async close(): Promise<void> {
    const followed = [...this.#followed.values()];
    this.#followed.clear();
    for (const each of followed) for (const lists of each.followed) lists.close();
    await Promise.all(followed.map(({ shared }) => shared.release()));
    if (!this.#isClosed) await this.#egress.release();
    this.#isClosed = true;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
