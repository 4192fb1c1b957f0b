import { parseJson } from "../../json/parse.ts";
import { rawItems, rawMembers } from "../../json/raw-parts.ts";
import type { JsonBounds } from "../../json/refusal.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import type { Sdk } from "./options.ts";

/** The part of the SDK that reading a message needs. */
export type MessageSdk = Pick<Sdk, "isSpecType" | "specTypeSchemas">;
type SpecTypeName = keyof Sdk["specTypeSchemas"];

/** Maximum number of bytes of a message. */
export const MAX_MESSAGE_BYTES: number = 4 * 1_024 * 1_024;

/** How large a message may be. */
export const MESSAGE_BOUNDS: JsonBounds = Object.freeze({
  length: MAX_MESSAGE_BYTES,
  values: 200_000,
  members: 40_000,
  decimals: "exact",
});

/** Maximum number of characters of a pointer to a member that is wrong, and of its description. */
const MAX_PLACE = 200;
const MAX_PROBLEM = 400;

/** The types of the requests whose params are checked here. */
const REQUESTS: Readonly<Record<string, SpecTypeName>> = {
  initialize: "InitializeRequest",
  "tools/list": "ListToolsRequest",
  "tools/call": "CallToolRequest",
  "resources/list": "ListResourcesRequest",
  "resources/templates/list": "ListResourceTemplatesRequest",
  "resources/read": "ReadResourceRequest",
  "resources/subscribe": "SubscribeRequest",
  "resources/unsubscribe": "UnsubscribeRequest",
  "prompts/list": "ListPromptsRequest",
  "prompts/get": "GetPromptRequest",
  "completion/complete": "CompleteRequest",
  "logging/setLevel": "SetLevelRequest",
};

/**
 * Methods that revisions without sessions lack (MCP 2026-07-28, SEP-2575). There, the SDK answers that no
 * such method exists.
 */
const METHODS_OF_SESSIONS: ReadonlySet<string> = new Set([
  "initialize",
  "resources/subscribe",
  "resources/unsubscribe",
  "logging/setLevel",
]);

/** The member of `_meta` in which each request of a revision without sessions names its revision. */
const REVISION = "io.modelcontextprotocol/protocolVersion";

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const INVALID_PARAMS = -32_602;

/** The error for a message that cannot be carried out. */
export interface Refusal {
  readonly code: number;
  readonly message: string;
  /** The id of the request as JSON text, with all of its digits; `null` if there is none. */
  readonly id: string;
}

/**
 * A message, or the errors for requests that cannot be carried out: several for a batch, none for responses
 * and notifications.
 */
type ClientMessage = { readonly message: JsonObject } | RefusedMessages;

/** Requests that cannot be carried out. */
interface RefusedMessages {
  readonly refusals: readonly Refusal[];
  readonly isBatch: boolean;
}

/**
 * Reads a message of a client, which may be hostile. Each request, which has a method and a string or number
 * as its id, gets exactly one answer with this id: those that the SDK would drop are refused here. Each
 * request of a batch is refused: MCP has not had batches since 2025-06-18.
 */
export function readClientMessage(text: string, sdk: MessageSdk): ClientMessage {
  const parsed = parseJson(text, MESSAGE_BOUNDS);
  if (!("value" in parsed)) {
    const reason = `${parsed.reason} at position ${parsed.position}`;
    return refusalsOf(text, PARSE_ERROR, `The message is not valid JSON: ${reason}`);
  }
  const { value } = parsed;
  if (!isJsonObject(value)) return refusalsOf(text, INVALID_REQUEST, "The message is not an object");
  const problem = problemOf(value, sdk);
  return problem === undefined ? { message: value } : refusalsOf(text, problem.code, problem.message);
}

/** What is wrong with the form of a message; `undefined` if the SDK does not drop it. */
function problemOf(message: JsonObject, sdk: MessageSdk): Omit<Refusal, "id"> | undefined {
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc !== "2.0") return { code: INVALID_REQUEST, message: 'The member jsonrpc is not "2.0"' };
  if (method === undefined) {
    const isResponse = "result" in message || "error" in message;
    return isResponse ? undefined : { code: INVALID_REQUEST, message: "The message has no method" };
  }
  if (typeof method !== "string") return { code: INVALID_REQUEST, message: "The method is not a string" };
  if (id !== undefined && typeof id !== "string" && !Number.isSafeInteger(id))
    return { code: INVALID_REQUEST, message: "The id is neither a string nor an integer" };
  if (params !== undefined && !isJsonObject(params))
    return { code: INVALID_PARAMS, message: "The params are not an object" };
  if (id === undefined) return undefined;
  if (sdk.isSpecType.JSONRPCRequest(message)) return paramsProblemOf(message, method, sdk);
  return {
    code: INVALID_PARAMS,
    message:
      "A request has no other members than jsonrpc, id, method and params, and its _meta is an object of MCP",
  };
}

