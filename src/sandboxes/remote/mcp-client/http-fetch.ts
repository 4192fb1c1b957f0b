import { Readable } from "node:stream";
import type { FetchLike } from "@modelcontextprotocol/client";
import { CollectedBytes } from "../../../base/collected-bytes.ts";
import type { Egress } from "../../../egress/egress.ts";
import { EgressError } from "../../../egress/egress-error.ts";
import type { EgressStream, ResponseHeaders } from "../../../egress/request.ts";
import type { NetGrant } from "../../../policy/grant/net-grant.ts";
import {
  type CheckedEvent,
  checkedEvents,
  checkedMessages,
  type OnEndpoint,
  type ReservedBytes,
} from "./message-streams.ts";
import { SessionGoneError, UnsentError } from "./unsent.ts";
import type { WireFilter } from "./wire-filter.ts";
import { isUnusable, MAX_MESSAGE_BYTES, readMessage, type WireMessage } from "./wire-message.ts";

/** Milliseconds to the head of a response. A call whose server answers with one document has no other deadline. */
const HEAD_TIMEOUT_MS = 10 * 60_000;

/** Maximum number of bytes of an error's body that are read. */
const MAX_ERROR_BYTES = 16_384;

const EVENTS = "text/event-stream";

/** Statuses whose responses have no body. */
const BODILESS = new Set([204, 205, 304]);

/** Statuses of servers, and of proxies before them, to a request whose session they do not know. */
const WITHOUT_SESSION = new Set([400, 404, 502, 503]);

/** A message that is a ping, as the SDK writes it. */
const PING = /^\{"method":"ping",/;

/** Errors that come with the statuses 400 and 404 in 2026-07-28. */
const MODERN_ERRORS: ReadonlySet<unknown> = new Set([-32_601, -32_602, -32_020, -32_021, -32_022]);

/** The options for the requests to a server. */
export interface HttpFetchOptions {
  readonly egress: Egress;
  readonly grants: readonly NetGrant[];
  /** Checks messages before the SDK reads them. Default: the responses are documents, as those of authorization servers are. */
  readonly filter?: WireFilter;
  /** Opens a reservation for the bytes of a response. */
  readonly reserve: () => ReservedBytes;
  /** Gets the address that a server of HTTP+SSE names, which is not passed on. Default: such events are treated as messages. */
  readonly onEndpoint?: OnEndpoint;
  /** Gets the messages of streams, which responses then do not have. Default: they are in the body. */
  readonly onMessage?: (message: WireMessage) => void;
  /** The connection whose session the address names, as that of HTTP+SSE does. Default: headers name it. */
  readonly sessionOf?: Pick<WireFilter, "lose">;
}

/**
 * Makes a `fetch` for the SDK that sends through the egress. Bodies are bounded, never decompressed, and
 * streams of events are checked before the SDK reads them. Everything that the SDK would treat as a message
 * is checked, whatever its status and the spelling of its media type. Redirects are not followed: the
 * response to one is an error for the SDK.
 */
export function httpFetch(options: HttpFetchOptions): FetchLike {
  const { filter, reserve, onEndpoint, onMessage } = options;
  return async (url, init = {}) => {
    const method = init.method ?? "GET";
    const call = method === "POST" ? filter?.calls.current : undefined;
    const headers: Record<string, string> = {};
    for (const [name, value] of new Headers(init.headers)) headers[name] = value;
    const request = { method, url: String(url), headers, body: bodyOf(init.body) };
    const exchanged = await exchange(options, { ...request, ...(init.signal && { signal: init.signal }) });
    const { status, headers: received, body, type, isOk } = exchanged;
    const head = { status, headers: headersOf(received) };
    if (BODILESS.has(status)) {
      body.destroy();
      return new Response(null, head);
    }
    if (filter === undefined || !isOk || type !== EVENTS) {
      if (type === EVENTS) head.headers.set("content-type", "text/plain");
      const text = isOk ? await readText(body, reserve()) : await readError(exchanged, request, filter);
      // The SDK does not read the body of a 202.
      const isMessage = isOk && status !== 202 && method === "POST" && text !== "";
      return new Response(isMessage && filter !== undefined ? (filter.pass(text)?.text ?? "") : text, head);
    }
    if (method === "GET") filter.hasStream = true;
    const own = { call, onEndpoint };
    const bytes =
      onMessage === undefined
        ? checkedEvents(body, filter, reserve(), own)
        : passedOn(checkedMessages(body, filter, reserve(), own), onMessage);
    const events = Readable.from(bytes, { objectMode: false });
    events.once("close", () => body.destroy());
    return new Response(Readable.toWeb(events) as ReadableStream, head);
  };
}

/** Passes on the messages of a stream, and ends with it. */
// biome-ignore lint/correctness/useYield: nothing of the stream is left for whoever reads the response
async function* passedOn(
  events: AsyncIterable<CheckedEvent>,
  onMessage: (message: WireMessage) => void,
): AsyncGenerator<Buffer> {
  for await (const { passed } of events) {
    if (passed === undefined) continue;
    onMessage(passed.message);
    // A server that floods must not block everything else, and the SDK handles notifications later than answers.
    await new Promise(setImmediate);
  }
}

/** A request to a server. */
interface ServerRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly signal?: AbortSignal;
}

