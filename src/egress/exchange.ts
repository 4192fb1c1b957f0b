import type { DeadlineTimer } from "../base/timers.ts";
import type { ConnectionPools, SharedPool } from "./connections.ts";
import { ContentCodingError, DecodedTooLargeError, decodeBody } from "./content-coding.ts";
import { type Contact, EgressError, egressErrorOf, type Traffic } from "./egress-error.ts";
import { netRulesOf, originDenied } from "./net-rules.ts";
import {
  type BodyRoom,
  checkMethod,
  type EgressRequest,
  type EgressResponse,
  headersSize,
  type ResponseHeaders,
  readUrl,
} from "./request.ts";
import { ResponseReader } from "./response-reader.ts";

/** One request of an exchange: the first one, or one that follows a redirect. */
interface Hop {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Headers that are not sent to another origin after a redirect. */
const CREDENTIALS: readonly string[] = ["authorization", "cookie", "proxy-authorization"];

/** Headers that describe the body, dropped if it is no longer sent. */
const BODY_HEADERS: readonly string[] = [
  "content-encoding",
  "content-language",
  "content-location",
  "content-type",
];

const NO_HEADERS = Object.freeze({});

/** Bytes to reserve before a body is decoded, in addition to what was received. Few bodies need more. */
const DECODED_ROOM_BYTES = 8 * 1_024 * 1_024;

/** One request and its response, with the redirects that are followed. */
export class Exchange {
  readonly #pools: ConnectionPools;
  readonly #request: EgressRequest;
  readonly #resolve: (response: EgressResponse) => void;
  readonly #reject: (error: EgressError) => void;
  readonly #contacted: Contact[] = [];
  #bytesUp = 0;
  #bytesDown = 0;
  #redirects = 0;
  readonly #deadlines: DeadlineTimer<Exchange>;
  /** On the clock of `performance.now()`, in ms. */
  readonly deadline: number;
  #reader: ResponseReader | undefined;
  #shared: SharedPool | undefined;
  /** Bytes of the current request; counted once they may have been sent. */
  #upNow = 0;
  #isOver = false;

  constructor(
    pools: ConnectionPools,
    deadlines: DeadlineTimer<Exchange>,
    request: EgressRequest,
    resolve: (response: EgressResponse) => void,
    reject: (error: EgressError) => void,
  ) {
    this.#pools = pools;
    this.#deadlines = deadlines;
    this.deadline = performance.now() + request.limits.timeoutMs;
    this.#request = request;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const { method, url, headers = NO_HEADERS, body, signal } = this.#request;
    try {
      if (signal?.aborted) throw new EgressError("aborted", "the request was aborted");
      checkMethod(method);
      this.#send({ method, url: readUrl(url), headers, body: bufferOf(body) });
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#isOver) return;
    this.#deadlines.add(this);
    signal?.addEventListener("abort", this.#onAbort);
  }

  /** Ends the exchange at its deadline. */
  expire(): void {
    this.#cancel(
      new EgressError("timeout", `no complete response within ${this.#request.limits.timeoutMs} ms`),
    );
  }

  readonly #onAbort = (): void => this.#cancel(new EgressError("aborted", "the request was aborted"));

  #cancel(error: EgressError): void {
    if (this.#isOver) return;
    this.#reader?.cancel();
    this.#leave();
    this.#fail(error);
  }

  /** @throws {EgressError} if the request may not be sent. */
  #send(hop: Hop): void {
    const { method, url, headers, body } = hop;
    const { grants, limits } = this.#request;
    const rule = netRulesOf(grants).ruleFor(url);
    if (rule === undefined) throw originDenied(url);
    const shared = this.#pools.get(rule);
    const path = url.pathname + url.search;
    this.#upNow = headSize(method, path, url.host, headersSize(headers)) + (body?.length ?? 0);
    const budget =
      (limits.netBytes ?? Number.POSITIVE_INFINITY) - this.#bytesUp - this.#bytesDown - this.#upNow;
    if (budget < 0) throw new EgressError("request_too_large", "the request exceeds the network budget");
    const reader = new ResponseReader(rule.origin, limits, budget, (error) => this.#received(hop, error));
    this.#reader = reader;
    this.#shared = shared;
    shared.inFlight++;
    shared.pool.dispatch(
      {
        path,
        method,
        headers,
        body: body ?? null,
        headersTimeout: limits.firstByteTimeoutMs ?? 0,
        bodyTimeout: limits.betweenBytesTimeoutMs ?? 0,
      },
      reader,
    );
  }

  /** Leaves the current request, if there is one, and counts its traffic. */
  #leave(): void {
    const reader = this.#reader;
    if (reader === undefined) return;
    this.#reader = undefined;
    if (this.#shared !== undefined) this.#shared.inFlight--;
    this.#bytesDown += reader.bytesDown;
    if (reader.contact === undefined) return;
    this.#contacted.push(reader.contact);
    this.#bytesUp += this.#upNow;
  }

  #received(hop: Hop, error: unknown): void {
    const reader = this.#reader;
    this.#leave();
    if (error !== undefined || reader === undefined) {
      this.#fail(error);
      return;
    }
    const { maxRedirects = 0 } = this.#request;
    if (maxRedirects > 0 && isRedirect(reader.status, reader.headers)) {
      this.#follow(hop, reader, maxRedirects);
      return;
    }
    const { body } = reader;
    if (reader.codings.length > 0 && body.length > 0) void this.#decode(hop, reader, body);
    else this.#succeed(hop, reader, body);
  }

