import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { BusyError, readInTurn } from "../../sandboxes/remote/mcp-client/call-tool.ts";
import type { McpConnection } from "../../sandboxes/remote/mcp-client/connection.ts";
import type { HostContext } from "../../tool/implementations/implementations.ts";
import type { McpCallIdentity } from "../../tool/implementations/remote-implementation.ts";
import { ToolFailure } from "../../tool/tool-failure.ts";
import { pauseOf } from "../../tool/wall-time.ts";
import type {
  McpComplete,
  McpOffers,
  McpPrompt,
  McpPromptMessages,
  McpResource,
  McpResourceContents,
  McpResourceTemplate,
} from "../server/mcp-offers.ts";
import { passedMeta } from "../server/tool-result.ts";
import type { CallLinks } from "./client-link.ts";
import type { ListedOffer, ServerOffers } from "./listed-offer.ts";

/** What {@link ImportedOffers} are made of. */
interface ImportedOffersOptions extends OfferLinks {
  /** Whether a pinned definition is approved. */
  readonly isApproved: (name: string, definition: JsonObject) => boolean;
  /** The name of a prompt at clients. */
  readonly promptName: (server: string, original: string) => string;
}

/** An offer, as it is made once for the lists that have it. */
interface Made {
  readonly offer: ListedOffer;
  readonly server: ServerOffers;
}

/**
 * The resources, resource templates and prompts of all imported servers, as the MCP server offers them. Only what is approved
 * is listed. A URI, a template or a prompt's name that two servers want belongs to neither.
 */
export class ImportedOffers implements McpOffers {
  readonly #servers: () => Iterable<ServerOffers>;
  readonly #options: ImportedOffersOptions;
  /** Whether each is approved, so that its digest is made once. */
  readonly #approved = new WeakMap<ListedOffer, boolean>();

  constructor(servers: () => Iterable<ServerOffers>, options: ImportedOffersOptions) {
    this.#servers = servers;
    this.#options = options;
  }

  get resources(): readonly McpResource[] {
    return this.#unique("resources", ({ id }) => id).map(({ offer, server }) =>
      resourceOf(offer, server, this.#options),
    );
  }

  get resourceTemplates(): readonly McpResourceTemplate[] {
    return this.#unique("resourceTemplates", ({ id }) => id).map(({ offer, server }) =>
      templateOf(offer, server, this.#options),
    );
  }

  get prompts(): readonly McpPrompt[] {
    const { promptName } = this.#options;
    const nameOf = ({ id }: ListedOffer, { connection }: ServerOffers): string =>
      promptName(connection.name, id);
    return this.#unique("prompts", nameOf).map(({ offer, server }) =>
      promptOf(nameOf(offer, server), offer, server, this.#options),
    );
  }

  #unique(
    kind: ListedOffer["kind"],
    keyOf: (offer: ListedOffer, server: ServerOffers) => string,
  ): readonly Made[] {
    const byKey = new Map<string, Made | undefined>();
    for (const server of this.#servers()) {
      for (const offer of server.offers) {
        if (offer.kind !== kind || !this.#isApproved(offer, server)) continue;
        const key = keyOf(offer, server);
        byKey.set(key, byKey.has(key) ? undefined : { offer, server });
      }
    }
    return [...byKey.values()].filter((made) => made !== undefined);
  }

  #isApproved(offer: ListedOffer, server: ServerOffers): boolean {
    let isApproved = this.#approved.get(offer);
    if (isApproved === undefined) {
      const { name, definition } = server.pinOf(offer);
      isApproved = this.#options.isApproved(name, definition);
      this.#approved.set(offer, isApproved);
    }
    return isApproved;
  }
}