/** The head of a response, and its body, which is not read. */
interface Exchanged extends EgressStream {
  /** The media type, as the SDK reads it; empty if there is none. */
  readonly type: string;
  readonly isOk: boolean;
}

/**
 * Sends a request, and reads the head of its response.
 *
 * @throws {UnsentError} if it was not carried out, also since the server does not know its session.
 */
async function exchange(
  { egress, grants, filter, sessionOf }: HttpFetchOptions,
  { headers: given, ...request }: ServerRequest,
): Promise<Exchanged> {
  const headers = { ...given, "accept-encoding": "identity" };
  const options = { ...request, headers, grants, headTimeoutMs: HEAD_TIMEOUT_MS };
  const response = await egress.stream(options).catch((error: unknown) => {
    if (error instanceof EgressError && !error.sent) throw new UnsentError(error.message, { cause: error });
    throw error;
  });
  const { status, headers: received, body } = response;
  const encoding = received["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    body.destroy();
    throw new Error("the server sent a compressed body, which was not asked for");
  }
  const isPost = request.method === "POST";
  const connection = sessionOf ?? (given["mcp-session-id"] === undefined ? undefined : filter);
  if (isPost && status === 404 && connection !== undefined) {
    body.destroy();
    connection.lose("it no longer knows the session (HTTP 404)");
    throw new SessionGoneError("the server no longer knows the session");
  }
  if (isPost && (status === 400 || status >= 500)) sessionOf?.lose(`it answered with HTTP ${status}`);
  if (!isPost && WITHOUT_SESSION.has(status)) filter?.suspect();
  const type = String(received["content-type"] ?? "")
    .split(";", 1)[0]
    ?.trim()
    .toLowerCase();
  return { status, headers: received, body, type: type ?? "", isOk: status >= 200 && status < 300 };
}

/** Reads the beginning of an error, which may show that the session is lost. */
async function readError(
  { status, body }: Exchanged,
  { method, body: sent = "" }: Pick<ServerRequest, "method" | "body">,
  filter?: WireFilter,
): Promise<string> {
  const text = await readBeginning(body);
  const isLost = WITHOUT_SESSION.has(status) && method === "POST" && !isModernError(text);
  // A server that does not know pings may say so in this way, while calls go on.
  const isUnknownPing = status === 400 && filter?.isSuspected === false && PING.test(sent);
  if (isLost && !isUnknownPing) filter?.lose(`it answered with HTTP ${status}`);
  return text;
}

/** A message that is posted. */
export interface PostedCall {
  readonly body: string;
  /** The headers that differ from message to message. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly onMessage: (message: WireMessage) => void;
  /** The last event of a stream that ended early: what follows it is asked for. Default: the message is posted. */
  readonly lastEventId?: string;
}

/** Where a stream can be continued that ended: with the id of its last event, if it has ids. */
export interface EndOfStream {
  readonly lastEventId?: string;
  readonly retryMs?: number;
}

/** Posts a message, and reads what answers it. */
export type PostCall = (posted: PostedCall) => Promise<EndOfStream>;

/**
 * Makes a function that posts calls without the SDK, which reads each response as a `Response` with a stream of the web, and checks
 * what was checked.
 *
 * @param fixed The headers that all messages have.
 */
