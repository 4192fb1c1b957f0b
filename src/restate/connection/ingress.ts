import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, type Dispatcher } from "undici";
import { describeThrown, SandgateError } from "../../base/thrown.ts";
import { type OptionNames, refuseUnknown } from "../../base/unknown-names.ts";

const NAMES: OptionNames<IngressOptions> = { urls: true, retryMs: true };

/** A handler of a service, or of a virtual object with a key. */
export interface HandlerAddress {
  readonly service: string;
  readonly handler: string;
  /** Only and always of a virtual object. */
  readonly key?: string;
}

/** How a handler is called. */
export interface IngressCall extends HandlerAddress {
  /** Any JSON value; `undefined` if the handler takes nothing. */
  readonly input?: unknown;
  /**
   * Under one key, Restate runs the handler once, and answers every request with its result. `undefined` for a handler that
   * changes nothing: it may run twice.
   */
  readonly idempotencyKey: string | undefined;
  /** Gives up waiting. The handler continues. */
  readonly signal?: AbortSignal;
  /** Milliseconds for which nodes that cannot be reached are tried again. Default: that of the ingress. */
  readonly retryMs?: number;
}

/** The options of {@link Ingress}. */
export interface IngressOptions {
  /** The URLs of the nodes, such as `http://127.0.0.1:8080`. The first one that answers is used. */
  readonly urls: readonly string[];
  /** Milliseconds for which nodes that cannot be reached are tried again. Default: 10 seconds. */
  readonly retryMs?: number;
}

/** Responses have the time in seconds, and arrive later. */
const LEAST_SKEW_MS = 10_000;

interface Request extends Pick<IngressCall, "input" | "signal"> {
  readonly idempotencyKey: string | undefined;
  /** Default: `POST`. */
  readonly method?: "GET" | "POST";
}

const DEFAULT_RETRY_MS = 10_000;
/** Milliseconds to the first retry. Each further one waits twice as long, up to the maximum. */
const FIRST_WAIT_MS = 20;
const MAX_WAIT_MS = 500;
/**
 * The longest body that is sent. Restate takes more, but a worker is sent no message of more than 32 MiB: an attempt whose
 * input, or what its handler sends on, is longer would be made for ever, and its object with it.
 */
const MAX_BODY = 30_000_000;
/** The longest answer that is read. Restate itself refuses messages of more than 32 MiB. */
const MAX_ANSWER = 34_000_000;

/**
 * Calls handlers through the HTTP ingress of Restate. Every call that changes something has an idempotency key, so that one
 * whose answer was lost is sent again, also to another node, and runs once.
 */
