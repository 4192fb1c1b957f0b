import type { JsonObject } from "../../../../json/value.ts";

/** What a server asks of a client: a form, a page to open, a model's answer, or directories. */
export interface McpAskedRequest {
  readonly method: string;
  readonly params: JsonObject;
}

/** The way back from a server's call to the client that made it. */
export interface McpCallLink {
  /** What the client can be asked (MCP, `ClientCapabilities`), as far as the server may. */
  readonly capabilities: JsonObject;
  /**
   * Asks the client. Requests that are asked in one turn of the event loop reach it together.
   *
   * @param key Differs for the requests of one call that are open.
   * @param signal Withdraws the request.
   * @throws an `Error` as a rejection, if the client cannot or must not be asked. Its text may be told to the server.
   */
  ask(key: string, request: McpAskedRequest, signal: AbortSignal): Promise<JsonObject>;
}
