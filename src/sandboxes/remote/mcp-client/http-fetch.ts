import { Readable } from "node:stream";
import type { FetchLike } from "@modelcontextprotocol/client";
import { CollectedBytes } from "../../../base/collected-bytes.ts";
import { FairBudget } from "../../../base/fair-budget.ts";
import type { Egress } from "../../../egress/egress.ts";
import { EgressError } from "../../../egress/egress-error.ts";
import type { ResponseHeaders } from "../../../egress/request.ts";
import type { NetGrant } from "../../../policy/grant/net-grant.ts";
import { LineSplitter } from "./line-splitter.ts";
import type { OpenCall } from "./questions/open-calls.ts";
import { SessionGoneError, UnsentError } from "./unsent.ts";
import type { WireFilter } from "./wire-filter.ts";
import { MAX_MESSAGE_BYTES } from "./wire-message.ts";

/** The longest pause that a server may request before a stream is reopened, in ms. */
const MAX_RETRY_MS = 30_000;

/** The shortest one: a server must not make its client ask in a loop. */
const MIN_RETRY_MS = 500;

/** The longest id and name of an event. */
const MAX_FIELD = 8_192;

const FIELD = /^(data|event|id|retry)(?:: ?(.*))?$/s;

/** The fields of one event. */
class PendingEvent {
  readonly #filter: WireFilter;
  readonly #data: string[] = [];
  /** The last field of each name counts. */
  readonly #others = new Map<string, string>();
  readonly #call: OpenCall | undefined;
  readonly #onEndpoint: OnEndpoint | undefined;
  #length = 0;

  constructor(filter: WireFilter, { call, onEndpoint }: StreamOptions) {
    this.#filter = filter;
    this.#call = call;
    this.#onEndpoint = onEndpoint;
  }

  get length(): number {
    return this.#length;
  }