export class Ingress {
  readonly #urls: readonly string[];
  readonly #retryMs: number;
  readonly #agent = new Agent({
    // A handler can wait for a person.
    headersTimeout: 0,
    bodyTimeout: 0,
    connections: 1_024,
    pipelining: 1,
    connect: { timeout: 3_000 },
    maxResponseSize: MAX_ANSWER,
    keepAliveTimeout: 10_000,
  });
  /** The node that answered last. */
  #current = 0;
  #skewMs = 0;

  constructor(options: IngressOptions) {
    refuseUnknown(options, NAMES, "an Ingress");
    const { urls, retryMs = DEFAULT_RETRY_MS } = options;
    if (urls.length === 0) throw new TypeError("an ingress needs at least one URL");
    this.#urls = urls.map((url) => url.replace(/\/+$/, ""));
    this.#retryMs = retryMs;
  }

  /**
   * Calls a handler, and waits for its result.
   *
   * @throws {RestateHandlerError} if the handler ended with an error, and {@link RestateError} if no node could be reached.
   *   Both are rejections.
   */
  call<Result>(call: IngressCall): Promise<Result> {
    return this.#request<Result>(pathOf(call), call);
  }

  /** Calls a handler, and resolves as soon as Restate has stored the call. Throws like {@link call}. */
  async send(call: IngressCall): Promise<void> {
    await this.#request(`${pathOf(call)}/send`, call);
  }

  /**
   * Waits for the result of a call that was made under an idempotency key.
   *
   * @returns `undefined` if Restate knows no such call: it may have forgotten it.
   * @throws like {@link call}.
   */
  async attach<Result>(
    address: HandlerAddress,
    idempotencyKey: string,
    signal?: AbortSignal,
  ): Promise<{ readonly result: Result } | undefined> {
    const path = `/restate/invocation${pathOf(address)}/${storedKeyOf(idempotencyKey)}/attach`;
    try {
      const request = { method: "GET", input: undefined, idempotencyKey: undefined } as const;
      return { result: await this.#request<Result>(path, { ...request, ...(signal && { signal }) }) };
    } catch (error) {
      if (error instanceof RestateHandlerError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Completes an awakeable. Does nothing if it was completed before. Throws like {@link call}. */
  async resolveAwakeable(id: string, value: unknown): Promise<void> {
    const path = `/restate/awakeables/${encodeURIComponent(id)}/resolve`;
    await this.#request(path, { input: value, idempotencyKey: undefined });
  }

  /**
   * How far the clock of the nodes is ahead of that of this process, in ms, as of their last answer; 0 if they differ by
   * less than responses show. Timers of Restate end when its own clock says so.
   */
  get skewMs(): number {
    return this.#skewMs;
  }

  #readClock(date: unknown): void {
    const now = typeof date === "string" ? Date.parse(date) : Number.NaN;
    const skewMs = now - Date.now();
    if (Number.isFinite(skewMs)) this.#skewMs = Math.abs(skewMs) < LEAST_SKEW_MS ? 0 : skewMs;
  }

  /** Closes the connections. Calls that wait are rejected. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #request<Result>(path: string, call: Request & Pick<IngressCall, "retryMs">): Promise<Result> {
    const { signal, retryMs = this.#retryMs } = call;
    const until = performance.now() + retryMs;
    const body = bodyOf(call.input);
    let mayHaveBegun = false;
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)) {
      const answer = await this.#try<Result>(path, { ...call, body });
      if ("result" in answer) return answer.result;
      signal?.throwIfAborted();
      mayHaveBegun ||= answer.mayHaveBegun;
      if (performance.now() + waitMs > until) {
        throw new RestateError(`Restate cannot be reached: ${answer.problem}`, { mayHaveBegun });
      }
      this.#current = (this.#current + 1) % this.#urls.length;
      await sleep(waitMs, undefined, { signal });
    }
  }

  /** @throws {RestateHandlerError} as a rejection. What may be tried again is returned. */
  async #try<Result>(
    path: string,
    { body, idempotencyKey, signal, method = "POST" }: Request & { readonly body: string | null },
  ): Promise<{ readonly result: Result } | { readonly problem: string; readonly mayHaveBegun: boolean }> {
    let response: Dispatcher.ResponseData;
    let text: string;
    try {
      response = await this.#agent.request({
        origin: this.#urls[this.#current] as string,
        path,
        method,
        headers: {
          ...(body !== null && { "content-type": "application/json" }),
          ...(idempotencyKey !== undefined && { "idempotency-key": storedKeyOf(idempotencyKey) }),
        },
        body,
        signal: signal ?? null,
      });
      this.#readClock(response.headers["date"]);
      text = await response.body.text();
    } catch (thrown) {
      signal?.throwIfAborted();
      return { problem: describeThrown(thrown).message, mayHaveBegun: !isRefused(thrown) };
    }
    const { statusCode } = response;
    if (statusCode < 300) return { result: (text === "" ? undefined : JSON.parse(text)) as Result };
    const problem = problemOf(text) ?? `status ${statusCode}`;
    // From a node that is starting, has no leader or is overloaded; a handler could have thrown any other status.
    if (isPassing(statusCode, response.headers)) return { problem, mayHaveBegun: true };
    throw new RestateHandlerError(problem, statusCode);
  }
}

/** @throws {RestateHandlerError} if a body is too long. */
function bodyOf(input: unknown): string | null {
  if (input === undefined) return null;
  const body = JSON.stringify(input);
  if (3 * body.length > MAX_BODY && Buffer.byteLength(body) > MAX_BODY) {
    throw new RestateHandlerError(`a request has more than ${MAX_BODY} bytes`, TOO_LONG);
  }
  return body;
}

/**
 * Returns the key under which Restate has a call of the ingress, for handlers that use the same one. A header is ASCII, and
 * {@link Ingress.attach} does not find keys with characters that a path must escape.
 */
export function storedKeyOf(idempotencyKey: string): string {
  if (/^[\w-]{1,64}$/.test(idempotencyKey)) return idempotencyKey;
  return createHash("sha256").update(idempotencyKey).digest("base64url");
}

function pathOf({ service, key, handler }: HandlerAddress): string {
  const parts = key === undefined ? [service, handler] : [service, key, handler];
  return `/${parts.map(encodeURIComponent).join("/")}`;
}

/** Whether a node, and not a handler, answered with an error that passes. */
function isPassing(status: number, headers: Dispatcher.ResponseData["headers"]): boolean {
  if (headers["x-restate-id"] !== undefined) return false;
  return status === 429 || status === 408 || status >= 500;
}

function isRefused(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === "ECONNREFUSED";
}

function problemOf(text: string): string | undefined {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    return typeof message === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}

/** Thrown if Restate cannot be reached, refuses a request, or has other code registered under the name of a Sandgate service. */
export class RestateError extends SandgateError {
  override readonly name = "RestateError";
  override readonly code = "restate_failed";
  /** Whether the request may have been accepted anyway, so that only the same idempotency key may be tried again. */
  readonly mayHaveBegun: boolean;

  constructor(
    message: string,
    { mayHaveBegun = false, cause }: { mayHaveBegun?: boolean; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.mayHaveBegun = mayHaveBegun;
  }
}

/** Status of the error of a request that is longer than Restate takes. */
export const TOO_LONG = 413;

/** Thrown if a handler ended with an error that is not tried again. */
export class RestateHandlerError extends RestateError {
  /** The status with which the handler ended. */
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}
