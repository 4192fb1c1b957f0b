import type { ConfigProblem } from "../../../config/problem.ts";
import { ToolRegistrationError } from "../../../engine/registered-tool.ts";
import type { Tool } from "../../../engine/tool.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import type { McpImports } from "../../../mcp/import/open-mcp.ts";
import type { McpOffers } from "../../../mcp/server/mcp-offers.ts";
import type { McpServer } from "../../../mcp/server/mcp-server.ts";
import { type DefinitionLock, LockPins } from "../../../pins/lock-file.ts";
import { openSandboxes, type Sandboxes } from "../../../sandboxes/open-sandboxes.ts";
import type { McpNotice, OnMcpNotice } from "../../../sandboxes/remote/mcp-client/notice.ts";
import { SchemaError } from "../../../schema/schema-error.ts";
import type { McpCallIdentity } from "../../../tool/implementations/remote-implementation.ts";
import type { ImportTools, McpConfig } from "../../config/load-mcp.ts";
import { describeInstallation, PackageProblem } from "../../config/server-package.ts";

/** The server of MCP before the servers of a config. */
type Gateway = Pick<McpServer, "clientOf" | "toolsChanged" | "resourcesChanged" | "promptsChanged">;

/** Maximum number of notices that are buffered until there is a log. */
const MAX_PENDING = 1_000;

/** The MCP servers of a config, while a command runs. */
export class ConfiguredServers implements AsyncDisposable {
  readonly #severity: "error" | "warning";
  #sandboxes: Sandboxes | undefined;
  #current: McpImports | undefined;
  #next: McpImports | undefined;
  #pending: McpNotice[] = [];
  #listener: OnMcpNotice | undefined;
  readonly #serves: boolean;
  readonly #startsUnapproved: boolean;
  /** The installed packages of servers, as they are pinned. */
  #packages: ReadonlyMap<string, JsonObject> = new Map();
  #refused: readonly string[] = [];
  #gateway: Gateway | undefined;

  /**
   * @param severity The severity of a server that cannot be reached.
   * @param options.serves Whether the command may serve clients of MCP, which the servers can ask. Default: `false`.
   * @param options.startsUnapproved Whether servers are started whose packages have other files than the lock says, so that a
   *   person can see what else changed. Default: `false`.
   */
  constructor(
    severity: "error" | "warning",
    {
      serves = false,
      startsUnapproved = false,
    }: { readonly serves?: boolean; readonly startsUnapproved?: boolean } = {},
  ) {
    this.#severity = severity;
    this.#serves = serves;
    this.#startsUnapproved = startsUnapproved;
  }

  /** Sets the MCP server whose clients the servers can ask, and which is notified when resources and prompts change. */
  serveThrough(gateway: Gateway | undefined): void {
    this.#gateway = gateway;
  }

