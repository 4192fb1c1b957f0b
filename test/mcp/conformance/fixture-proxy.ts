import { createServer, type Server as HttpServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type CallTracer, EventStream } from "../../../src/engine/call/events.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { type McpImports, openMcp } from "../../../src/mcp/import/open-mcp.ts";
import type { McpServer } from "../../../src/mcp/server/mcp-server.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { openSandboxes, type Sandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { startServer } from "../../../src/server/server.ts";
import { asCaller, CALLER } from "./as-caller.ts";
import { freePort } from "./fixture-server.ts";
import type { Revision } from "./run-scenarios.ts";

/** Sandgate between clients and one server of MCP, at `/mcp`. */
export interface Proxy extends AsyncDisposable {
  readonly url: string;
  readonly imports: McpImports;
}

const POLICY = new RulePolicy({
  rules: [{ tools: ["*"], effect: "allow", sandboxes: ["remote", "host"] }],
});

/** Options of {@link startProxy}. */
export interface ProxyOptions {
  /** The address of the server. */
  readonly target: string;
  /** The revision that is spoken with the server. */
  readonly wire: Revision;
  /** Default: those of the conformance suite, under whose names it calls the fixtures. */
  readonly keepsNames?: boolean;
  /** Follows the calls of the proxy. Default: none. */
  readonly tracer?: CallTracer | undefined;
}

/** Starts a proxy whose clients reach the tools, resources and prompts of one server. */
export async function startProxy({ target, wire, keepsNames = true, tracer }: ProxyOptions): Promise<Proxy> {
  const older = wire === "2025-11-25" ? await startOlder(target) : undefined;
  const sandboxes = await openSandboxes();
  const registry = new ToolRegistry();
  let mcp: McpServer | undefined;
  const imports = await openMcp({
    registry,
    sandboxes,
    servers: {
      fixtures: {
        url: older?.url ?? target,
        addresses: ["127.0.0.0/8", "::1/128"],
        asks: ["elicitation", "sampling", "roots"],
        keepsNames,
      },
    },
    classes: { "*": "read" },
    clientOf: (call) => mcp?.clientOf(call),
    onListsChanged: (lists) => {
      if (lists === "tools") return mcp?.toolsChanged();
      mcp?.resourcesChanged();
      mcp?.promptsChanged();
    },
  });
  const { server, front, url } = await serve(registry, sandboxes, imports, tracer);
  mcp = server.mcp;
  return {
    url,
    imports,
    [Symbol.asyncDispose]: async () => {
      await front[Symbol.asyncDispose]();
      await server.close();
      await imports.close();
      await sandboxes.close();
      await older?.close();
    },
  };
}

async function serve(
  registry: ToolRegistry,
  sandboxes: Sandboxes,
  imports: McpImports,
  tracer: CallTracer | undefined,
) {
  const port = await freePort();
  const server = await startServer({
    registry,
    policy: POLICY,
    sandboxes,
    origins: [`http://localhost:${port}`, `http://127.0.0.1:${port}`],
    events: new EventStream(),
    listen: "127.0.0.1:0",
    hosts: [`localhost:${port}`, `127.0.0.1:${port}`],
    sessions: {},
    credentials: [CALLER],
    mcp: { confirm: "elicitation", imported: () => imports.offers, logs: true },
    limits: { drainMs: 1_000 },
    ...(tracer && { tracer }),
  });
  return { server, front: await asCaller(port, server.address), url: `http://localhost:${port}/mcp` };
}

/** Forwards to a server as if it spoke only 2025-11-25: it knows no request of a later revision. */
async function startOlder(target: string): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server: HttpServer = createServer(async (request, response) => {
    const body = await text(request);
    if (request.headers["mcp-protocol-version"] === "2026-07-28" || body.includes('"server/discover"')) {
      response.writeHead(400, { "content-type": "text/plain" }).end("the session does not exist");
      return;
    }
    const { host: _, ...headers } = request.headers;
    const forwarded = send(target, { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    response.on("close", () => forwarded.destroy());
    forwarded.on("error", () => response.destroy());
    forwarded.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
