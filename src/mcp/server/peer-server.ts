import type {
  CompleteResult,
  GetPromptResult,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceResult,
  Server as SdkServer,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { JsonObject, JsonValue } from "../../json/value.ts";
import type { Session } from "../../sessions/session.ts";
import { declared, type ExchangeParts, exchange, type ServerParts } from "./exchange.ts";
import {
  COMPLETE,
  findPrompt,
  findResource,
  GET_PROMPT,
  type MatchTemplate,
  pageOf,
  READ_RESOURCE,
} from "./find-offer.ts";
import type { McpOffers } from "./mcp-offers.ts";
import { findCompletion } from "./offer-tools.ts";
import type { ClientCapabilities } from "./runs/input-requests.ts";
import { addTools, type EndOfCall } from "./tool-handlers.ts";

/** How many resources one client may subscribe to. */
const MAX_SUBSCRIPTIONS = 1_000;

/** What the clients of 2025-11-25 are subscribed to. */
const subscriptions = new WeakMap<SdkServer, ReadonlySet<string>>();

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

/** Adds what concerns resources, prompts and completions. Reading one is a call, under the policy. */
function addOffers(server: SdkServer, parts: ExchangeParts, offers: McpOffers): void {
  const { sdk, isModern } = parts;
  const match = templateMatcher(parts);
  /** What the client reads with a tool; nothing if all its calls are denied. */
  const listedWith = async <T>(tool: string, listed: readonly T[] = []): Promise<readonly T[]> =>
    parts.listsAll || (await parts.session()).mayCall(tool) ? listed : [];
  if (offers.resources !== undefined || offers.resourceTemplates !== undefined) {
    server.setRequestHandler("resources/list", async ({ params }) => {
      const listed = (await listedWith(READ_RESOURCE, offers.resources)).map(
        ({ read, server: _, ...resource }) => resource,
      );
      const { items: resources, next } = pageOf(sdk, listed, params?.cursor, ({ uri }) => uri);
      return { resources, ...next } as unknown as ListResourcesResult;
    });
    server.setRequestHandler("resources/templates/list", async ({ params }) => {
      const listed = (await listedWith(READ_RESOURCE, offers.resourceTemplates)).map(
        ({ read, complete, matches, server: _, ...template }) => template,
      );
      const { items, next } = pageOf(sdk, listed, params?.cursor, ({ uriTemplate }) => uriTemplate);
      return { resourceTemplates: items, ...next } as unknown as ListResourceTemplatesResult;
    });
    server.setRequestHandler("resources/read", async ({ params: { uri } }, context) => {
      const found = findResource(offers, uri, match);
      if (found === undefined) throw new sdk.ResourceNotFoundError(uri);
      return (await call(parts, READ_RESOURCE, { uri, ...serverOf(found) }, context)) as ReadResourceResult;
    });
    if (!isModern) addSubscriptions(server, parts, offers, match);
  }
  if (offers.prompts !== undefined) {
    server.setRequestHandler("prompts/list", async ({ params }) => {
      const all = (await listedWith(GET_PROMPT, offers.prompts)).map(
        ({ get, arguments: args, server: _, ...listed }) => ({
          ...listed,
          ...(args && { arguments: args.map(({ complete, ...argument }) => argument) }),
        }),
      );
      const { items: prompts, next } = pageOf(sdk, all, params?.cursor, ({ name }) => name);
      return { prompts, ...next } as unknown as ListPromptsResult;
    });
    server.setRequestHandler("prompts/get", async ({ params }, context) => {
      const { name, arguments: args = {} } = params;
      const problem = findPromptProblem(offers, name, args);
      if (problem !== undefined) throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, problem);
      const given = { name, arguments: args, ...serverOf(findPrompt(offers, name)) };
      return (await call(parts, GET_PROMPT, given, context)) as GetPromptResult;
    });
  }
  server.setRequestHandler("completion/complete", async ({ params }, context) => {
    const { ref, argument } = params;
    const id = ref.type === "ref/prompt" ? ref.name : ref.uri;
    const wanted = { ref: { type: ref.type, id }, argument: argument.name };
    const found = findCompletion(offers, wanted);
    if (found === undefined) {
      const message = "There is no prompt or resource template with this argument";
      throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, message);
    }
    const given = { ...wanted, value: argument.value, arguments: params.context?.arguments ?? {} };
    // Its result cannot ask for input.
    const silent = { ...parts, capabilities: () => ({}) };
    return (await call(silent, COMPLETE, { ...given, ...serverOf(found) }, context)) as CompleteResult;
  });
}

function serverOf(found: { readonly server?: string | undefined } | undefined): JsonObject {
  return found?.server === undefined ? {} : { server: found.server };
}

/** Matches URIs with the SDK's templates. */
export function templateMatcher({ sdk }: Pick<ExchangeParts, "sdk">): MatchTemplate {
  return (uriTemplate, uri) => new sdk.UriTemplate(uriTemplate).match(uri);
}

/** The output of a call that reads something. */
async function call(
  parts: ExchangeParts,
  tool: string,
  args: JsonValue,
  context: ServerContext,
): Promise<unknown> {
  const { sdk } = parts;
  const result = await exchange(parts, { tool, arguments: args }, context);
  if ("requestState" in result) return sdk.inputRequired(result as Parameters<typeof sdk.inputRequired>[0]);
  const { execution } = result;
  if (execution?.success === true) return execution.output as JsonObject;
  const { message = "The request was withdrawn", code = "aborted" } = execution?.error ?? {};
  throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InternalError, message, { code });
}

/** Subscriptions of clients of 2025-11-25. Later clients listen with `subscriptions/listen`. */
function addSubscriptions(
  server: SdkServer,
  { sdk }: ExchangeParts,
  offers: McpOffers,
  match: MatchTemplate,
): void {
  const uris = new Set<string>();
  server.setRequestHandler("resources/subscribe", ({ params: { uri } }) => {
    if (findResource(offers, uri, match) === undefined) throw new sdk.ResourceNotFoundError(uri);
    if (uris.size >= MAX_SUBSCRIPTIONS) {
      throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, "There are too many subscriptions");
    }
    uris.add(uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    uris.delete(uri);
    return {};
  });
  subscriptions.set(server, uris);
}

/** Whether the client of a server is subscribed to a resource. */
export function isSubscribed(server: SdkServer, uri: string): boolean {
  return subscriptions.get(server)?.has(uri) === true;
}

/** Why a prompt cannot be had with these arguments; `undefined` if it can. */
function findPromptProblem(
  offers: McpOffers,
  name: string,
  args: Readonly<Record<string, string>>,
): string | undefined {
  const prompt = findPrompt(offers, name);
  if (prompt === undefined) return "There is no prompt with this name: list the prompts";
  const missing = (prompt.arguments ?? []).find(
    ({ name: argument, required }) => required === true && !Object.hasOwn(args, argument),
  );
  return missing && `The argument '${missing.name}' of the prompt is missing`;
}
