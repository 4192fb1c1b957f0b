import { strictEqual } from "node:assert";
import { fork } from "node:child_process";
import { once } from "node:events";
import type { Case, OpenCase, Question } from "../harness/case.ts";
import { sustained } from "../harness/in-flight.ts";
import { callsOf, connectHttp, connectStdio, listTools, type Revision } from "./clients.ts";
import { openImported } from "./imported.ts";
import {
  CONFINED_SERVER,
  commandBefore,
  httpServers,
  STDIO_SERVER,
  startEchoServers,
  startGateway,
} from "./servers.ts";

const IN_FLIGHT = 64;
const CALLS_EACH = 4;
const SERVERS = 20;
const TOOLS = 1_000;

const httpCases = (revision: Revision): readonly Case[] => [
  { name: "the SDK's client, to the server", open: () => openDirect(revision) },
  {
    name: "the SDK's client, through a proxy that only passes bytes on",
    open: () => openBareProxy(revision),
  },
  { name: "the SDK's client, through sandgate serve", open: () => openGateway(revision) },
  { name: "dispatch of an imported tool", open: openImportedHttp },
];

const stdioCases = (revision: Revision): readonly Case[] => [
  { name: "the SDK's client, to the server", open: () => openDirectStdio(revision) },
  { name: "the SDK's client, through sandgate mcp serve", open: () => openStdioGateway(revision) },
  {
    name: "dispatch of an imported tool, whose server is confined",
    open: () => openImported({ s0: CONFINED_SERVER }),
  },
];

async function openDirect(revision: Revision): Promise<OpenCase> {
  const servers = await startEchoServers();
  return callsOf(await connectHttp(servers.urls[0] ?? "", revision), "echo", servers.close);
}

async function openBareProxy(revision: Revision): Promise<OpenCase> {
  const servers = await startEchoServers();
  const { origin, pathname } = new URL(servers.urls[0] ?? "");
  const proxy = fork(new URL("../gateway/bare-proxy.ts", import.meta.url), [origin]);
  const [port] = (await once(proxy, "message")) as [number];
  return callsOf(await connectHttp(`http://127.0.0.1:${port}${pathname}`, revision), "echo", () => {
    proxy.kill();
    servers.close();
  });
}

async function openGateway(revision: Revision): Promise<OpenCase> {
  const servers = await startEchoServers();
  const gateway = await startGateway(servers.urls);
  return callsOf(await connectHttp(gateway.url, revision), "mcp_s0_echo", async () => {
    await gateway.close();
    servers.close();
  });
}

async function openImportedHttp(): Promise<OpenCase> {
  const servers = await startEchoServers();
  return openImported(httpServers(servers.urls), servers.close);
}

async function openDirectStdio(revision: Revision): Promise<OpenCase> {
  return callsOf(await connectStdio(STDIO_SERVER.command, STDIO_SERVER.args, revision), "echo");
}

async function openStdioGateway(revision: Revision): Promise<OpenCase> {
  const { command, args, ...config } = commandBefore(["mcp", "serve"], { s0: CONFINED_SERVER });
  return callsOf(await connectStdio(command, args, revision), "mcp_s0_echo", config[Symbol.dispose]);
}

async function openDirectLists(): Promise<OpenCase> {
  const servers = await startEchoServers(SERVERS, TOOLS / SERVERS);
  return {
    run: async () => (await Promise.all(servers.urls.map(listTools))).flat(),
    check: (tools) => strictEqual((tools as unknown[]).length, TOOLS),
    close: servers.close,
  };
}

async function openGatewayList(): Promise<OpenCase> {
  const servers = await startEchoServers(SERVERS, TOOLS / SERVERS);
  const gateway = await startGateway(servers.urls);
  return {
    run: () => listTools(gateway.url),
    check: (tools) => strictEqual((tools as unknown[]).length, TOOLS),
    close: async () => {
      await gateway.close();
      servers.close();
    },
  };
}

/** What a call costs that goes through Sandgate, beside the same server called directly, over HTTP. */
const http: Question = { name: "mcp-http", cases: httpCases("2026-07-28") };

/** The same on the older wire. */
const olderHttp: Question = { name: "mcp-http-2025", cases: httpCases("2025-11-25") };

/** The same over standard streams. */
const stdio: Question = { name: "mcp-stdio", cases: stdioCases("2026-07-28") };

/** The same on the older wire. */
const olderStdio: Question = { name: "mcp-stdio-2025", cases: stdioCases("2025-11-25") };

/** Calls in flight all the time. */
const load: Question = {
  name: "mcp-load",
  cases: httpCases("2026-07-28").map((each) => sustained(IN_FLIGHT, CALLS_EACH, each)),
};

/** A client that asks for 1,000 tools of 20 servers. */
const lists: Question = {
  name: "mcp-list",
  cases: [
    {
      name: `${SERVERS} requests, to ${SERVERS} servers with ${TOOLS / SERVERS} tools each`,
      open: openDirectLists,
    },
    { name: "one request, to sandgate serve before them", open: openGatewayList },
  ],
};

/** The questions about MCP. */
export const questions: readonly Question[] = [http, olderHttp, stdio, olderStdio, load, lists];
