import type { ServerContext } from "@modelcontextprotocol/server";
import { parseJson } from "../../json/parse.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import type { Session } from "../../sessions/session.ts";
import { MESSAGE_BOUNDS } from "./client-message.ts";
import { declared, type ExchangeParts, type ServerParts } from "./exchange.ts";
import type { Sdk } from "./options.ts";
import type { ClientCapabilities } from "./runs/input-requests.ts";
import { callTool, type EndOfCall } from "./tool-handlers.ts";

/** The revision whose requests stand alone. */
const REVISION = "2026-07-28";

const METHOD = "tools/call";

/** A call that says everything in one request, and whose client wants no notifications. */
interface PlainCall {
  /** The whole message. */
  readonly message: JsonObject;
  readonly id: string | number;
  readonly name: string;
  readonly arguments: JsonObject;
  /** The members of `_meta`: the client's revision, name and capabilities. */
  readonly envelope: JsonObject;
}

/** A `POST` with a body of JSON. */
export interface PostedMessage {
  readonly text: string;
  readonly header: HeaderOf;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
}

/** What {@link callDirectly} needs in addition to the parts of a server. */
interface DirectCallServices {
  readonly session: () => Promise<Session>;
  /** Lets the SDK respond to a call that has ended. */
  readonly write: (request: Request, message: JsonObject, ended: EndOfCall) => Promise<Response>;
}

/**
 * Makes a plain call without the SDK, which creates a server for each request and checks each message several times. What is
 * not plain about the end of the call, such as an error or a question to the client, is written by the SDK.
 *
 * @returns the JSON text of the response, or a response; `undefined`, before anything ran, if the SDK has to read the request.
 */
export async function callDirectly(
  parts: ServerParts,
  { text, header, signal }: PostedMessage,
  { session: open, write }: DirectCallServices,
): Promise<string | Response | undefined> {
  if (!mayBePlain(header)) return undefined;
  const { sdk, options, info } = parts;
  const parsed = parseJson(text, MESSAGE_BOUNDS);
  const call = "value" in parsed ? readPlainCall(sdk, parsed.value, header) : undefined;
  if (call === undefined) return undefined;
  const session = await open();
  const { registry } = session;
  const refused = refuseParamHeaders(call.message, header, (name) =>
    registry.has(name) ? registry.get(name).inputSchema : undefined,
  );
  if (refused !== undefined) return refused;
  const [ended] = await Promise.allSettled([
    callTool(exchangeParts(parts, session), options, call, contextOf(call, signal)),
  ]);
  const written = ended.status === "fulfilled" ? plainResponse(sdk, call, ended.value, info) : undefined;
  if (written !== undefined) return written;
  const request = new Request("http://server", { method: "POST", headers: plainHeaders(call), signal });
  return write(request, call.message, ended);
}

/** The revisions with sessions whose calls have the same form. */
const WITH_SESSIONS: ReadonlySet<string> = new Set(["2025-03-26", "2025-06-18", "2025-11-25"]);

/** A call of a client in a session of MCP 2025-11-25. */
export interface SessionCall {
  /** The whole message. */
  readonly message: JsonValue;
  readonly session: () => Promise<Session>;
  /** What the client declared. */
  readonly capabilities: ClientCapabilities;
  /** Aborted when the client cancels the call, or its session ends. */
  readonly signal: AbortSignal;
}

/**
 * Reads the id of a plain call of a session: one whose client wants no progress.
 *
 * @returns `undefined` if the SDK has to read it.
 */
export function plainSessionCall(message: JsonValue, header: HeaderOf): string | number | undefined {
  if (!WITH_SESSIONS.has(header("mcp-protocol-version") ?? "") || !isJsonObject(message)) return undefined;
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc !== "2.0" || method !== METHOD || !isRequestId(id)) return undefined;
  if (!hasOnly(message, ["jsonrpc", "id", "method", "params"]) || !isJsonObject(params)) return undefined;
  const { name, arguments: args = {}, _meta = {} } = params;
  const isPlain =
    hasOnly(params, ["name", "arguments", "_meta"]) &&
    typeof name === "string" &&
    isJsonObject(args) &&
    isJsonObject(_meta) &&
    hasOnly(_meta, ["traceparent", "tracestate"]);
  return isPlain ? id : undefined;
}

/**
 * Makes a plain call of a session, as {@link callDirectly} does. Its client must have declared that it cannot be asked.
 *
 * @returns the JSON text of the response; `undefined` if the call was cancelled, which is not answered.
 */
