import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import type { HttpServerOptions } from "../../../src/mcp/import/server-options.ts";

/** A server of HTTP in this process. */
export interface Served extends AsyncDisposable {
  readonly options: HttpServerOptions;
  readonly requests: IncomingMessage[];
  readonly server: Server;
}

/** Serves on a free port of this machine. */
export async function serve(listener: RequestListener): Promise<Served> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    options: { url: `http://127.0.0.1:${port}/mcp`, addresses: ["127.0.0.1/32"] },
    requests,
    server,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Serves tools with the SDK, in both revisions, unless one is refused. */
export function serveTools(register: (server: McpServer) => void): Promise<Served> {
  const handler = createMcpHandler(() => {
    const server = new McpServer(
      { name: "of the SDK", version: "1" },
      { capabilities: { tools: { listChanged: true } } },
    );
    register(server);
    return server;
  });
  return serve(async (request, response) => {
    const hangUp = new AbortController();
    response.once("close", () => hangUp.abort());
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]);
    const body = request.method === "POST" ? await text(request) : null;
    const { method = "GET", url = "/" } = request;
    const asked = new Request(new URL(url, "http://localhost"), {
      method,
      headers,
      body,
      signal: hangUp.signal,
    });
    const answered = await handler.fetch(asked);
    response.writeHead(answered.status, Object.fromEntries(answered.headers));
    // The client may hang up.
    if (answered.body === null) response.end();
    else await pipeline(Readable.fromWeb(answered.body as NodeReadableStream), response).catch(() => {});
  });
}

/** Reads the JSON body of a request. */
export async function bodyOf(
  request: IncomingMessage,
): Promise<{ id?: number | string; method: string; params: { name?: string } }> {
  const sent = await text(request);
  return sent === "" ? { method: "", params: {} } : JSON.parse(sent);
}

/** Serves 2026-07-28 by hand: `server/discover` and `tools/list` as they should be, and calls as a test says. */
export function serveByHand(
  tools: readonly object[],
  call: (
    id: number | string,
    response: Parameters<RequestListener>[1],
    request: IncomingMessage,
    params: object,
  ) => void,
  more: object = {},
): Promise<Served> {
  return serve(async (request, response) => {
    const { id = 0, method, params } = await bodyOf(request);
    const json = (result: object): void => {
      response.setHeader("content-type", "application/json");
      response.end(
        JSON.stringify({
          jsonrpc: "2.0",
          id,
          result: { resultType: "complete", ttlMs: 60_000, cacheScope: "private", ...result },
        }),
      );
    };
    const serverInfo = { "io.modelcontextprotocol/serverInfo": { name: "by hand", version: "1" } };
    if (method === "server/discover") {
      json({ supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, _meta: serverInfo, ...more });
    } else if (method === "tools/list") json({ tools });
    else if (method === "tools/call") call(id, response, request, params);
    else response.writeHead(404).end();
  });
}