  #follow(hop: Hop, { status, headers }: ResponseReader, maxRedirects: number): void {
    try {
      if (++this.#redirects > maxRedirects) {
        throw new EgressError("too_many_redirects", `more than ${maxRedirects} redirects`);
      }
      this.#send(redirectedHop(hop, status, headers, this.#request.credentialHeaders ?? []));
    } catch (error) {
      this.#fail(error);
    }
  }

  async #decode(hop: Hop, reader: ResponseReader, body: Buffer): Promise<void> {
    const { bodyBytes, failureBodyBytes, room } = this.#request.limits;
    const isSuccess = reader.status >= 200 && reader.status < 300;
    const isWhole = isSuccess || failureBodyBytes === undefined;
    try {
      if (reader.isCut) throw new DecodedTooLargeError();
      const maxBytes = isWhole ? bodyBytes : failureBodyBytes;
      const decoded = await decodeInRoom(body, reader.codings, maxBytes, room);
      room?.settle(decoded.length);
      this.#succeed(hop, reader, decoded);
    } catch (error) {
      if (!isWhole) this.#succeed(hop, reader, Buffer.alloc(0));
      else if (error instanceof DecodedTooLargeError) {
        this.#fail(new EgressError("body_too_large", `the body is larger than ${bodyBytes} bytes`));
      } else if (error instanceof ContentCodingError) {
        this.#fail(new EgressError("encoding_invalid", error.message));
      } else this.#fail(error);
    }
  }

  #succeed({ url }: Hop, { status, statusText, headers }: ResponseReader, body: Buffer): void {
    if (!this.#isOver) this.#resolve({ status, statusText, headers, body, url, traffic: this.#traffic() });
    this.#end();
  }

  #fail(error: unknown): void {
    if (!this.#isOver) this.#reject(egressErrorOf(error, this.#traffic()));
    this.#end();
  }

  #end(): void {
    this.#isOver = true;
    this.#deadlines.delete(this);
    this.#request.signal?.removeEventListener("abort", this.#onAbort);
  }

  #traffic(): Traffic {
    return { contacted: this.#contacted, bytesUp: this.#bytesUp, bytesDown: this.#bytesDown };
  }
}

/** Decodes a body within the available room, and starts again with twice as much if that is not enough. */
async function decodeInRoom(
  body: Buffer,
  codings: readonly string[],
  maxBytes: number,
  room: BodyRoom | undefined,
): Promise<Buffer> {
  let taken = 0;
  for (let most = Math.min(maxBytes, DECODED_ROOM_BYTES); ; most = Math.min(maxBytes, most * 2)) {
    if ((await room?.wait(most - taken)) === false) throw new DecodedTooLargeError();
    taken = most;
    try {
      return await decodeBody(body, codings, most);
    } catch (error) {
      if (!(error instanceof DecodedTooLargeError) || most === maxBytes) throw error;
    }
  }
}

function bufferOf(body: string | Uint8Array | undefined): Buffer | undefined {
  if (body === undefined) return undefined;
  if (typeof body === "string") return Buffer.from(body);
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}

/**
 * Bytes of a request's head: the request line, `host`, the connection's headers, and `fields` bytes for the
 * other headers.
 */
function headSize(method: string, path: string, host: string, fields: number): number {
  return method.length + path.length + host.length + 70 + fields;
}

/** Whether a response is a redirect (RFC 9110, section 15.4). */
function isRedirect(status: number, headers: ResponseHeaders): boolean {
  return REDIRECTS.has(status) && headers["location"] !== undefined;
}

/**
 * Returns the request that follows a redirect (RFC 9110, section 15.4; the Fetch standard where it is more precise).
 * The caller checks whether the grant allows it.
 *
 * @param credentials The names, in lower case, of other headers that are not sent to another origin.
 * @throws {EgressError} if the location is not exactly one URL, has credentials, or leads away from TLS.
 */
function redirectedHop(
  hop: Hop,
  status: number,
  headers: ResponseHeaders,
  credentials: readonly string[],
): Hop {
  const location = headers["location"];
  const url = typeof location === "string" ? URL.parse(location, hop.url) : null;
  if (url === null)
    throw new EgressError("redirect_refused", "a redirect must have exactly one valid location");
  if (url.username !== "" || url.password !== "") {
    throw new EgressError("redirect_refused", "a redirect's location has credentials");
  }
  if (hop.url.protocol === "https:" && url.protocol !== "https:") {
    throw new EgressError("redirect_refused", "a redirect's location must be https:, like the request");
  }
  const becomesGet = (status === 303 && hop.method !== "HEAD") || (status < 303 && hop.method === "POST");
  const dropped = [
    ...(becomesGet ? BODY_HEADERS : []),
    ...(url.origin === hop.url.origin ? [] : [...CREDENTIALS, ...credentials]),
  ];
  return {
    method: becomesGet ? "GET" : hop.method,
    url,
    headers: without(hop.headers, dropped),
    body: becomesGet ? undefined : hop.body,
  };
}

function without(headers: Hop["headers"], names: readonly string[]): Hop["headers"] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name.toLowerCase())));
}
