import type { CallToolResult, ListToolsResult, Server as SdkServer } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonValue } from "../../../json/value.ts";
import { type ExchangeParts, exchange } from "../exchange.ts";
import type { McpServerOptions } from "../options.ts";
import { pageOf } from "../paging.ts";
import { listedTools, outputSchemaOf } from "./listed-tools.ts";
import { toolResult } from "./tool-result.ts";

/** Adds `tools/list` and `tools/call`. */
export function addTools(
  server: SdkServer,
  parts: ExchangeParts,
  { approvalUrl }: Pick<McpServerOptions, "approvalUrl">,
): void {
  const { sdk, isModern } = parts;
  const hint = approvalUrl && `A person can confirm it at ${approvalUrl} while the call waits: call again.`;
  server.setRequestHandler("tools/list", async ({ params }) => {
    const listed = listedTools(await parts.session(), isModern);
    const { items: tools, next } = pageOf(sdk, listed, params?.cursor, ({ name }) => name);
    return { tools, ...next } as unknown as ListToolsResult;
  });
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const { name, arguments: given = {} } = params;
    const session = await parts.session();
    const tool = session.registry.has(name) ? session.registry.get(name) : undefined;
    const args = tool?.freeform === true ? textOf(given as JsonValue) : (given as JsonValue);
    const result = await exchange(parts, { tool: name, arguments: args }, context);
    if ("requestState" in result) return sdk.inputRequired(result as Parameters<typeof sdk.inputRequired>[0]);
    const { execution } = result;
    if (execution?.error?.code === "not_found") {
      throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, execution.error.message);
    }
    const outputSchema = outputSchemaOf(tool);
    return toolResult(execution, { outputSchema, isModern, hint }) as unknown as CallToolResult;
  });
}

/** The text in the arguments of a free-form tool. Other arguments fail its validation. */
function textOf(given: JsonValue): JsonValue {
  return isJsonObject(given) && Object.keys(given).length === 1 && typeof given["input"] === "string"
    ? given["input"]
    : given;
}
