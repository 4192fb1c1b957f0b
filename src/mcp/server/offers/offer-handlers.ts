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
import type { JsonObject, JsonValue } from "../../../json/value.ts";
import { type ExchangeParts, exchange } from "../exchange.ts";
import type { McpComplete, McpOffers } from "../mcp-offers.ts";
import type { McpServerOptions } from "../options.ts";
import { pageOf } from "../paging.ts";
import { findPromptProblem } from "./check-prompt.ts";
import { findResource, GET_PROMPT, type MatchTemplate, READ_RESOURCE } from "./offer-tools.ts";

/** The most suggestions of a completion (MCP). */
const MAX_VALUES = 100;
/** How many resources one client may subscribe to. */
const MAX_SUBSCRIPTIONS = 1_000;

/** Adds what concerns resources, prompts and completions. Reading one is a call, under the policy. */
export function addOffers(
  server: SdkServer,
  parts: ExchangeParts,
  offers: Pick<McpServerOptions, keyof McpOffers | "onProblem">,
): void {
  const { sdk, isModern } = parts;
  const match = templateMatcher(parts);
  if (offers.resources !== undefined || offers.resourceTemplates !== undefined) {
    server.setRequestHandler("resources/list", ({ params }) => {
      const listed = (offers.resources ?? []).map(({ read, ...resource }) => resource);
      const { items: resources, next } = pageOf(sdk, listed, params?.cursor, ({ uri }) => uri);
      return { resources, ...next } as unknown as ListResourcesResult;
    });
    server.setRequestHandler("resources/templates/list", ({ params }) => {
      const listed = (offers.resourceTemplates ?? []).map(({ read, complete, ...template }) => template);
      const { items, next } = pageOf(sdk, listed, params?.cursor, ({ uriTemplate }) => uriTemplate);
      return { resourceTemplates: items, ...next } as unknown as ListResourceTemplatesResult;
    });
    server.setRequestHandler("resources/read", async ({ params: { uri } }, context) => {
      if (findResource(offers, uri, match) === undefined) throw new sdk.ResourceNotFoundError(uri);
      return (await call(parts, READ_RESOURCE, { uri }, context)) as ReadResourceResult;
    });
    if (!isModern) addSubscriptions(server, parts, offers, match);
  }
  if (offers.prompts !== undefined) {
    server.setRequestHandler("prompts/list", ({ params }) => {
      const all = (offers.prompts ?? []).map(({ get, arguments: args, ...listed }) => ({
        ...listed,
        ...(args && { arguments: args.map(({ complete, ...argument }) => argument) }),
      }));
      const { items: prompts, next } = pageOf(sdk, all, params?.cursor, ({ name }) => name);
      return { prompts, ...next } as unknown as ListPromptsResult;
    });
    server.setRequestHandler("prompts/get", async ({ params }, context) => {
      const { name, arguments: args = {} } = params;
      const problem = findPromptProblem(offers, name, args);
      if (problem !== undefined) throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, problem);
      return (await call(parts, GET_PROMPT, { name, arguments: args }, context)) as GetPromptResult;
    });
  }
  server.setRequestHandler("completion/complete", async ({ params }): Promise<CompleteResult> => {
    const { ref, argument, context } = params;
    const complete = ref.type === "ref/prompt" ? promptComplete : templateComplete;
    const found = complete(offers, "name" in ref ? ref.name : ref.uri, argument.name);
    if (found === undefined) {
      const message = "There is no prompt or resource template with this argument";
      throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, message);
    }
    const all = await valuesOf(
      () => found(argument.value, context?.arguments ?? {}),
      (why) => {
        offers.onProblem?.(`the values of '${argument.name}' could not be found: ${why}`);
        return new sdk.ProtocolError(sdk.ProtocolErrorCode.InternalError, "The values could not be found");
      },
    );
    const values = all.slice(0, MAX_VALUES);
    return { completion: { values, total: all.length, hasMore: all.length > values.length } };
  });
}

const NO_VALUES: McpComplete = () => [];

function promptComplete(
  { prompts = [] }: McpOffers,
  name: string,
  argument: string,
): McpComplete | undefined {
  const prompt = prompts.find((each) => each.name === name);
  const found = prompt?.arguments?.find((each) => each.name === argument);
  return found && (found.complete ?? NO_VALUES);
}

function templateComplete(
  { resourceTemplates = [] }: McpOffers,
  uriTemplate: string,
  variable: string,
): McpComplete | undefined {
  const template = resourceTemplates.find((each) => each.uriTemplate === uriTemplate);
  if (template === undefined) return undefined;
  const { complete = {} } = template;
  // The client names the variable: it must not reach what all objects have.
  if (variable in Object.prototype && !Object.hasOwn(complete, variable)) return undefined;
  return complete[variable] ?? NO_VALUES;
}

/** What the embedder's function throws may name files of the server. */
async function valuesOf(
  find: () => ReturnType<McpComplete>,
  failure: (why: string) => Error,
): Promise<readonly string[]> {
  try {
    return await find();
  } catch (error) {
    throw failure(error instanceof Error ? error.message : String(error));
  }
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

/** Subscriptions of clients of 2025-11-25. The others listen with `subscriptions/listen`. */
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

/** What the clients of 2025-11-25 are subscribed to. */
const subscriptions = new WeakMap<SdkServer, ReadonlySet<string>>();

/** Whether the client of a server is subscribed to a resource. */
export function isSubscribed(server: SdkServer, uri: string): boolean {
  return subscriptions.get(server)?.has(uri) === true;
}
