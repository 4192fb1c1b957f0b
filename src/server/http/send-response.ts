import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { overloaded } from "../../http/refusals.ts";
import { limitUnread } from "../../http/respond.ts";
import type { UnreadAnswers } from "../../http/unread-answers.ts";
import type { UnreadBytes } from "../events/event-stream.ts";

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