  /** Adds a line. Comments and unknown fields are ignored. */
  add(line: string): void {
    if (line.startsWith(":")) return;
    const [, name, value = ""] = FIELD.exec(line) ?? [];
    if (name === "data") {
      this.#length += value.length + 1;
      if (this.#length > MAX_MESSAGE_BYTES)
        throw new Error(`an event has more than ${MAX_MESSAGE_BYTES} characters`);
      this.#data.push(value);
    } else if (name === "retry") {
      if (/^\d+$/.test(value)) this.#others.set(name, this.#bounded(value));
    } else if (name !== undefined && value.length <= MAX_FIELD) this.#others.set(name, value);
  }

  /** Returns the event as the SDK may read it. */
  end(): string {
    const text = this.#data.join("\n");
    if (this.#onEndpoint !== undefined && this.#others.get("event") === "endpoint") {
      this.#onEndpoint(text);
      return "";
    }
    const passed = text === "" ? text : this.#filter.pass(text, this.#call);
    // In JSON, line breaks are always white space.
    const data =
      this.#data.length === 0 || passed === undefined ? [] : [`data: ${passed.replaceAll(/[\r\n]/g, " ")}`];
    const lines = [...Array.from(this.#others, ([name, value]) => `${name}: ${value}`), ...data];
    return lines.length === 0 ? "" : `${lines.join("\n")}\n\n`;
  }

  #bounded(retry: string): string {
    const ms = Math.min(Math.max(Number(retry), MIN_RETRY_MS), MAX_RETRY_MS);
    if (ms !== Number(retry)) {
      this.#filter.problem(`it asks for a pause of ${retry.slice(0, 20)} ms, and gets one of ${ms} ms`);
    }
    return String(ms);
  }
}

/** Milliseconds to the head of a response. A call whose server answers with one document has no other deadline. */
const HEAD_TIMEOUT_MS = 10 * 60_000;

/** Maximum number of bytes of an error's body that are read. */
const MAX_ERROR_BYTES = 16_384;

const EVENTS = "text/event-stream";

/** Statuses whose responses have no body. */
const BODILESS = new Set([204, 205, 304]);

/** Statuses of servers, and of proxies before them, to a request whose session they do not know. */
const WITHOUT_SESSION = new Set([400, 404, 502, 503]);

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
}

type OnEndpoint = (address: string) => void;

/** What a stream of events is for. */
interface StreamOptions {
  /** The call whose stream it is. Default: it belongs to no call. */
  readonly call?: OpenCall | undefined;
  readonly onEndpoint?: OnEndpoint | undefined;
}

/**
 * Makes a `fetch` for the SDK that sends through the egress. Bodies are bounded, never decompressed, and
 * streams of events are checked before the SDK reads them. Everything that the SDK would treat as a message
 * is checked, whatever its status and the spelling of its media type. Redirects are not followed: the
 * response to one is an error for the SDK.
 */
export function httpFetch({ egress, grants, filter, reserve, onEndpoint }: HttpFetchOptions): FetchLike {
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
      const text = isOk ? await readText(body, reserve()) : await readBeginning(body);
      if (WITHOUT_SESSION.has(status) && init.method === "POST" && !isModernError(text))
        filter?.lose(`it answered with HTTP ${status}`);
      // The SDK does not read the body of a 202.
      const isMessage = isOk && status !== 202 && init.method === "POST" && text !== "";
      return new Response(isMessage && filter !== undefined ? (filter.pass(text) ?? "") : text, head);
    }
    if (init.method === "GET") filter.hasStream = true;
    const events = Readable.from(checkedEvents(body, filter, reserve(), { call, onEndpoint }), {
      objectMode: false,
    });
    events.once("close", () => body.destroy());
    return new Response(Readable.toWeb(events) as ReadableStream, head);
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

/**
 * Passes on a stream of events (WHATWG HTML, section 9.2) whose messages the filter accepts. The length of an
 * event and the time in `retry` are bounded. Only checked fields are passed on, so that other parsers cannot
 * interpret the stream differently. A stream ends with an error if an event is too long, or exceeds the
 * budget.
 *
 * @param received The reservation for the bytes of the unfinished event.
 */
export async function* checkedEvents(
  body: Readable,
  filter: WireFilter,
  received: ReservedBytes,
  options: StreamOptions = {},
): AsyncGenerator<Buffer> {
  using reserved = received;
  const lines = new LineSplitter(MAX_MESSAGE_BYTES);
  let event = new PendingEvent(filter, options);
  for await (const chunk of body) {
    for (const bytes of lines.push(chunk as Buffer)) {
      for (const line of splitReturns(bytes.toString())) {
        if (line !== "") event.add(line);
        else {
          const passed = event.end();
          event = new PendingEvent(filter, options);
          if (passed !== "") yield Buffer.from(passed);
        }
      }
    }
    reserved.set(lines.length + event.length);
  }
}

/** A carriage return ends a line, too, unless a line feed follows. */
function splitReturns(line: string): readonly string[] {
  return line.includes("\r") ? line.replace(/\r$/, "").split("\r") : [line];
}

/**
 * Bytes of the unfinished messages of all servers over HTTP. Each server may always buffer one message, even
 * if the total is exhausted.
 */
const TOTAL_BYTES = 64 * 1_024 * 1_024;

/**
 * The memory for messages that are being received, which servers share. One over stdio sends one message at a
 * time.
 */
export class MessageRoom {
  readonly #budget = new FairBudget(TOTAL_BYTES, MAX_MESSAGE_BYTES);

  /** Reserves bytes for a response of a server. Disposing releases them. */
  reserve(server: string): ReservedBytes {
    return new ReservedBytes(this.#budget, server);
  }
}

/** The bytes that one response has reserved. */
export class ReservedBytes implements Disposable {
  readonly #budget: FairBudget;
  readonly #server: string;
  #bytes = 0;

  constructor(budget: FairBudget, server: string) {
    this.#budget = budget;
    this.#server = server;
  }

  /**
   * Changes how many bytes are reserved.
   *
   * @throws {Error} if that exceeds the memory.
   */
  set(bytes: number): void {
    const more = bytes - this.#bytes;
    if (more < 0) this.#budget.release(this.#server, -more);
    else if (!this.#budget.acquire(this.#server, more))
      throw new Error("the unfinished messages of MCP servers take up all the room");
    this.#bytes = bytes;
  }

  [Symbol.dispose](): void {
    this.set(0);
  }
}
