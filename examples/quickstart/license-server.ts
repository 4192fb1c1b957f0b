import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Starts the server of a remote tool, which returns the licence of an installed package. */
export async function startLicenseServer(): Promise<{ url: string; close(): void }> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/license`, close: () => void server.close() };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { name } = JSON.parse(body).arguments;
    const manifest = JSON.parse(await readFile(`node_modules/${name}/package.json`, "utf8"));
    response.end(JSON.stringify({ name, version: manifest.version, license: manifest.license }));
  } catch {
    response.writeHead(404).end(JSON.stringify({ error: "no such package is installed" }));
  }
}