/** What is wrong with the params of a request. The SDK would call it an internal error. */
function paramsProblemOf(
  message: JsonObject,
  method: string,
  { specTypeSchemas }: MessageSdk,
): Omit<Refusal, "id"> | undefined {
  const { params } = message;
  const meta = isJsonObject(params) ? params["_meta"] : undefined;
  if (METHODS_OF_SESSIONS.has(method) && isJsonObject(meta) && REVISION in meta) return undefined;
  const type = Object.hasOwn(REQUESTS, method) ? REQUESTS[method] : undefined;
  const result = type && specTypeSchemas[type]["~standard"].validate(message);
  const [issue] = result?.issues ?? [];
  if (issue === undefined) return undefined;
  const names = (issue.path ?? []).map((each) => String(typeof each === "object" ? each.key : each));
  const place = names.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
  const text = `Invalid params of ${method} at ${place.slice(0, MAX_PLACE)}: ${issue.message}`;
  return { code: INVALID_PARAMS, message: text.slice(0, MAX_PROBLEM) };
}

/** Returns the errors for a text, which need not be valid JSON. */
function refusalsOf(text: string, code: number, message: string): RefusedMessages {
  const items = rawItems(text);
  if (items === undefined || items.length === 0)
    return { refusals: refusalOf(rawMembers(text), code, message), isBatch: false };
  const batch = "Batches are not supported: send each message alone";
  return {
    refusals: items.flatMap((item) => refusalOf(rawMembers(item.text), INVALID_REQUEST, batch)),
    isBatch: true,
  };
}

/** A member of a message, as it is written. */
export interface MessageMember {
  readonly name: string;
  readonly text: string;
}

/**
 * Returns the error for a message.
 *
 * @param members Its members; `undefined` if they cannot be read.
 * @returns no error for a response or a notification, which are never answered.
 */
export function refusalOf(
  members: readonly MessageMember[] | undefined,
  code: number,
  message: string,
): readonly Refusal[] {
  const textOf = (name: string): string | undefined => members?.findLast((each) => each.name === name)?.text;
  const [id, method] = [textOf("id"), textOf("method")];
  const isMethod = typeof jsonIn(method) === "string";
  if (isMethod && id === undefined) return [];
  if (method === undefined && (textOf("result") ?? textOf("error")) !== undefined) return [];
  const isId = id !== undefined && ["string", "number"].includes(typeof jsonIn(id));
  return [{ code, message, id: isId && isMethod ? id : "null" }];
}

function jsonIn(text: string | undefined): JsonValue | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** The JSON text of an error of JSON-RPC. */
export function refusalText({ code, message, id }: Refusal): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message })}}`;
}

/**
 * Reads the message in the body of a request, which may be hostile.
 *
 * @returns the message, or the response that refuses it.
 */
export async function readBody(
  request: Request,
  sdk: Sdk,
): Promise<{ readonly message: JsonObject } | Response> {
  const type = request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json") return refused(415, "The content-type must be application/json");
  const text = await readText(request);
  if (text === undefined) return refused(413, `The body has more than ${MAX_MESSAGE_BYTES} bytes`);
  const read = readClientMessage(text, sdk);
  return "message" in read ? read : refusalResponse(read);
}

function refused(status: number, message: string): Response {
  return new Response(refusalText({ code: -32_600, message, id: "null" }), { status, headers: JSON_BODY });
}

const JSON_BODY = { "content-type": "application/json" };

/** A message that is not a request gets an error without an id. */
function refusalResponse({ refusals, isBatch }: RefusedMessages): Response {
  const texts = refusals.map(refusalText);
  const [first = refusalText({ code: -32_600, message: "The message is not valid", id: "null" })] = texts;
  const body = isBatch && texts.length > 0 ? `[${texts.join(",")}]` : first;
  return new Response(body, { status: 400, headers: JSON_BODY });
}

async function readText({ body }: Request): Promise<string | undefined> {
  if (body === null) return "";
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_MESSAGE_BYTES) return undefined;
    chunks.push(chunk);
  }
  // A byte that is no UTF-8 becomes U+FFFD, and stays within its string. A byte order mark is skipped.
  return new TextDecoder().decode(Buffer.concat(chunks));
}
