import type {
  CallToolResult,
  ListToolsResult,
  Server as SdkServer,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { Tool } from "../../engine/tool.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { withObjectInput } from "../../protocols/freeform.ts";
import type { Session } from "../../sessions/session.ts";
import { changesNothing } from "../../tool/side-effects.ts";
import { type ExchangeParts, exchange } from "./exchange.ts";
import { OFFER_TOOLS, pageOf } from "./find-offer.ts";
import type { McpServerOptions } from "./options.ts";
import { passedMeta, toolResult, wireOutputSchema } from "./tool-result.ts";
import { type SearchOptions, searched, shortList } from "./tool-search.ts";

/** A tool in `tools/list`. */
interface WireTool extends JsonObject {
  readonly name: string;
  readonly inputSchema: JsonObject;
}

/** For whom tools are listed. */
interface ToolListing {
  readonly isModern: boolean;
  /** Whether the list has tools that the client can never call, too. */
  readonly listsAll: boolean;
}

/** The part of the options of a server that concerns calls. */
type CallOptions = Pick<McpServerOptions, "approvalUrl"> & SearchOptions;

/** What the client asks of a tool. */
export interface ToolRequest {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
}

/** The end of a call whose request the SDK has not read. */
export type EndOfCall = PromiseSettledResult<JsonObject>;

/**
 * Adds `tools/list` and `tools/call`.
 *
 * @param ended The end of the call of the request that is served. Default: the request makes its call.
 */
export function addTools(
  server: SdkServer,
  parts: ExchangeParts,
  options: CallOptions,
  ended?: EndOfCall,
): void {
  const { sdk } = parts;
  server.setRequestHandler("tools/list", async ({ params }) => {
    const listed = shortList(listedTools(await parts.session(), parts), options);
    const { items: tools, next } = pageOf(sdk, listed, params?.cursor, ({ name }) => String(name));
    return { tools, ...next } as unknown as ListToolsResult;
  });
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    if (ended?.status === "rejected") throw ended.reason;
    const result = ended === undefined ? await callTool(parts, options, params, context) : ended.value;
    return result as unknown as CallToolResult;
  });
}

/**
 * Makes a call of a client.
 *
 * @returns the result for the SDK.
 * @throws an error of the SDK, as a rejection, for the client.
 */
export async function callTool(
  parts: ExchangeParts,
  options: CallOptions,
  request: ToolRequest,
  context: ServerContext,
): Promise<JsonObject> {
  const { sdk, isModern } = parts;
  const { approvalUrl } = options;
  const hint = approvalUrl && `A person can confirm it at ${approvalUrl} while the call waits: call again.`;
  const session = await parts.session();
  const wanted = { name: request.name, arguments: (request.arguments ?? {}) as JsonValue };
  const found = searched(wanted, session, options, (each) => isListed(session, each, parts));
  if ("result" in found) return found.result;
  const { name, arguments: given } = found.asked;
  const tool = session.registry.has(name) ? session.registry.get(name) : undefined;
  const args = tool?.freeform === true ? textOf(given) : given;
  const result = await exchange(parts, { tool: name, arguments: args }, context);
  if ("requestState" in result) {
    return sdk.inputRequired(result as Parameters<typeof sdk.inputRequired>[0]) as unknown as JsonObject;
  }
  const { execution } = result;
  if (execution?.error?.code === "not_found") {
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, execution.error.message);
  }
  const outputSchema = outputSchemaOf(tool);
  return toolResult(execution, { outputSchema, isModern, hint });
}

/** The text in the arguments of a free-form tool. Other arguments fail its validation. */
function textOf(given: JsonValue): JsonValue {
  return isJsonObject(given) && Object.keys(given).length === 1 && typeof given["input"] === "string"
    ? given["input"]
    : given;
}

/** The tools that a session can see and whose definitions are approved, as MCP lists them, in order of registration. */
export function listedTools(session: Session, listing: ToolListing): readonly WireTool[] {
  const { isModern } = listing;
  const { registry } = session;
  return registry
    .definitions()
    .filter(({ name }) => isListed(session, name, listing))
    .map((definition) => {
      const tool = registry.get(definition.name);
      const outputSchema = outputSchemaOf(tool);
      const { name, description, inputSchema } = withObjectInput(definition);
      return {
        name,
        ...(tool.title !== undefined && { title: tool.title }),
        description,
        inputSchema: asObject(inputSchema),
        ...(outputSchema && { outputSchema: wireOutputSchema(outputSchema, isModern) }),
        annotations: annotationsOf(tool),
        ...membersOf(listedBy(tool)),
      };
    });
}

/** Whether the list of a client has a tool. */
function isListed(session: Session, name: string, { listsAll }: Pick<ToolListing, "listsAll">): boolean {
  return !OFFER_TOOLS.has(name) && (listsAll || session.mayCall(name));
}

/** MCP wants the arguments to be an object, and the schema to say so. Everything that a call has to be stays required. */
function asObject(schema: JsonObject): JsonObject {
  return schema["type"] === "object" ? schema : { type: "object", allOf: [schema] };
}

/**
 * The tool's own hints, and those that its class makes true: a client must not consider a tool less dangerous
 * than its class.
 */
function annotationsOf(tool: Tool<never, never>): JsonObject {
  const { sideEffects = "destructive", idempotent } = tool;
  const readOnlyHint = changesNothing(sideEffects);
  return {
    ...tool.annotations,
    readOnlyHint,
    ...(sideEffects === "destructive" && { destructiveHint: true }),
    ...(idempotent && { idempotentHint: true }),
  };
}

/** The output schema of a tool, its own or that of the server it is imported from. */
function outputSchemaOf(tool: Tool<never, never> | undefined): JsonObject | undefined {
  return tool && (tool.outputSchema ?? objectIn(listedBy(tool), "outputSchema"));
}

/** What the server of an imported tool says about it. */
function listedBy({ remote }: Tool<never, never>): JsonObject {
  const listed = (remote as { readonly mcp?: { readonly listed?: unknown } } | undefined)?.mcp?.listed;
  return isJsonObject(listed as JsonValue | undefined) ? (listed as JsonObject) : {};
}

function objectIn(listed: JsonObject, name: string): JsonObject | undefined {
  const value = listed[name];
  return isJsonObject(value) ? value : undefined;
}

function membersOf({ icons, _meta }: JsonObject): JsonObject {
  return {
    ...(Array.isArray(icons) && { icons }),
    ...(isJsonObject(_meta) && { _meta: passedMeta(_meta) }),
  };
}
