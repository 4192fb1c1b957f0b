import { createServer } from "node:net";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { McpServer } from "../../../src/mcp/server/mcp-server.ts";
import { HostPolicy } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { type Server, startServer } from "../../../src/server/server.ts";
import { asCaller, CALLER } from "./as-caller.ts";
import { fixtureOffers } from "./fixture-offers.ts";
import { fixtureTools } from "./fixture-tools.ts";

/** A server with what the conformance suite asks for, at `/mcp`. */
export interface FixtureServer extends AsyncDisposable {
  readonly url: string;
  readonly server: Server;
}

/** Starts the server. Its fixtures are ordinary tools, whose calls go through the whole pipeline. */
export async function startFixtureServer(): Promise<FixtureServer> {
  const sandboxes = await openSandboxes();
  // The suite sends the server's own address as the origin, which a page has to be allowed.
  const port = await freePort();
  const origins = [`http://localhost:${port}`, `http://127.0.0.1:${port}`];
  let mcp: McpServer | undefined;
  const serverOf = (): McpServer => {
    if (mcp === undefined) throw new Error("the server has not started");
    return mcp;
  };
  const offers = fixtureOffers(serverOf);
  const registry = new ToolRegistry();
  const changes = {
    changeTools: () => {
      const name = `added_${registry.size}`;
      const schema = { type: "object" } as const;
      registry.register({ name, description: "Added.", inputSchema: schema, host: () => "added" });
      serverOf().toolsChanged();
    },
    changePrompts: () => {
      const name = `added_${offers.prompts.length}`;
      offers.prompts.push({ name, description: "Added.", get: () => ({ messages: [] }) });
      serverOf().promptsChanged();
    },
  };
  for (const tool of fixtureTools(serverOf, changes)) registry.register(tool);
  const server = await startServer({
    registry,
    policy: new HostPolicy(),
    sandboxes,
    origins,
    listen: "127.0.0.1:0",
    hosts: [`localhost:${port}`, `127.0.0.1:${port}`],
    sessions: {},
    credentials: [CALLER],
    mcp: {
      ...offers,
      confirm: "elicitation",
      logs: true,
      instructions: "The fixtures of the conformance suite.",
    },
    limits: { drainMs: 1_000 },
  });
  mcp = server.mcp;
  const front = await asCaller(port, server.address);
  return {
    url: `http://localhost:${port}/mcp`,
    server,
    [Symbol.asyncDispose]: async () => {
      await front[Symbol.asyncDispose]();
      await server.close();
      await sandboxes.close();
    },
  };
}

/** A port of this machine that nothing listens on. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === "string") throw new Error("there is no port");
  return address.port;
}