export function callPoster(
  options: HttpFetchOptions & { readonly filter: WireFilter },
  url: string,
  fixed: Readonly<Record<string, string>> | undefined,
): PostCall {
  const { filter, reserve } = options;
  const own = new Headers(fixed);
  const accepted = new Set(
    [own.get("accept") ?? ACCEPTED, ACCEPTED].flatMap((each) => each.split(/\s*,\s*/)),
  );
  own.set("accept", [...accepted].join(", "));
  own.set("content-type", JSON_TYPE);
  const always = Object.fromEntries(own);
  return async ({ body: sent, headers, signal, onMessage, lastEventId }) => {
    if (lastEventId !== undefined) {
      const continued = { accept: EVENTS, "last-event-id": lastEventId };
      const all: Record<string, string> = { ...always, ...headers, ...continued };
      const { "content-type": _type, "mcp-method": _method, "mcp-name": _name, ...own } = all;
      const request = { method: "GET", url, headers: own, body: undefined, signal };
      const { status, body, type, isOk } = await exchange(options, request);
      // Servers answer with any stream of theirs: its requests need not be those of the call.
      if (isOk && type === EVENTS)
        return await readEvents(checkedMessages(body, filter, reserve()), onMessage, lastEventId);
      body.destroy();
      if (status === NO_STREAM) return {};
      throw new Error(`the stream cannot be continued: HTTP ${status}`);
    }
    const call = filter.calls.current;
    const request = { method: "POST", url, headers: { ...always, ...headers }, body: sent, signal };
    const exchanged = await exchange(options, request);
    const { status, body, type, isOk } = exchanged;
    if (!isOk) {
      const text = await readError(exchanged, request, filter);
      const message = status === 400 && "mcp-method" in headers ? readMessage(text) : undefined;
      const isError = message !== undefined && !isUnusable(message) && message.error !== undefined;
      if (!isError || !filter.own.has(message.id))
        throw new Error(`the server answered with HTTP ${status}: ${text}`);
      onMessage(message);
      return {};
    }
    if (type === EVENTS)
      return await readEvents(checkedMessages(body, filter, reserve(), { call }), onMessage);
    const text = status === 202 || BODILESS.has(status) ? "" : await readText(body, reserve());
    body.destroy();
    if (text === "") return {};
    if (type !== JSON_TYPE) throw new Error(`the server answered with the type ${type.slice(0, 100)}`);
    const passed = filter.pass(text);
    if (passed === undefined) throw new SyntaxError("the server answered with no usable message");
    onMessage(passed.message);
    return {};
  };
}

const JSON_TYPE = "application/json";
const ACCEPTED = `${JSON_TYPE}, ${EVENTS}`;

/** The status of servers that have no streams to continue. */
const NO_STREAM = 405;

async function readEvents(
  events: AsyncIterable<CheckedEvent>,
  onMessage: (message: WireMessage) => void,
  before?: string,
): Promise<EndOfStream> {
  const last = new Map<string, string>(before === undefined ? [] : [["id", before]]);
  try {
    for await (const { fields, passed } of events) {
      for (const name of ["id", "retry"]) {
        const value = fields.get(name);
        if (value !== undefined && value !== "") last.set(name, value);
      }
      const { event = "message" } = Object.fromEntries(fields);
      if (passed === undefined || event !== "message") continue;
      onMessage(passed.message);
      if (passed.message.method === undefined) continue;
      // A server that floods must not block everything else, and the SDK handles notifications later than answers.
      await new Promise(setImmediate);
    }
  } catch {
    // The stream broke, or has a message that is too long: the call has no answer.
  }
  const [lastEventId, retry] = [last.get("id"), last.get("retry")];
  return {
    ...(lastEventId !== undefined && { lastEventId }),
    ...(retry !== undefined && { retryMs: Number(retry) }),
  };
}

async function readText(body: Readable, received: ReservedBytes): Promise<string> {
  using reserved = received;
  const read = new CollectedBytes();
  for await (const chunk of body) {
    const length = read.length + (chunk as Buffer).length;
    if (length > MAX_MESSAGE_BYTES) throw new Error(`the body has more than ${MAX_MESSAGE_BYTES} bytes`);
    reserved.set(length);
    read.add(chunk as Buffer);
  }
  return read.read().toString();
}

/** Whether a text is an error of 2026-07-28, which has no sessions: the request is wrong, and not the connection. */
function isModernError(text: string): boolean {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown } | null };
    return MODERN_ERRORS.has(error?.code);
  } catch {
    return false;
  }
}

/** Errors are only shown: the beginning of a long one is enough. */
async function readBeginning(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  // The end of the loop closes the body.
  for await (const chunk of body) {
    chunks.push(chunk as Buffer);
    length += (chunk as Buffer).length;
    if (length >= MAX_ERROR_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_ERROR_BYTES).toString();
}

function bodyOf(body: unknown): string | undefined {
  if (body === undefined || body === null) return undefined;
  return typeof body === "string" ? body : String(body);
}

function headersOf(received: ResponseHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(received)) {
    for (const each of [value ?? []].flat()) headers.append(name, each);
  }
  return headers;
}
