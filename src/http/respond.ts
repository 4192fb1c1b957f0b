import type { ServerResponse } from "node:http";
import { JSON_MEDIA_TYPE, REPLAYED_HEADER } from "../remote-protocol/http.ts";
import type { UnreadAnswers } from "./unread-answers.ts";

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
