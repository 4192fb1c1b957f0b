import type { ToolRegistry } from "../../engine/registry.ts";
import { ToolRegistrationError } from "../../engine/registry-errors.ts";
import type { Tool } from "../../engine/tool.ts";
import type { McpConnection } from "../../sandboxes/remote/mcp-client/connection.ts";
import type { McpServerInfo } from "../../sandboxes/remote/mcp-client/wire.ts";
import { SchemaError } from "../../schema/schema-error.ts";
import type { CallLinks } from "../gateway/client-link.ts";
import { type ListedTool, readListedTools } from "./listed-tool.ts";
import type { ImportedClasses } from "./tool-class.ts";
import { ToolHandle } from "./tool-handle.ts";
import type { ToolNames } from "./tool-names.ts";

/** Tools that are registered before other work gets its turn. */
const SLICE = 50;

/** Options of {@link ServerTools}. */
export interface ServerToolsOptions {
  readonly connection: McpConnection;
  readonly registry: ToolRegistry;
  readonly classes: ImportedClasses;
  /** Shared by the servers of a registry. */
  readonly names: ToolNames;
  /** The name under which a tool of the server is registered. Default: `mcp_<server>_<tool>`. */
  readonly nameOf?: (original: string) => string;
  /** Find the clients of calls. Default: they have none. */
  readonly links?: CallLinks | undefined;
}

/** Keeps the tools of one server registered: those, and only those, that it listed last. */
export class ServerTools {
  readonly #options: ServerToolsOptions;
  /** As canonical text, so that a tool that did not change stays as it is. */
  readonly #registered = new Map<string, string>();
  #info: McpServerInfo | undefined;
  #ttlMs: number | undefined;

  constructor(options: ServerToolsOptions) {
    this.#options = options;
  }

  /** What the server said about itself when its tools were last listed. */
  get info(): McpServerInfo | undefined {
    return this.#info;
  }

  /** Milliseconds for which the last list holds; `undefined` if the server did not say. */
  get ttlMs(): number | undefined {
    return this.#ttlMs;
  }

  get names(): readonly string[] {
    return [...this.#registered.keys()];
  }

  /**
   * Lists the server's tools, and registers what changed. Returns a line for each tool that cannot be registered, which may have
   * text of the server.
   *
   * @param isCurrent Whether the result is still wanted.
   * @param turn What to wait for before anything is registered. Default: nothing.
   * @throws if there is no list. The tools then stay as they are.
   */
  async refresh(isCurrent: () => boolean, turn?: Promise<unknown>): Promise<readonly string[]> {
    const { connection } = this.#options;
    const { tools: listed, problems: leftOut, ttlMs } = await connection.listTools();
    const { info } = connection;
    await turn;
    this.#info = info ?? this.#info;
    this.#ttlMs = ttlMs;
    const { tools, problems } = readListedTools(connection.name, listed, this.#options.nameOf);
    const found = [...leftOut, ...problems];
    const names = new Set(tools.map(({ name }) => name));
    for (const name of this.names) if (!names.has(name)) this.#unregister(name);
    for (const [index, tool] of tools.entries()) {
      if (!isCurrent()) break;
      const problem = this.#register(tool);
      if (problem !== undefined) found.push(problem);
      if (index % SLICE === SLICE - 1) await new Promise(setImmediate);
    }
    return found;
  }

  #register(listed: ListedTool): string | undefined {
    const { connection, registry, names } = this.#options;
    const { name, original } = listed;
    const text = JSON.stringify([this.#info?.name, listed.listed]);
    if (this.#registered.get(name) === text) return undefined;
    const taken = this.#takenBy(name);
    if (taken !== undefined)
      return `'${original}' of server '${connection.name}' would be called ${name}: ${taken}`;
    const isOwn = this.#registered.has(name);
    try {
      registry.register(this.#toolOf(listed, this.#info?.name ?? null), { replace: isOwn });
    } catch (error) {
      if (isOwn) this.#unregister(name);
      if (!(error instanceof ToolRegistrationError) && !(error instanceof SchemaError)) throw error;
      return `'${original}' of server '${connection.name}' cannot be registered: ${error.message}`;
    }
    names.give(name, connection.name);
    this.#registered.set(name, text);
    return undefined;
  }

  /** Says why the server cannot have a name; `undefined` if it can. */
  #takenBy(name: string): string | undefined {
    const { connection, registry, names } = this.#options;
    const owner = names.ownerOf(name);
    if (owner === connection.name) return undefined;
    if (owner !== undefined) {
      registry.unregister(name);
      names.contest(name, owner, connection.name);
    }
    const rivals = names.rivalsFor(name);
    if (rivals !== undefined) return `the servers ${rivals} have such a tool, and neither is registered`;
    return registry.has(name) ? "a tool of that name is registered already" : undefined;
  }

  #toolOf(tool: ListedTool, serverName: string | null): Tool {
    const { connection, classes, links } = this.#options;
    const { name, title, description, inputSchema, annotations } = tool;
    const sideEffects = classes.classOf(name, annotations);
    return {
      ...{ name, description, inputSchema, sideEffects },
      ...(title !== undefined && { title }),
      ...(annotations !== undefined && { annotations }),
      tags: ["mcp"],
      remote: { mcp: new ToolHandle({ connection, tool, sideEffects, serverName, links }) },
    };
  }

  #unregister(name: string): void {
    const { connection, registry, names } = this.#options;
    this.#registered.delete(name);
    if (names.ownerOf(name) !== connection.name) return;
    registry.unregister(name);
    names.free(name);
  }
}
