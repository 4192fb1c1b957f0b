import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { Egress, type EgressOptions } from "../../src/egress/egress.ts";
import { EgressError } from "../../src/egress/egress-error.ts";
import type { EgressRequest } from "../../src/egress/request.ts";

/** A self-signed certificate of `secure.test`, and its key: for tests only. */
export const SECURE_TEST: { readonly cert: string; readonly key: string } = {
  cert: readFileSync(new URL("fixtures/secure.test.pem", import.meta.url), "utf8"),
  key: readFileSync(new URL("fixtures/secure.test.key.pem", import.meta.url), "utf8"),
};

/** Starts a server for this test, on a free port of 127.0.0.1 unless another address is given. */
export async function listen(server: Server, address = "127.0.0.1"): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Starts an HTTP server for this test. */
export function serve(answer: RequestListener): Promise<number> {
  return listen(createServer(answer));
}

/** Starts a server that responds with these bytes to the first data of each connection. */
export function serveBytes(answer: (socket: Socket) => void): Promise<number> {
  return listen(createTcpServer((socket) => socket.once("data", () => answer(socket))));
}

/** Reads the body of a request. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Responds with a description of the request. */
export async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url, headers } = request;
  response.end(JSON.stringify({ method, url, headers, body: await bodyOf(request) }));
}

/** Opens an egress for this test, which resolves every name that ends in `.test` to 127.0.0.1. */
export function openEgress(options: EgressOptions = {}): Egress {
  const resolve = async (name: string): Promise<readonly string[]> => {
    if (!name.endsWith(".test")) throw new Error("no such name");
    return ["127.0.0.1"];
  };
  const egress = new Egress({ resolve, ...options });
  onTestFinished(() => egress.close());
  return egress;
}

/** A request that may go to any port of 127.0.0.1. */
export function request(url: string, more: Partial<EgressRequest> = {}): EgressRequest {
  return {
    method: "GET",
    url,
    grants: [
      { origin: "http://*:*", addresses: ["127.0.0.1/32"] },
      { origin: "https://*:*", addresses: ["127.0.0.1/32"] },
    ],
    limits: { timeoutMs: 5_000, bodyBytes: 100_000 },
    ...more,
  };
}

/** Returns the error of a request that must fail. */
export async function failureOf(sending: Promise<unknown>): Promise<EgressError> {
  const outcome = await sending.catch((error: unknown) => error);
  if (outcome instanceof EgressError) return outcome;
  throw new Error(`expected an EgressError, not ${String(outcome)}`);
}