  /** Whether the config has servers. */
  get hasServers(): boolean {
    return (this.#current ?? this.#next) !== undefined;
  }

  /** The resources and prompts of the servers. */
  offers(): McpOffers {
    return (this.#current ?? this.#next)?.offers ?? {};
  }

  /** Passes on all notices, also the buffered ones. */
  listen(listener: OnMcpNotice): void {
    this.#listener = listener;
    for (const notice of this.#pending) listener(notice);
    this.#pending = [];
  }

  /** For `loadConfig`. Servers whose config did not change stay connected. */
  readonly importTools: ImportTools = async ({ source, mcp: all, sandboxOptions, registry, lock }) => {
    if (Object.keys(all.servers).length === 0) return [];
    const problems: ConfigProblem[] = [];
    const refused = await this.#checkPackages(all, lock);
    for (const [server, message] of refused)
      problems.push(source.problem(["mcp", "servers", server], message, this.#severity, "key"));
    const started = Object.entries(all.servers).filter(([server]) => !refused.has(server));
    const mcp = { servers: Object.fromEntries(started), classes: all.classes };
    this.#sandboxes ??= await openSandboxes(sandboxOptions);
    this.#sandboxes.ensureExit();
    let isOpening = true;
    const onNotice = (notice: McpNotice): void => {
      const { kind, server, message } = notice;
      if (isOpening && kind === "problem") {
        const problem = source.problem(["mcp", "servers", server], message, "warning", "key");
        // A server that cannot be connected to is started twice.
        if (!problems.some((other) => other.line === problem.line && other.message === message))
          problems.push(problem);
      }
      if (this.#listener !== undefined) this.#listener(notice);
      else if (this.#pending.length < MAX_PENDING) this.#pending.push(notice);
    };
    // Loaded only for configs with servers.
    const { openMcp } = await import("../../../mcp/import/open-mcp.ts");
    const reuse = this.#current;
    const imports = await openMcp({
      ...mcp,
      registry,
      sandboxes: this.#sandboxes,
      onNotice,
      ...(this.#serves && {
        clientOf: (call: McpCallIdentity) => this.#gateway?.clientOf(call),
        onListsChanged: (lists: "tools" | "offers") =>
          lists === "offers" ? this.#offersChanged() : this.#gateway?.toolsChanged(),
      }),
      ...(reuse && { reuse }),
    });
    isOpening = false;
    this.#next = imports;
    for (const [name, { problem }] of imports.servers) {
      if (problem === undefined) continue;
      problems.push(source.problem(["mcp", "servers", name], problem, this.#severity, "key"));
    }
    return problems;
  };

  /** Reads the files of installed packages. Returns why servers are not started, by their names. */
  async #checkPackages(
    { packages, servers }: McpConfig,
    lock: DefinitionLock | undefined,
  ): Promise<ReadonlyMap<string, string>> {
    const pins = lock && new LockPins(lock);
    const found = new Map<string, JsonObject>();
    const refused = new Map<string, string>();
    for (const [server, installed] of Object.entries(packages)) {
      if (servers[server] === undefined) continue;
      try {
        const definition = await describeInstallation(installed);
        const name = packagePin(server);
        found.set(name, definition);
        if (this.#startsUnapproved || pins === undefined || pins.isApprovedServer(name, definition)) continue;
        const what = `the files of npm:${installed.name}@${installed.version} are not those that were approved`;
        refused.set(server, `${what}, and the server is not started: 'sandgate mcp diff' shows what changed`);
      } catch (error) {
        if (!(error instanceof PackageProblem)) throw error;
        refused.set(server, error.message);
      }
    }
    this.#packages = found;
    this.#refused = [...refused.keys()];
    return refused;
  }

  /** The names of the servers that could not be reached, or were not started. */
  get unreached(): readonly string[] {
    const { servers } = this.#next ?? this.#current ?? { servers: new Map() };
    const failed = [...servers].flatMap(([name, { problem }]) => (problem === undefined ? [] : [name]));
    return [...this.#refused, ...failed];
  }

  #offersChanged(): void {
    this.#gateway?.resourcesChanged();
    this.#gateway?.promptsChanged();
  }

  /** What the servers say besides their tools, as it is pinned. */
  definitions(): ReadonlyMap<string, JsonObject> {
    return new Map([...this.#packages, ...((this.#next ?? this.#current)?.definitions() ?? [])]);
  }

  /** The config is used from now on: servers that it no longer has are ended. */
  async accept(): Promise<void> {
    const before = this.#current;
    this.#current = this.#next;
    this.#next = undefined;
    await before?.close();
    this.#offersChanged();
  }

  /** The config is not used: servers that only it has are ended. */
  async refuse(): Promise<void> {
    const refused = this.#next;
    this.#next = undefined;
    await refused?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#next?.close();
    await this.#current?.close();
    await this.#sandboxes?.close();
  }
}

/** The name under which the package of a server is pinned. */
function packagePin(server: string): string {
  return `${server}/package`;
}

/** Whether a definition of {@link ConfiguredServers.definitions} is a resource, a template or a prompt. */
export function isOffer(name: string): boolean {
  return name.includes("/") && !name.endsWith("/package");
}

/**
 * The MCP servers of a config, for commands that decide on calls and make none: the tools of a server are those of the lock, and
 * only a server that the lock does not know is started.
 */
export class PinnedServers implements AsyncDisposable {
  readonly #unknown = new ConfiguredServers("error", { startsUnapproved: true });

  /** For `loadConfig`. */
  readonly importTools: ImportTools = async (given) => {
    const { mcp, lock } = given;
    const known = Object.keys(mcp.servers).filter((server) => lock !== undefined && isPinned(server, lock));
    const problems = await registerPinned(given, known);
    const others = Object.entries(mcp.servers).filter(([server]) => !known.includes(server));
    const started = { ...given, mcp: { ...mcp, servers: Object.fromEntries(others) } };
    return [...problems, ...(await this.#unknown.importTools(started))];
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#unknown[Symbol.asyncDispose]();
  }
}

/** Registers the tools of the lock that come from these servers. */
export async function registerPinned(
  { source, mcp, lock, registry }: Parameters<ImportTools>[0],
  servers: readonly string[],
): Promise<readonly ConfigProblem[]> {
  if (lock === undefined || servers.length === 0) return [];
  const problems: ConfigProblem[] = [];
  for (const [server, tool] of await pinnedTools(lock, mcp, servers)) {
    try {
      registry.register(tool);
    } catch (error) {
      if (!(error instanceof ToolRegistrationError) && !(error instanceof SchemaError)) throw error;
      const message = `the tool '${tool.name}' in the lock cannot be registered: ${error.message}`;
      problems.push(source.problem(["mcp", "servers", server], message, "warning", "key"));
    }
  }
  return problems;
}

function isPinned(server: string, { tools, servers }: DefinitionLock): boolean {
  if (servers.keys().some((name) => name === server || name.startsWith(`${server}/`))) return true;
  return tools.values().some(({ definition }) => originOf(definition)?.server === server);
}

/** What a definition says of the server from which its tool comes; `undefined` if it comes from none. */
function originOf({
  implementations,
}: JsonObject):
  | { readonly server: JsonValue; readonly tool: string; readonly pinned: JsonObject }
  | undefined {
  const remote = isJsonObject(implementations) ? implementations["remote"] : undefined;
  const pinned = isJsonObject(remote) ? remote["mcp"] : undefined;
  if (!isJsonObject(pinned)) return undefined;
  const { server, tool } = pinned;
  return typeof tool === "string" && server !== undefined ? { server, tool, pinned } : undefined;
}

/** Makes the tools of the lock, under the names and with the classes that the config gives them now. */
async function pinnedTools(
  { tools }: DefinitionLock,
  { servers, classes }: McpConfig,
  known: readonly string[],
): Promise<readonly (readonly [server: string, tool: Tool])[]> {
  // Loaded only for configs with servers.
  const { ImportedClasses, importedToolName, wireName } = await import("../../../mcp/import/tool-name.ts");
  const imported = new ImportedClasses(classes);
  return [...tools.values()].flatMap(({ definition }) => {
    const origin = originOf(definition);
    const server = known.find((name) => name === origin?.server);
    if (origin === undefined || server === undefined) return [];
    const isOwnName = servers[server]?.keepsNames === true;
    const name = isOwnName ? wireName(origin.tool) : importedToolName(server, origin.tool);
    const { title, description, inputSchema, annotations, tags } = definition;
    const tool = {
      name,
      description,
      inputSchema,
      sideEffects: imported.classOf(name, annotations),
      ...(title !== undefined && { title }),
      ...(annotations !== undefined && { annotations }),
      ...(tags !== undefined && { tags }),
      remote: { mcp: { listed: {}, call: notStarted, toJSON: () => origin.pinned } },
    };
    return [[server, tool as unknown as Tool] as const];
  });
}

async function notStarted(): Promise<{ status: "unavailable"; sent: boolean; detail: string }> {
  return {
    status: "unavailable",
    sent: false,
    detail: "the server was not started: its tools are those of the lock",
  };
}
