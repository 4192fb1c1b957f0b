import type {
  CallToolResult,
  ListToolsResult,
  Server as SdkServer,
  ServerContext,
} from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import { type ExchangeParts, exchange } from "../exchange.ts";
import type { McpServerOptions } from "../options.ts";
import { pageOf } from "../paging.ts";
import { listedTools, outputSchemaOf } from "./listed-tools.ts";
import { toolResult } from "./tool-result.ts";

/** What the client asks of a tool. */
export interface ToolRequest {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
}

/** How a call ended whose request the SDK has not read. */
export type EndOfCall = PromiseSettledResult<JsonObject>;

/**
 * Adds `tools/list` and `tools/call`.
 *
 * @param ended The end of the call of the request that is served. Default: the request makes its call.
 */
export function addTools(
  server: SdkServer,
  parts: ExchangeParts,
  options: Pick<McpServerOptions, "approvalUrl">,
  ended?: EndOfCall,
): void {
  const { sdk } = parts;
  server.setRequestHandler("tools/list", async ({ params }) => {
    const listed = listedTools(await parts.session(), parts);
    const { items: tools, next } = pageOf(sdk, listed, params?.cursor, ({ name }) => name);
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
  { approvalUrl }: Pick<McpServerOptions, "approvalUrl">,
  { name, arguments: given = {} }: ToolRequest,
  context: ServerContext,
): Promise<JsonObject> {
  const { sdk, isModern } = parts;
  const hint = approvalUrl && `A person can confirm it at ${approvalUrl} while the call waits: call again.`;
  const session = await parts.session();
  const tool = session.registry.has(name) ? session.registry.get(name) : undefined;
  const args = tool?.freeform === true ? textOf(given as JsonValue) : (given as JsonValue);
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
