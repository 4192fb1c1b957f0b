import type { IncomingMessage, ServerResponse } from "node:http";
import type { Context, Handler, Hono } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { FairBudget } from "../base/fair-budget.ts";
import type { Sender } from "../http/authentication.ts";
import type { Door } from "../http/door.ts";
import { badRequest, overloaded, revoked } from "../http/refusals.ts";
import { bodyLength, checkDigest, decodeBody, receive } from "../http/request.ts";
import { parseJson } from "../json/parse.ts";
import { problemIn, type Shape } from "../json/shape.ts";
import { JSON_MEDIA_TYPE } from "../remote-protocol/http.ts";
import { remoteProblem } from "../remote-protocol/problems.ts";
import type { AnswerBody, Operation } from "../shapes/operation.ts";
import type { Client, Clients } from "./access/client.ts";

/** What a route gets besides the request. */
export interface AppBindings {
  Bindings: Exchange;
}

/** The routes of sessions, with the exchange of the current request. */
export type App = Hono<AppBindings>;

/** What the handler of an operation gets. Its `json` answers with what the operation's answers say, and nothing else. */
type Answering<Of extends Operation> = Pick<Context<AppBindings, Of["path"]>, "env" | "req"> & {
  json<Status extends keyof Of["answers"] & ContentfulStatusCode = keyof Of["answers"] & 200>(
    body: AnswerBody<Of, Status>,
    status?: Status,
  ): Response;
};

/** Serves an operation. `addOperations` checks its access first. */
export function serve<const Of extends Operation>(
  app: App,
  { method, path }: Of,
  handler: (context: Answering<Of>) => Response | Promise<Response>,
): void {
  app.on(method, path, handler as unknown as Handler<AppBindings>);
}

/** The bytes of bodies that the server buffers. */
export interface BodyBudget {
  readonly maxBytes: number;
  readonly budget: FairBudget;
}

/** The guards that a request passed, and the clients. */
export interface Access {
  readonly guards: Pick<Door, "authentication">;
  /** The current ones: they can be replaced while a body arrives. */
  clients(): Clients;
}

/** Why a request is aborted when its connection is closed. Shared, because every request ends so and a new error costs a stack. */
const CLOSED = new DOMException("The connection was closed", "AbortError");

/** A request of an authenticated client. Its body is read when the route asks for it, after the route's own checks. */
export class Exchange {
  readonly client: Client;
  readonly request: IncomingMessage;
  readonly sender: Sender;
  readonly access: Access;
  readonly #bodies: BodyBudget;
  readonly #closing = new AbortController();
  readonly #revoking = new AbortController();
  readonly #response: ServerResponse;
  #bodyBytes = 0;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    { sender, client, access }: { readonly sender: Sender; readonly client: Client; readonly access: Access },
    bodies: BodyBudget,
  ) {
    this.access = access;
    this.request = request;
    this.client = client;
    this.sender = sender;
    this.#bodies = bodies;
    this.#response = response;
    response.on("close", () => this.#closing.abort(CLOSED));
  }

  /** Aborted when the response has been sent, or the connection is closed. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /** Aborted when the client has lost rights since the request arrived; the reason is the response. */
  get revoked(): AbortSignal {
    return this.#revoking.signal;
  }

  /** Refuses the request if it has had no effect yet, and ends its stream of events. */
  revoke(): void {
    this.#revoking.abort(revoked());
  }

  /**
   * Reads the body as JSON.
   *
   * @throws {RequestRefusal} as a rejection, if it is too long, or not valid.
   */
  async read<Body>(shape: Shape<Body>): Promise<Body> {
    const parsed = parseJson(await this.readText([JSON_MEDIA_TYPE]));
    if (!("value" in parsed)) throw badRequest(`${parsed.reason} at position ${parsed.position}`);
    const problem = problemIn(shape, parsed.value);
    if (problem !== undefined) throw badRequest(problem);
    return parsed.value as Body;
  }

  /**
   * Reads the body as a text.
   *
   * @param mediaTypes Those that it may have.
   * @throws {RequestRefusal} as a rejection, if it is too long, or has another media type.
   */
  async readText(mediaTypes: readonly string[]): Promise<string> {
    const { "content-type": type = "", "content-encoding": encoding } = this.request.headers;
    const bytes = bodyLength(this.request, this.#bodies.maxBytes);
    const given = type.split(";", 1)[0]?.trim().toLowerCase() ?? "";
    if (!mediaTypes.includes(given) || encoding !== undefined) {
      throw remoteProblem(
        "unsupported_media_type",
        `the content-type header must be ${mediaTypes.join(" or ")}, without a content-encoding`,
      );
    }
    const body = await this.#readBytes(bytes);
    this.revoked.throwIfAborted();
    this.#bodyBytes = bytes;
    checkDigest(this.request, this.sender, body);
    return decodeBody(body);
  }

  /** The length of the body that was read. */
  get bodyBytes(): number {
    return this.#bodyBytes;
  }

  #readBytes(bytes: number): Promise<Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const close = (): void => reject(badRequest("the connection was closed"));
    const revoke = (): void => reject(this.revoked.reason);
    this.closed.addEventListener("abort", close);
    this.revoked.addEventListener("abort", revoke);
    const refuse = (): void => reject(overloaded("the server holds too many requests: retry later"));
    const { budget: bodies } = this.#bodies;
    const { name: caller } = this.client;
    receive({ request: this.request, response: this.#response, bytes, bodies, caller, refuse }, resolve);
    return promise.finally(() => {
      this.closed.removeEventListener("abort", close);
      this.revoked.removeEventListener("abort", revoke);
    });
  }
}

/** Which page of a list is asked for. */
export interface Page {
  /** The page has what comes before this number. Default: it has the end of the list. */
  readonly before: number | undefined;
  /** Maximum number of items. */
  readonly limit: number;
}

const DEFAULT_LIMIT = 100;
const NUMBER = /^[1-9]\d{0,15}$/;

/**
 * Reads `before` and `limit` of a query.
 *
 * @param most The highest `limit`.
 * @throws {RequestRefusal} 400 if one of them is not a number from 1 on, or `limit` is too high.
 */
export function pageOf(query: Readonly<Record<string, string>>, most: number): Page {
  const limit = numberOf(query, "limit") ?? Math.min(DEFAULT_LIMIT, most);
  if (limit > most) throw badRequest(`limit must be at most ${most}`);
  return { before: numberOf(query, "before"), limit };
}

function numberOf(query: Readonly<Record<string, string>>, name: "before" | "limit"): number | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  if (!NUMBER.test(text) || !Number.isSafeInteger(Number(text))) {
    throw badRequest(`${name} must be a whole number from 1 on`);
  }
  return Number(text);
}
