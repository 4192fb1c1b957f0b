import type { DeadlineTimer } from "../base/timers/deadline-timer.ts";
import type { ConnectionPools, SharedPool } from "./connections/pools.ts";
import { ContentCodingError, DecodedTooLargeError, decodeBody } from "./content-coding.ts";
import { type Contact, EgressError, type Traffic } from "./egress-error.ts";
import { egressErrorOf } from "./failure.ts";
import { netRulesOf, originDenied } from "./net-rules.ts";
import { type Hop, isRedirect, redirectedHop } from "./redirect.ts";
import type { BodyRoom, EgressRequest, EgressResponse } from "./request.ts";
import { checkMethod, headersSize, readUrl } from "./request-check.ts";
import { ResponseReader } from "./response-reader.ts";

const NO_HEADERS = Object.freeze({});

/** Bytes for which there must be room before a body is decoded, in addition to what was received. Few bodies need more. */
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

/** Decodes a body within the room that there is: it begins again with twice as much if it needs more. */
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

/** Bytes of a request's head: the request line, `host`, the connection's fields, and `fields` bytes of others. */
function headSize(method: string, path: string, host: string, fields: number): number {
  return method.length + path.length + host.length + 70 + fields;
}