export async function callInSession(
  parts: ServerParts,
  { message, session, capabilities, signal }: SessionCall,
): Promise<string | undefined> {
  const { sdk, runs, pending, options } = parts;
  const { id, params } = message as { readonly id: string | number; readonly params: JsonObject };
  const {
    name,
    arguments: args = {},
    _meta = {},
  } = params as {
    readonly name: string;
    readonly arguments?: JsonObject;
    readonly _meta?: JsonObject;
  };
  const own = { sdk, runs, pending, isModern: false, listsAll: options.lists === "all", session };
  const exchanged = { ...own, capabilities: () => capabilities };
  const context = contextOf({ envelope: _meta }, signal);
  try {
    const result = await callTool(exchanged, options, { name, arguments: args }, context);
    if (signal.aborted) return undefined;
    if (sdk.isSpecType.CallToolResult(result)) return JSON.stringify({ result, jsonrpc: "2.0", id });
    const invalid = { code: sdk.ProtocolErrorCode.InvalidParams, message: "Invalid tools/call result" };
    return JSON.stringify({ jsonrpc: "2.0", id, error: invalid });
  } catch (error) {
    if (signal.aborted) return undefined;
    const { code, message: text, data } = error as { code?: unknown; message?: unknown; data?: unknown };
    const known = error instanceof sdk.ProtocolError;
    const failure = known
      ? { code, message: text, ...(data !== undefined && { data }) }
      : { code: sdk.ProtocolErrorCode.InternalError, message: "Internal error" };
    return JSON.stringify({ jsonrpc: "2.0", id, error: failure });
  }
}

function exchangeParts({ sdk, runs, pending, options }: ServerParts, session: Session): ExchangeParts {
  const capabilities = (context: ServerContext) => declared(sdk, context);
  return {
    sdk,
    runs,
    pending,
    isModern: true,
    listsAll: options.lists === "all",
    session: async () => session,
    capabilities,
  };
}

/** The part of the SDK's context that a call uses on this wire if it wants no notifications. */
function contextOf({ envelope }: Pick<PlainCall, "envelope">, signal: AbortSignal): ServerContext {
  const nothing = async (): Promise<void> => {};
  const mcpReq = {
    signal,
    envelope,
    _meta: envelope,
    requestState: () => undefined,
    notify: nothing,
    log: nothing,
  };
  return { mcpReq } as unknown as ServerContext;
}

/** Whether a request may be a plain call, by its headers alone. */
function mayBePlain(header: HeaderOf): boolean {
  return (
    header("mcp-method") === METHOD &&
    header("mcp-protocol-version") === REVISION &&
    header("mcp-session-id") === null
  );
}

/**
 * Reads a plain call. Everything else is for the SDK: what is not in the usual form, names other headers, continues an earlier
 * request or asks for notifications.
 *
 * @param header The headers have passed {@link mayBePlain}.
 * @returns `undefined` if the SDK has to read it.
 */
export function readPlainCall(sdk: Sdk, message: JsonValue, header: HeaderOf): PlainCall | undefined {
  if (!isJsonObject(message) || !hasOnly(message, ["jsonrpc", "id", "method", "params"])) return undefined;
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc !== "2.0" || method !== METHOD || !isRequestId(id)) return undefined;
  if (!isJsonObject(params) || !hasOnly(params, ["name", "arguments", "_meta"])) return undefined;
  const { name, arguments: args = {}, _meta: envelope } = params;
  if (typeof name !== "string" || header("mcp-name") !== name || !isJsonObject(args)) return undefined;
  const own = [sdk.PROTOCOL_VERSION_META_KEY, sdk.CLIENT_INFO_META_KEY, sdk.CLIENT_CAPABILITIES_META_KEY];
  const keys = [...own, "traceparent", "tracestate"];
  if (!isJsonObject(envelope) || !hasOnly(envelope, keys)) return undefined;
  if (envelope[sdk.PROTOCOL_VERSION_META_KEY] !== REVISION) return undefined;
  const { [sdk.CLIENT_INFO_META_KEY]: client, [sdk.CLIENT_CAPABILITIES_META_KEY]: capabilities } = envelope;
  if (client !== undefined && !sdk.isSpecType.Implementation(client)) return undefined;
  if (!sdk.isSpecType.ClientCapabilities(capabilities)) return undefined;
  return { message, id, name, arguments: args, envelope };
}

/** The headers of a plain call. */
function plainHeaders({ name }: PlainCall): Readonly<Record<string, string>> {
  return {
    "content-type": "application/json",
    "mcp-protocol-version": REVISION,
    "mcp-method": METHOD,
    "mcp-name": name,
  };
}

