import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { FairBudget } from "../base/fair-budget.ts";
import { JSON_MEDIA_TYPE, REPLAYED_HEADER } from "../remote-protocol/http.ts";
import { overloaded } from "./refusals.ts";

/** The longest text that is sent as one, together with the headers. */
const MAX_TEXT_LENGTH = 65_536;

/** Responds with a text. */
export function respond(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  text: string,
): void {
  response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(text) });
  response.end(text);
}

/** Responds with JSON text. */
export function respondJson(response: ServerResponse, text: string): void {
  respond(response, 200, { "content-type": JSON_MEDIA_TYPE, "cache-control": "no-store" }, text);
}

/** Responds with an execution as JSON text. */
export function respondExecution(response: ServerResponse, text: string, isReplayed: boolean): void {
  const body = bodyOf(text);
  const length = Buffer.byteLength(body);
  response.writeHead(
    200,
    isReplayed
      ? { "content-type": JSON_MEDIA_TYPE, "content-length": length, [REPLAYED_HEADER]: "true" }
      : { "content-type": JSON_MEDIA_TYPE, "content-length": length },
  );
  response.end(body);
}

/** Returns a long text as bytes: Node.js takes three times as many while a client has not read a text. */
export function bodyOf(text: string): string | Buffer {
  return text.length > MAX_TEXT_LENGTH ? Buffer.from(text) : text;
}

/**
 * Closes the connection if a client does not read a response within `ms`, which starts when the response is
 * complete and all earlier responses on the connection have been sent.
 */
export function limitReadingTime(response: ServerResponse, ms: number): void {
  response.on("prefinish", () => {
    // Usually, the kernel has buffered the whole response, and no timer is needed.
    if (response.writableLength === 0) return;
    const timer = setTimeout(() => response.destroy(), ms);
    response.on("close", () => clearTimeout(timer));
  });
}

/**
 * Closes the connection if the answers that clients have not read would take more than the budget. The client
 * can ask for a lost answer again.
 */
export function limitUnread(response: ServerResponse, unread: UnreadAnswers): void {
  response.on("prefinish", () => {
    if (!unread.settle(response.writableLength)) response.destroy();
  });
  response.on("drain", () => unread.settle(response.writableLength));
  response.on("close", () => unread.settle(0));
}

/**
 * Maximum number of unread bytes of all clients, and how many each caller may always have, even if the total
 * is exhausted.
 */
const UNREAD = { all: 256 * 1_024 * 1_024, each: 16 * 1_024 * 1_024 };

/** Returns a budget for responses, streams and frames that clients have not read. */
export function openUnreadBudget(): FairBudget {
  return new FairBudget(UNREAD.all, UNREAD.each);
}

/** The bytes of one connection or response that its client has not read. */
export class UnreadAnswers {
  readonly #budget: FairBudget;
  readonly #caller: string;
  #bytes = 0;

  constructor(budget: FairBudget, caller: string) {
    this.#budget = budget;
    this.#caller = caller;
  }

  /** Sets how many bytes wait now. Returns `false`, and charges nothing more, if the budget is exhausted. */
  settle(bytes: number): boolean {
    const more = bytes - this.#bytes;
    if (more === 0) return true;
    if (more < 0) this.#budget.release(this.#caller, -more);
    else if (!this.#budget.acquire(this.#caller, more)) return false;
    this.#bytes = bytes;
    return true;
  }
}

/** The budget of one client for bytes that it has not read. */
export interface UnreadBytes {
  /** Returns `false` if there is no room for them. */
  acquire(bytes: number): boolean;
  release(bytes: number): void;
}

/**
 * Sends a response of the Fetch API. A streamed body is read only as fast as the client reads it, and cancelled when the
 * connection is closed.
 *
 * @param ended Aborted when the streamed body ends, although the client may not have read what came before.
 * @param unread Where the bytes of any other body count until the client has read it. Default: they do not count.
 * @throws {RequestRefusal} 429 if there is no room for them.
 */
export async function sendResponse(
  from: Response,
  to: ServerResponse,
  ended: AbortSignal,
  unread?: UnreadBytes,
): Promise<void> {
  if (to.destroyed) {
    await from.body?.cancel();
    return;
  }
  const headers = Object.fromEntries(from.headers);
  // A response to `HEAD` has no body.
  if (from.body !== null && isStream(from)) {
    to.writeHead(from.status, headers);
    to.flushHeaders();
    await pump(from.body, to, ended);
    return;
  }
  const body = Buffer.from(await from.arrayBuffer());
  if (to.destroyed) return;
  if (unread !== undefined) {
    if (!unread.acquire(body.length))
      throw overloaded("the responses that clients have not read take up all the room");
    to.on("close", () => unread.release(body.length));
  }
  to.writeHead(from.status, from.status === 204 ? headers : { ...headers, "content-length": body.length });
  to.end(body);
}

/**
 * Sends a response of which a streamed body is pushed, however fast the client reads. What it has not read waits here, and not in
 * the body, so that it counts.
 *
 * @param unread Where that has to have room: the connection is closed otherwise.
 */
export async function sendPushed(from: Response, to: ServerResponse, unread: UnreadAnswers): Promise<void> {
  limitUnread(to, unread);
  if (from.body === null || to.destroyed || !isStream(from)) {
    await sendResponse(from, to, new AbortController().signal);
    return;
  }
  to.writeHead(from.status, Object.fromEntries(from.headers));
  to.flushHeaders();
  const reader = from.body.getReader();
  to.on("close", () => void reader.cancel());
  for (;;) {
    const { done, value } = await reader.read();
    if (done || to.destroyed || to.writableEnded) break;
    if (!to.write(value) && !unread.settle(to.writableLength)) to.destroy();
  }
  to.end();
}

function isStream({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") === true;
}

async function pump(body: ReadableStream<Uint8Array>, to: ServerResponse, ended: AbortSignal): Promise<void> {
  const reader = body.getReader();
  const closed = new AbortController();
  const stopped = AbortSignal.any([closed.signal, ended]);
  to.on("close", () => {
    closed.abort();
    void reader.cancel();
  });
  for (;;) {
    const { done, value } = await reader.read();
    if (done || to.destroyed) break;
    if (to.write(value)) continue;
    // Rejects if the connection is closed.
    await once(to, "drain", { signal: stopped }).catch(() => {});
  }
  to.end();
}
