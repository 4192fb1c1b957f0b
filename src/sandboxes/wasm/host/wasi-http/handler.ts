import type { EgressErrorCode } from "../../../../egress/egress-error.ts";
import type { HeaderField, HttpReply } from "../../../guest-services/service-request.ts";
import type { LiftBudget } from "../../abi/lift-budget.ts";
import type { TaggedValue } from "../../abi/value.ts";
import type { CurrentCall } from "../current-call.ts";
import { type InterfaceMembers, MisuseError } from "../interface-members.ts";
import { InputStream, IoError, Pollable } from "../wasi/streams.ts";
import { type BodyBudget, BodyBudgetError } from "./body-budget.ts";
import { type Fields, receivedFields } from "./fields.ts";
import { type OutgoingRequest, type RequestToSend, readRequest } from "./outgoing-request.ts";

/** The resource `request-options` of `wasi:http/types`: timeouts in nanoseconds. */
export class RequestOptions {
  #connect: bigint | undefined;
  #firstByte: bigint | undefined;
  #betweenBytes: bigint | undefined;

  connectTimeout(): bigint | undefined {
    return this.#connect;
  }
  /** Fails unless the timeout is `undefined`, because all connections share one connect timeout. */
  setConnectTimeout(timeout: bigint | undefined): void {
    if (timeout !== undefined) throw undefined;
    this.#connect = timeout;
  }
  firstByteTimeout(): bigint | undefined {
    return this.#firstByte;
  }
  setFirstByteTimeout(timeout: bigint | undefined): void {
    this.#firstByte = timeout;
  }
  betweenBytesTimeout(): bigint | undefined {
    return this.#betweenBytes;
  }
  setBetweenBytesTimeout(timeout: bigint | undefined): void {
    this.#betweenBytes = timeout;
  }
}

/**
 * The resource `future-incoming-response` of `wasi:http/types`. The request is sent when the component first asks for
 * the response, because its body has been written by then.
 */
class FutureIncomingResponse {
  #request: Disposable | undefined;
  #send: (() => TaggedValue) | undefined;
  #result: TaggedValue | undefined;
  #isTaken = false;

  /**
   * @param request Is disposed of when the request has been sent.
   * @param send Sends the request. Returns `result<incoming-response, error-code>`.
   */
  constructor(request: Disposable, send: () => TaggedValue) {
    this.#request = request;
    this.#send = send;
  }

  [Symbol.dispose](): void {
    this.#send = undefined;
    this.#request?.[Symbol.dispose]();
    this.#request = undefined;
  }