/**
 * Writes the response to a plain call.
 *
 * @param result What the handler of the SDK would return.
 * @returns `undefined` unless it is a complete result with texts, which needs no check.
 */
function plainResponse(
  sdk: Sdk,
  { id }: PlainCall,
  result: JsonObject,
  { name, version, title }: { readonly name: string; readonly version: string; readonly title?: string },
): string | undefined {
  if (!hasOnly(result, ["content", "isError", "structuredContent", "_meta"])) return undefined;
  const { content, _meta = {} } = result;
  if (!Array.isArray(content) || !content.every(isPlainText)) return undefined;
  const serverInfo = sdk.SERVER_INFO_META_KEY;
  // A tool's own members are checked by the SDK, except the name of the server that it was imported from.
  if (!isJsonObject(_meta) || !hasOnly(_meta, [serverInfo])) return undefined;
  const from = _meta[serverInfo];
  if (from !== undefined && !sdk.isSpecType.Implementation(from)) return undefined;
  const own = { name, version, ...(title !== undefined && { title }) };
  const complete = { ...result, resultType: "complete", _meta: { [serverInfo]: from ?? own } };
  return JSON.stringify({ result: complete, jsonrpc: "2.0", id });
}

function isPlainText(block: JsonValue): boolean {
  return (
    isJsonObject(block) &&
    block["type"] === "text" &&
    typeof block["text"] === "string" &&
    hasOnly(block, ["type", "text"])
  );
}

function isRequestId(id: JsonValue | undefined): id is string | number {
  return typeof id === "string" || Number.isSafeInteger(id);
}

function hasOnly(value: JsonObject, names: readonly string[]): boolean {
  for (const name of Object.keys(value)) if (!names.includes(name)) return false;
  return true;
}

/** Returns a header of a request; `null` if it is missing. */
type HeaderOf = (name: string) => string | null;

/** Deeper members of a schema are not searched. */
const MAX_DEPTH = 16;
/** MCP 2026-07-28: "header mismatch". */
const HEADER_MISMATCH = -32_020;
/** A name of a header (RFC 9110, section 5.1). */
const HEADER = /^[!#$%&'*+.^_`|~\w-]+$/;
const BASE64 = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/**
 * Checks the headers that repeat arguments of a call (`x-mcp-header` in a tool's schema, `Mcp-Param-NAME`): what looked at the
 * headers before must have seen the same values.
 *
 * @param message A message of MCP 2026-07-28. Anything.
 * @param schemaOf Returns the schema of a tool, if there is one.
 * @returns the response that refuses it; `undefined` if it is no call, or all headers match.
 */
export function refuseParamHeaders(
  message: JsonObject,
  headerOf: HeaderOf,
  schemaOf: (name: string) => JsonObject | undefined,
): Response | undefined {
  const { method, params, id = null } = message;
  if (method !== "tools/call" || !isJsonObject(params) || typeof params["name"] !== "string")
    return undefined;
  const schema = schemaOf(params["name"]);
  if (schema === undefined) return undefined;
  for (const { header, value } of declaredHeaders(schema, params["arguments"] ?? {}, 0)) {
    const name = `mcp-param-${header.toLowerCase()}`;
    const given = headerOf(name);
    const expected = value === undefined || value === null ? null : textOf(value);
    if ((given === null ? null : decoded(given)) === expected) continue;
    const error = { code: HEADER_MISMATCH, message: `The header ${name} does not match the argument` };
    return Response.json({ jsonrpc: "2.0", id, error }, { status: 400 });
  }
  return undefined;
}

interface DeclaredHeader {
  readonly header: string;
  readonly value: JsonValue | undefined;
}

function declaredHeaders(schema: JsonObject, args: JsonValue, depth: number): readonly DeclaredHeader[] {
  const { properties } = schema;
  if (depth > MAX_DEPTH || !isJsonObject(properties)) return [];
  return Object.entries(properties).flatMap(([name, member]) => {
    if (!isJsonObject(member)) return [];
    const value = isJsonObject(args) && Object.hasOwn(args, name) ? args[name] : undefined;
    const { "x-mcp-header": header } = member;
    const own = typeof header === "string" && HEADER.test(header) ? [{ header, value }] : [];
    return [...own, ...declaredHeaders(member, value ?? null, depth + 1)];
  });
}

function textOf(value: JsonValue): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function decoded(given: string): string {
  const [, encoded] = BASE64.exec(given.trim()) ?? [];
  return encoded === undefined ? given.trim() : Buffer.from(encoded, "base64").toString("utf8");
}
