import type { Server as SdkServer, ServerContext } from "@modelcontextprotocol/server";
import type { JsonValue } from "../../json/value.ts";
import type { Session } from "../../sessions/session.ts";
import type { ExchangeParts } from "./exchange.ts";
import type { Sdk } from "./load-sdk.ts";
import type { McpOffers } from "./mcp-offers.ts";
import { addOffers } from "./offers/offer-handlers.ts";
import type { McpServerOptions } from "./options.ts";
import type { ClientCapabilities } from "./runs/input-requests.ts";
import type { PendingRuns } from "./runs/pending-runs.ts";
import type { Runs } from "./runs/runs.ts";
import { addTools, type EndOfCall } from "./tools/tool-handlers.ts";

/** What one server has in common for all its clients. */
export interface ServerParts {
  readonly sdk: Sdk;
  readonly options: McpServerOptions;
  readonly info: { readonly name: string; readonly version: string; readonly title?: string };
  readonly runs: Runs;
  readonly pending: PendingRuns;
  readonly offers: McpOffers;
}

/** Milliseconds for which clients may cache lists. They are also notified when a list changes. */
const LIST_TTL_MS = 60_000;
/** What one client sees depends on who it is. */
const PRIVATE_LIST = { ttlMs: LIST_TTL_MS, cacheScope: "private" } as const;
const PRIVATE_CONTENT = { ttlMs: 0, cacheScope: "private" } as const;

/**
 * Creates the SDK's server for one client, or for one request on the wire without sessions. Both wires have the same handlers.
 *
 * @param session The session in which the client's calls run.
 * @param ended See {@link addTools}.
 */
export function peerServer(
  { sdk, options, info, runs, pending, offers }: ServerParts,
  isModern: boolean,
  session: () => Promise<Session>,
  ended?: EndOfCall,
): SdkServer {
  const { resources, resourceTemplates, prompts, imported, logs, instructions } = options;
  const hasResources = [resources, resourceTemplates, imported].some((each) => each !== undefined);
  const hasPrompts = prompts !== undefined || imported !== undefined;
  const server = new sdk.Server(info, {
    capabilities: {
      tools: { listChanged: true },
      ...(hasResources && { resources: { listChanged: true, subscribe: true } }),
      ...(hasPrompts && { prompts: { listChanged: true } }),
      ...((hasResources || hasPrompts) && { completions: {} }),
      ...(logs === true && { logging: {} }),
    },
    ...(instructions !== undefined && { instructions }),
    // Clients of 2025-11-25 are asked with our own requests.
    inputRequired: { legacyShim: false },
    cacheHints: {
      "server/discover": PRIVATE_LIST,
      "tools/list": PRIVATE_LIST,
      "resources/list": PRIVATE_LIST,
      "resources/templates/list": PRIVATE_LIST,
      "prompts/list": PRIVATE_LIST,
      "resources/read": PRIVATE_CONTENT,
    },
  });
  server.onerror = (error) => options.onProblem?.(error.message);
  const capabilities = (context: ServerContext): ClientCapabilities =>
    isModern ? declared(sdk, context) : (server.getClientCapabilities() ?? {});
  const listsAll = options.lists === "all";
  const parts: ExchangeParts = { sdk, runs, pending, isModern, listsAll, session, capabilities };
  addTools(server, parts, options, ended);
  if (hasResources || hasPrompts) addOffers(server, parts, offers);
  return server;
}

/** What a client declared that it can do, in a request on the wire without sessions. */
export function declared(sdk: Sdk, { mcpReq }: ServerContext): ClientCapabilities {
  const envelope = mcpReq.envelope as Readonly<Record<string, JsonValue>> | undefined;
  return (envelope?.[sdk.CLIENT_CAPABILITIES_META_KEY] ?? {}) as ClientCapabilities;
}