  subscribe(): Pollable {
    return Pollable.after(() => this.#settle());
  }
  get(): TaggedValue {
    this.#settle();
    if (this.#isTaken) return { tag: "err" };
    this.#isTaken = true;
    const result = this.#result;
    this.#result = undefined;
    return { tag: "ok", val: result };
  }

  #settle(): void {
    const send = this.#send;
    if (send === undefined) return;
    this.#result = send();
    this[Symbol.dispose]();
  }
}

/** Maps errors to cases of `error-code` in `wasi:http/types`. A component does not learn why a request was denied. */
const ERROR_CODES: Readonly<Record<EgressErrorCode, TaggedValue>> = {
  request_invalid: { tag: "internal-error", val: "the request is invalid" },
  request_too_large: { tag: "HTTP-request-body-size" },
  origin_denied: { tag: "HTTP-request-denied" },
  address_denied: { tag: "destination-IP-prohibited" },
  name_not_resolved: { tag: "DNS-error", val: {} },
  connection_refused: { tag: "connection-refused" },
  unreachable: { tag: "destination-IP-unroutable" },
  connect_timeout: { tag: "connection-timeout" },
  certificate_invalid: { tag: "TLS-certificate-error" },
  tls_failed: { tag: "TLS-protocol-error" },
  connect_failed: { tag: "destination-unavailable" },
  connection_lost: { tag: "connection-terminated" },
  headers_timeout: { tag: "connection-read-timeout" },
  body_timeout: { tag: "connection-read-timeout" },
  headers_too_large: { tag: "HTTP-response-header-section-size" },
  body_too_large: { tag: "HTTP-response-body-size" },
  budget_exceeded: { tag: "HTTP-response-body-size" },
  response_invalid: { tag: "HTTP-protocol-error" },
  encoding_invalid: { tag: "HTTP-response-content-coding" },
  redirect_refused: { tag: "HTTP-protocol-error" },
  too_many_redirects: { tag: "loop-detected" },
  timeout: { tag: "HTTP-response-timeout" },
  aborted: { tag: "connection-terminated" },
  closed: { tag: "connection-terminated" },
};

const NANOSECONDS_PER_MS = 1e6;

/** Returns `wasi:http/outgoing-handler`. Whether a request may be sent is checked outside the thread. */
export function httpHandler(
  call: () => CurrentCall,
  budget: BodyBudget,
  memory: LiftBudget,
): InterfaceMembers {
  return {
    handle(request: OutgoingRequest, options: RequestOptions | undefined): FutureIncomingResponse {
      if (options !== undefined && !(options instanceof RequestOptions)) {
        throw new MisuseError(
          "wasi:http/outgoing-handler",
          "the options of a request must be 'request-options'",
        );
      }
      const toSend = readRequest(request);
      if ("tag" in toSend) {
        request[Symbol.dispose]();
        throw toSend;
      }
      const receive = (reply: HttpReply<string>): IncomingResponse =>
        new IncomingResponse(reply, budget, memory);
      return new FutureIncomingResponse(request, () => send(call(), receive, toSend, options));
    },
  };
}

/** Sends a request. Returns a result with the response or the variant `error-code`. */
function send(
  call: CurrentCall,
  receive: (reply: HttpReply<string>) => IncomingResponse,
  { method, url, fields, body: takeBody }: RequestToSend,
  options: RequestOptions | undefined,
): TaggedValue {
  const body = takeBody();
  if (body === undefined) {
    return failure("internal-error", "the request body must be finished before the response is awaited");
  }
  const declared = fields.filter(declaresLength).map(([, value]) => value);
  if (declared.length > 0 && declared.join(", ") !== String(body.length)) {
    return failure("HTTP-request-body-size", BigInt(body.length));
  }
  const reply = call.ask<HttpReply<string>, EgressErrorCode>({
    kind: "http",
    method,
    url,
    encoding: "base64",
    followRedirects: false,
    // The HTTP client sets the length.
    headers: fields.filter((field) => !declaresLength(field)),
    body: body.length === 0 ? undefined : body.toString("base64"),
    firstByteTimeoutMs: inMs(options?.firstByteTimeout()),
    betweenBytesTimeoutMs: inMs(options?.betweenBytesTimeout()),
  });
  if ("error" in reply) return { tag: "err", val: ERROR_CODES[reply.error] };
  try {
    return { tag: "ok", val: receive(reply.ok) };
  } catch (error) {
    if (error instanceof BodyBudgetError) return failure("HTTP-response-body-size", undefined);
    throw error;
  }
}

function declaresLength([name]: HeaderField): boolean {
  return name.toLowerCase() === "content-length";
}

function failure(tag: string, val: string | bigint | undefined): TaggedValue {
  return { tag: "err", val: { tag, val } };
}

function inMs(ns: bigint | undefined): number | undefined {
  return ns === undefined ? undefined : Math.max(Math.ceil(Number(ns) / NANOSECONDS_PER_MS), 1);
}

/** The resource `incoming-response` of `wasi:http/types`. Its body has been received completely. */
export class IncomingResponse {
  readonly #status: number;
  readonly #headers: Fields;
  #body: IncomingBody | undefined;

  /** @throws {BodyBudgetError} if the body exceeds the remaining budget. */
  constructor({ status, headers, body }: HttpReply<string>, budget: BodyBudget, memory: LiftBudget) {
    this.#status = status;
    this.#headers = receivedFields(memory, headers);
    budget.charge(Buffer.byteLength(body, "base64"));
    const unread: UnreadBody = { left: Buffer.from(body, "base64") };
    budget.onEnd(() => {
      unread.left = undefined;
    });
    this.#body = new IncomingBody(unread);
  }

  status(): number {
    return this.#status;
  }
  headers(): Fields {
    return this.#headers;
  }
  consume(): IncomingBody {
    const body = this.#body;
    if (body === undefined) throw undefined;
    this.#body = undefined;
    return body;
  }
}

/** The unread part of a body; `undefined` once its call has ended. */
interface UnreadBody {
  left: Buffer | undefined;
}

/** The resource `incoming-body` of `wasi:http/types`. */
export class IncomingBody {
  #unread: UnreadBody | undefined;

  constructor(unread: UnreadBody) {
    this.#unread = unread;
  }

  stream(): InputStream {
    const unread = this.#unread;
    if (unread === undefined) throw undefined;
    this.#unread = undefined;
    return InputStream.from((maxBytes) => {
      if (unread.left === undefined) {
        throw {
          tag: "last-operation-failed",
          val: new IoError("the call that received this body has ended"),
        };
      }
      if (unread.left.length === 0) return undefined;
      const bytes = new Uint8Array(unread.left.subarray(0, maxBytes));
      unread.left = unread.left.subarray(bytes.length);
      return bytes;
    });
  }

  static finish(body: IncomingBody): FutureTrailers {
    body.#unread = undefined;
    return new FutureTrailers();
  }
}

/** The resource `future-trailers` of `wasi:http/types`. There are never any trailers. */
class FutureTrailers {
  #isTaken = false;

  subscribe(): Pollable {
    return new Pollable();
  }
  get(): TaggedValue {
    if (this.#isTaken) return { tag: "err" };
    this.#isTaken = true;
    return { tag: "ok", val: { tag: "ok", val: undefined } };
  }
}
