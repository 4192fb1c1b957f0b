import { SlicedWork } from "../../base/turns.ts";
import { ToolRegistrationError } from "../../engine/registered-tool.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import type { Tool } from "../../engine/tool.ts";
import { isJsonObject, type JsonObject } from "../../json/value.ts";
import { type CalledTool, type CallToolEnd, callTool } from "../../sandboxes/remote/mcp-client/call-tool.ts";
import type { McpConnection } from "../../sandboxes/remote/mcp-client/connection.ts";
import type { McpServerInfo } from "../../sandboxes/remote/mcp-client/wire.ts";
import { type CompiledSchema, compileSchema } from "../../schema/compiled-schema.ts";
import { SchemaError } from "../../schema/schema-error.ts";
import { withFixedOrder } from "../../schema/subschemas.ts";
import type {
  McpCallEnd,
  McpCallOptions,
  McpProgress,
  McpServerState,
  McpToolHandle,
} from "../../tool/implementations/remote-implementation.ts";
import type { SideEffects } from "../../tool/side-effects.ts";
import type { PauseWallTime } from "../../tool/wall-time.ts";
import type { CallLinks } from "../gateway/client-link.ts";
import { type ListedTool, readListedTools } from "./listed-tool.ts";
import type { ImportedClasses, ToolNames } from "./tool-name.ts";

/** The parts of a handle. */
interface ToolHandleOptions {
  readonly connection: McpConnection;
  readonly tool: ListedTool;
  readonly sideEffects: SideEffects;
  /** The server's own name; `null` if it has none. */
  readonly serverName: string | null;
  /** Find the clients of calls. Default: they have none. */
  readonly links?: CallLinks | undefined;
}

/** One tool of a server, as it was listed at one time. */
class ToolHandle implements McpToolHandle {
  readonly #options: ToolHandleOptions;
  readonly #output: CompiledSchema | undefined;

  /** @throws {SchemaError} if the output schema does not compile. */
  constructor(options: ToolHandleOptions) {
    this.#options = options;
    const { outputSchema } = options.tool;
    this.#output = outputSchema && compileSchema(outputSchema);
    Object.freeze(this);
  }

  get listed(): JsonObject {
    return this.#options.tool.listed;
  }

  get state(): McpServerState {
    const { connection } = this.#options;
    return { isConnected: connection.info !== undefined, ...connection.load.state };
  }

  async call(args: JsonObject, options: McpCallOptions): Promise<McpCallEnd> {
    const { connection, tool, sideEffects } = this.#options;
    const isRepeatable = sideEffects === "none" || sideEffects === "read";
    const { original: name, inputSchema, listed } = tool;
    const called = { name, inputSchema, listed, isRepeatable };
    const { owner = {}, signal, pause } = options;
    const end = await connection.load.run({ owner, signal, pause }, (leave) => {
      // While a person answers, others get its place.
      const paused = (): (() => void) => {
        const resumes = [pause?.(), leave()];
        return () => {
          for (const resume of resumes) resume?.();
        };
      };
      return this.#send(called, args, options, paused);
    });
    return end.status === "result" ? this.#checked(end) : end;
  }

  #send(
    called: CalledTool,
    args: JsonObject,
    { signal, call, trace, onProgress, onLog }: McpCallOptions,
    pause: PauseWallTime,
  ): Promise<CallToolEnd> {
    const { connection, links } = this.#options;
    const linked = links?.of(connection.name, call, pause);
    const report = (progress: McpProgress): void => {
      linked?.client.progress(progress);
      onProgress?.(progress);
    };
    return callTool(connection, called, args, {
      signal,
      trace,
      ...(onLog && { onLog }),
      ...(linked && { link: linked.link }),
      ...((linked !== undefined || onProgress !== undefined) && { onProgress: report }),
    });
  }

  /** A result that is not what the tool declares must not pass for one. */
  #checked(end: Extract<McpCallEnd, { status: "result" }>): McpCallEnd {
    const { structuredContent, isError } = end.result;
    if (this.#output === undefined || isError === true) return end;
    const problems =
      structuredContent === undefined
        ? ["there is no structured content"]
        : this.#output.validate(structuredContent);
    if (problems === undefined) return end;
    const message = "The tool's server returned structured content that is not what the tool declares";
    return { status: "malformed", message, detail: problems.slice(0, 10).join("; ") };
  }

  toJSON(): JsonObject {
    const { connection, tool, serverName } = this.#options;
    const { outputSchema } = tool;
    return {
      server: connection.name,
      serverName,
      tool: tool.original,
      ...(isJsonObject(outputSchema) && { outputSchema: withFixedOrder(outputSchema) }),
      ...(Object.keys(tool.others).length > 0 && { others: tool.others }),
    };
  }
}

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

  /** The server's description of itself when its tools were last listed. */
  get info(): McpServerInfo | undefined {
    return this.#info;
  }

  /** Milliseconds for which the last list is valid; `undefined` if the server did not say. */
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
    const work = new SlicedWork({ tool: connection.name });
    for (const tool of tools) {
      await work.next();
      if (!isCurrent()) break;
      const problem = this.#register(tool);
      if (problem !== undefined) found.push(problem);
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
      // Pins compare digests, which are computed here for one tool at a time, and not for all when they are listed.
      if (registry.pins !== undefined) void registry.find(name)?.definition.digest;
    } catch (error) {
      if (isOwn) this.#unregister(name);
      if (!(error instanceof ToolRegistrationError) && !(error instanceof SchemaError)) throw error;
      return `'${original}' of server '${connection.name}' cannot be registered: ${error.message}`;
    }
    names.give(name, connection.name);
    this.#registered.set(name, text);
    return undefined;
  }

  /** Returns why the server cannot have a name; `undefined` if it can. */
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
      name,
      description,
      inputSchema,
      sideEffects,
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
