import type { Client } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../json/value.ts";
import type { MessageId } from "../wire-message.ts";
import { DECLINED, type McpAskedRequest } from "./open-calls.ts";

/** What a server may ask while it works on a call (MCP, `ClientCapabilities`). A server of 2025-11-25 learns it once. */
export interface ServerAsks {
  elicitation?: { form: Record<string, never>; url: Record<string, never> };
  sampling?: Record<string, never>;
  roots?: Record<string, never>;
}

/** Identifies a server's request, and withdraws it. */
export interface AskedContext {
  readonly id: MessageId;
  readonly signal: AbortSignal;
}

/**
 * Passes the requests of a server to a client. If the client cannot show forms, they are declined; other
 * requests are refused.
 */
export function answerRequests(
  client: Client,
  asks: ServerAsks,
  ask: (request: McpAskedRequest, context: AskedContext) => Promise<JsonObject>,
): void {
  const answer = async (
    method: string,
    given: unknown,
    { id, signal }: AskedContext,
  ): Promise<JsonObject> => {
    const params = given === undefined ? {} : (JSON.parse(JSON.stringify(given)) as JsonValue);
    return ask({ method, params: isJsonObject(params) ? withoutMeta(params) : {} }, { id, signal });
  };
  if (asks.elicitation !== undefined) {
    client.setRequestHandler("elicitation/create", async ({ params }, { mcpReq }) => {
      // The server does not learn the error: it has to continue without an answer.
      return (await answer("elicitation/create", params, mcpReq).catch(() => DECLINED)) as {
        action: "decline";
      };
    });
  }
  if (asks.sampling !== undefined) {
    client.setRequestHandler("sampling/createMessage", async ({ params }, { mcpReq }) => {
      return (await answer("sampling/createMessage", params, mcpReq)) as never;
    });
  }
  if (asks.roots !== undefined) {
    client.setRequestHandler("roots/list", async (_request, { mcpReq }) => {
      return (await answer("roots/list", undefined, mcpReq)) as never;
    });
  }
}

/** `_meta` belongs to one connection. */
function withoutMeta({ _meta, ...params }: JsonObject): JsonObject {
  return params as JsonObject;
}
