import type { ConfigProblem } from "../../../config/problem.ts";
import { ToolRegistrationError } from "../../../engine/registry-errors.ts";
import type { Tool } from "../../../engine/tool.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import type { DefinitionLock } from "../../../pins/definition-lock.ts";
import { SchemaError } from "../../../schema/schema-error.ts";
import type { ImportTools, McpConfig } from "../../config/load-mcp.ts";
import { ConfiguredServers } from "./servers.ts";

/**
 * The MCP servers of a config, for commands that decide on calls and make none: the tools of a server are those of the lock, and
 * only a server that the lock does not know is started.
 */
export class PinnedServers implements AsyncDisposable {
  readonly #unknown = new ConfiguredServers("error");

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
  const { ImportedClasses } = await import("../../../mcp/import/tool-class.ts");
  const { importedToolName, wireName } = await import("../../../mcp/import/tool-name.ts");
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
