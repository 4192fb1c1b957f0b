import { ReadableStream as WebStream } from "node:stream/web";
import type { Client } from "../access/client.ts";
import type { EventStreamOptions } from "../events/event-stream.ts";
import { callSummary, sees } from "./calls/call-view.ts";
import type { Console } from "./console.ts";

/** The most calls of one event. */
const MAX_CALLS = 500;
/** Milliseconds after which a silent stream sends a comment, so that dead connections are found. */
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = Buffer.from(": keep-alive\n\n");

/** Options of {@link callFeed}. */
export interface CallFeedOptions extends Pick<EventStreamOptions, "signal" | "unread" | "epoch"> {
  readonly console: Console;
  readonly client: Client;
}

/**
 * Returns what changes as server-sent events: `calls`, `lost`, `server` and `attention`. Each is made when the client has read
 * the one before it, from how the calls are then.
 */
export function callFeed(options: CallFeedOptions): ReadableStream<Uint8Array> {
  return WebStream.from(eventsOf(options)) as ReadableStream<Uint8Array>;
}

async function* eventsOf({
  console,
  client,
  epoch,
  signal,
  unread,
}: CallFeedOptions): AsyncGenerator<Uint8Array> {
  const { calls, beat, redaction } = console;
  let seen = calls.changes;
  let server = "";
  let attention = console.attention;
  while (!signal.aborted) {
    const { version } = beat;
    const now = JSON.stringify({ type: "server", server: console.server });
    if (now !== server) yield write("server", now);
    server = now;
    if (attention !== console.attention) yield write("attention", JSON.stringify({ type: "attention" }));
    attention = console.attention;
    const changed = [...calls.changedSince(seen)].filter((record) => sees(client, record));
    seen = calls.changes;
    let lost = Math.max(changed.length - MAX_CALLS, 0);
    if (changed.length > 0) {
      const latest = changed.slice(0, MAX_CALLS).map((record) => callSummary(record, epoch, redaction));
      const chunk = write("calls", JSON.stringify({ type: "calls", calls: latest }));
      if (unread.take(chunk.length)) {
        try {
          yield chunk;
        } finally {
          unread.giveBack(chunk.length);
        }
      } else lost = changed.length;
    }
    if (lost > 0) yield write("lost", JSON.stringify({ type: "lost", count: lost }));
    if (await beat.wait(version, signal, KEEP_ALIVE_MS)) yield KEEP_ALIVE;
  }
}

/** @param data JSON text, which has no line breaks. */
function write(type: string, data: string): Uint8Array {
  return Buffer.from(`event: ${type}\ndata: ${data}\n\n`);
}
