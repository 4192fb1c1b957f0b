import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/json/value.ts";
import { McpConnection } from "../../../src/sandboxes/remote/mcp-client/connection.ts";
import type { McpNotice } from "../../../src/sandboxes/remote/mcp-client/notice.ts";
import type { WireFilter } from "../../../src/sandboxes/remote/mcp-client/wire-filter.ts";

/** Answers a request; `undefined` for no answer. An `Error` becomes one of JSON-RPC. */
export type Answer = (method: string, params: JsonObject) => JsonValue | Error | undefined;

/** A server in this process, which exchanges texts as one over stdio does. */
export class TextServer implements Transport {
  readonly stderr = null;
  readonly pid = null;
  readonly received: JsonObject[] = [];
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T) => void;
  readonly #answer: Answer;
  readonly #filter: WireFilter;

  constructor(answer: Answer, filter: WireFilter) {
    this.#answer = answer;
    this.#filter = filter;
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    this.#filter.sending(message);
    const { id, method, params } = JSON.parse(JSON.stringify(message)) as JsonObject;
    this.received.push({ method, params } as JsonObject);
    if (id === undefined || typeof method !== "string") return;
    const answered = this.#answer(method, isJsonObject(params) ? params : {});
    if (answered === undefined) return;
    const error = answered instanceof Error ? { code: -32_601, message: answered.message } : undefined;
    setImmediate(() => this.say({ id, ...(error ? { error } : { result: answered as JsonValue }) }));
  }

  /** Sends a message to the client. */
  say(message: JsonObject): void {
    const checked = this.#filter.receive(Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message })));
    if (checked !== undefined) this.onmessage?.(checked as unknown as JSONRPCMessage);
  }

  async close(): Promise<void> {
    this.onclose?.();
  }
}

/** What a server of these tests says. */
export interface Said {
  readonly name: string;
  readonly instructions?: string;
  readonly tools: readonly JsonValue[];
}

/** Answers as a server of 2025-11-25 that says this now. */
export function legacy(said: () => Said): Answer {
  return (method, { protocolVersion = null }) => {
    const { name, instructions, tools } = said();
    const own = instructions === undefined ? {} : { instructions };
    if (method === "initialize") {
      const serverInfo = { name, version: "1" };
      return { protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo, ...own };
    }
    return method === "tools/list" ? { tools } : new Error("unknown");
  };
}

/** Connects to a server in this process. */
export function connectionTo(
  name: string,
  answer: Answer,
): { connection: McpConnection; servers: TextServer[]; notices: McpNotice[] } {
  const servers: TextServer[] = [];
  const notices: McpNotice[] = [];
  const connection = new McpConnection({
    name,
    open: async (_sdk, filter) => {
      const server = new TextServer(answer, filter);
      servers.push(server);
      return server;
    },
    onNotice: (notice) => notices.push(notice),
  });
  return { connection, servers, notices };
}