/** Operators of expressions whose values may have any character (RFC 6570, section 3.2). */
const OPERATORS = /^[+#./;?&]/;

/** Where the literal texts of a URI template are, and which of the gaps between them may have a `/`. */
interface UriMatcher {
  readonly literals: readonly string[];
  readonly gaps: readonly { readonly names: readonly string[]; readonly isSegment: boolean }[];
}

/** The way back from calls of servers to clients. */
interface OfferLinks {
  readonly links: CallLinks;
}

/** A resource of a server, which is read there. */
function resourceOf({ id, listed }: ListedOffer, server: ServerOffers, options: OfferLinks): McpResource {
  return {
    ...traitsOf(listed),
    uri: id,
    server: server.connection.name,
    read: (context: HostContext) => readResource(server.connection, id, context, options),
  } as unknown as McpResource;
}

/** A resource template of a server. */
function templateOf(
  { id, listed }: ListedOffer,
  server: ServerOffers,
  options: OfferLinks,
): McpResourceTemplate {
  const matcher = readTemplate(id);
  const ref = { type: "ref/resource", uri: id };
  const names = server.completes ? matcher.gaps.flatMap((gap) => gap.names) : [];
  return {
    ...traitsOf(listed),
    uriTemplate: id,
    server: server.connection.name,
    matches: (uri: string) => matchesTemplate(matcher, uri),
    read: (uri: string, _variables: object, context: HostContext) =>
      readResource(server.connection, uri, context, options),
    complete: Object.fromEntries(
      names.map((name) => [name, completion(server.connection, ref, name, options)]),
    ),
  } as unknown as McpResourceTemplate;
}

/** A prompt of a server, under the name that it has at clients. */
function promptOf(
  name: string,
  { id, listed }: ListedOffer,
  server: ServerOffers,
  options: OfferLinks,
): McpPrompt {
  const ref = { type: "ref/prompt", name: id };
  const { arguments: args = [], ...others } = listed;
  const named = (Array.isArray(args) ? args : []).filter(isJsonObject).map((argument) => ({
    ...argument,
    name: String(argument["name"]),
    ...(server.completes && {
      complete: completion(server.connection, ref, String(argument["name"]), options),
    }),
  }));
  return {
    ...traitsOf(others),
    name,
    server: server.connection.name,
    ...(listed["arguments"] !== undefined && { arguments: named }),
    get: (given, context) => getPrompt(server.connection, { name: id, arguments: given }, context, options),
  } as McpPrompt;
}

function traitsOf({ _meta, ...listed }: JsonObject): JsonObject {
  return isJsonObject(_meta) ? { ...listed, _meta: passedMeta(_meta) } : (listed as JsonObject);
}

async function readResource(
  connection: McpConnection,
  uri: string,
  context: HostContext,
  options: OfferLinks,
): Promise<McpResourceContents> {
  const result = await read(connection, "resources/read", { uri }, context, options);
  const { contents } = result;
  if (!Array.isArray(contents) || !contents.every(isJsonObject)) throw malformed();
  return { contents, ...metaOf(result) } as unknown as McpResourceContents;
}

async function getPrompt(
  connection: McpConnection,
  params: JsonObject,
  context: HostContext,
  options: OfferLinks,
): Promise<McpPromptMessages> {
  const result = await read(connection, "prompts/get", params, context, options);
  const { messages, description } = result;
  const isMessage = (each: JsonValue): boolean =>
    isJsonObject(each) &&
    isJsonObject(each["content"]) &&
    ["user", "assistant"].includes(String(each["role"]));
  if (!Array.isArray(messages) || !messages.every(isMessage)) throw malformed();
  return {
    ...(typeof description === "string" && { description }),
    messages,
    ...metaOf(result),
  } as unknown as McpPromptMessages;
}

function completion(
  connection: McpConnection,
  ref: JsonObject,
  name: string,
  options: OfferLinks,
): McpComplete {
  return async (value, others, context) => {
    const params = { ref, argument: { name, value }, context: { arguments: others } };
    const { completion: found } = await read(connection, "completion/complete", params, context, options);
    const values = isJsonObject(found) ? found["values"] : undefined;
    if (!Array.isArray(values)) throw malformed();
    return values.filter((each): each is string => typeof each === "string");
  };
}

async function read(
  connection: McpConnection,
  method: string,
  params: JsonObject,
  context: HostContext,
  { links }: OfferLinks,
): Promise<JsonObject> {
  const { callId, turnId, signal } = context;
  const call: McpCallIdentity = { callId, turnId };
  const link = links.of(connection.name, call, pauseOf(context))?.link;
  try {
    const owner = { principal: context.principal?.id, session: context.sessionId };
    return await readInTurn(connection, owner, method, params, signal, link);
  } catch (error) {
    signal.throwIfAborted();
    const isServers =
      error instanceof Error && "code" in error && typeof error.code === "number" && error.code > -40_000;
    const message =
      error instanceof Error && (isServers || error instanceof BusyError)
        ? error.message
        : "The server of the tool cannot be reached, or its answer cannot be used";
    throw new ToolFailure("execution_error", message);
  }
}

function malformed(): ToolFailure {
  return new ToolFailure("execution_error", "The tool's server returned no valid result");
}

function metaOf({ _meta }: JsonObject): JsonObject {
  return isJsonObject(_meta) ? { _meta: passedMeta(_meta) } : {};
}

/**
 * Reads a URI template (RFC 6570). A server's template is never made into a pattern: several expressions side by side would
 * take time that grows with a power of the URI's length.
 */
export function readTemplate(uriTemplate: string): UriMatcher {
  const literals: string[] = [];
  const gaps: UriMatcher["gaps"][number][] = [];
  const pieces = uriTemplate.split(/\{([^{}]*)\}/);
  for (const [index, piece] of pieces.entries()) {
    if (index % 2 === 0) literals.push(piece);
    else {
      const names = piece.replace(OPERATORS, "").split(",");
      gaps.push({
        names: names.map((name) => name.replace(/(?:\*|:\d+)$/, "")),
        isSegment: !OPERATORS.test(piece),
      });
    }
  }
  return { literals, gaps };
}

/** Whether a URI can be one of a template: its literal texts are there in order, and no simple value has a `/`. Linear. */
export function matchesTemplate({ literals, gaps }: UriMatcher, uri: string): boolean {
  const [first = ""] = literals;
  if (gaps.length === 0) return uri === first;
  if (!uri.startsWith(first)) return false;
  let position = first.length;
  for (const [index, { isSegment }] of gaps.entries()) {
    const literal = literals[index + 1] ?? "";
    const isLast = index === gaps.length - 1;
    const end = isLast ? uri.length - literal.length : uri.indexOf(literal, position);
    if (end < position || (isLast && !uri.endsWith(literal))) return false;
    if (isSegment && uri.slice(position, end).includes("/")) return false;
    position = end + literal.length;
  }
  return true;
}
