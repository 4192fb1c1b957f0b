import { Readable } from "node:stream";
import type { FetchLike } from "@modelcontextprotocol/client";
import type { Egress } from "../../../../egress/egress.ts";
import { EgressError } from "../../../../egress/egress-error.ts";
import type { ResponseHeaders } from "../../../../egress/request.ts";
import type { NetGrant } from "../../../../policy/grant/net-grant.ts";
import { SessionGoneError, UnsentError } from "../unsent.ts";
import type { WireFilter } from "../wire-filter.ts";
import { MAX_MESSAGE_BYTES } from "../wire-message.ts";
import { checkedEvents } from "./checked-events.ts";
import type { HeldBytes } from "./message-room.ts";

/** Milliseconds to the head of a response. A call whose server answers with one document has no other deadline. */
const HEAD_TIMEOUT_MS = 10 * 60_000;

/** The most bytes of an error's body that are read. */
const MAX_ERROR_BYTES = 16_384;

const EVENTS = "text/event-stream";

/** Statuses whose responses have no body. */
const BODILESS = new Set([204, 205, 304]);

/** Statuses of servers, and of proxies before them, to a request whose session they do not know. */
const WITHOUT_SESSION = new Set([400, 404, 503]);

/** Errors that come with the statuses 400 and 404 in 2026-07-28. */
const MODERN_ERRORS: ReadonlySet<unknown> = new Set([-32_601, -32_602, -32_020, -32_021, -32_022]);

/** What a server's requests may reach, and how. */
export interface HttpFetchOptions {
  readonly egress: Egress;
  readonly grants: readonly NetGrant[];
  /** Checks messages before the SDK reads them. Default: the responses are documents, as those of authorization servers are. */
  readonly filter?: WireFilter;
  /** Begins to hold the bytes of a response. */
  readonly hold: () => HeldBytes;
}

/**
 * Makes a `fetch` for the SDK that sends through the egress. Bodies are bounded, never decompressed, and streams of events are
 * checked before the SDK reads them. What the SDK would take for a message is checked, whatever its status and however its
 * media type is written. Redirects are not followed: the response to one is an error for the SDK.
 */
export function httpFetch({ egress, grants, filter, hold }: HttpFetchOptions): FetchLike {
  return async (url, init = {}) => {
    const call = init.method === "POST" ? filter?.calls.current : undefined;
    const headers: Record<string, string> = {};
    for (const [name, value] of new Headers(init.headers)) headers[name] = value;
    headers["accept-encoding"] = "identity";
    const request = {
      method: init.method ?? "GET",
      url: String(url),
      headers,
      body: bodyOf(init.body),
      grants,
      headTimeoutMs: HEAD_TIMEOUT_MS,
      ...(init.signal && { signal: init.signal }),
    };
    const response = await egress.stream(request).catch((error: unknown) => {
      if (error instanceof EgressError && !error.sent) throw new UnsentError(error.message, { cause: error });
      throw error;
    });
    const { status, headers: received, body } = response;
    if (received["content-encoding"] !== undefined && received["content-encoding"] !== "identity") {
      body.destroy();
      throw new Error("the server sent a compressed body, which was not asked for");
    }
    const head = { status, headers: headersOf(received) };
    if (BODILESS.has(status)) {
      body.destroy();
      return new Response(null, head);
    }
    if (filter !== undefined && WITHOUT_SESSION.has(status)) {
      const isGone = status === 404 && headers["mcp-session-id"] !== undefined;
      if (init.method === "POST" && isGone) {
        body.destroy();
        filter.lose("it no longer knows the session (HTTP 404)");
        throw new SessionGoneError("the server no longer knows the session");
      }
      if (init.method === "GET") filter.suspect();
    }
    const isOk = status >= 200 && status < 300;
    // The SDK reads media types in this way.
    const type = String(received["content-type"] ?? "")
      .split(";", 1)[0]
      ?.trim()
      .toLowerCase();
    if (filter === undefined || !isOk || type !== EVENTS) {
      if (type === EVENTS) head.headers.set("content-type", "text/plain");
      const text = isOk ? await readText(body, hold()) : await readBeginning(body);
      if (WITHOUT_SESSION.has(status) && init.method === "POST" && !isModernError(text))
        filter?.lose(`it answered with HTTP ${status}`);
      // The SDK does not read the body of a 202.
      const isMessage = isOk && status !== 202 && init.method === "POST" && text !== "";
      return new Response(isMessage && filter !== undefined ? (filter.pass(text) ?? "") : text, head);
    }
    if (init.method === "GET") filter.hasStream = true;
    const events = Readable.from(checkedEvents(body, filter, hold(), call), { objectMode: false });
    events.once("close", () => body.destroy());
    return new Response(Readable.toWeb(events) as ReadableStream, head);
  };
}

async function readText(body: Readable, received: HeldBytes): Promise<string> {
  using held = received;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += (chunk as Buffer).length;
    if (length > MAX_MESSAGE_BYTES) throw new Error(`the body has more than ${MAX_MESSAGE_BYTES} bytes`);
    held.set(length);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString();
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

/** Errors are only shown: the rest of a long one says nothing more. */
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
