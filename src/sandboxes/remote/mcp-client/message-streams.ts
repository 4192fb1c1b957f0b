import type { Readable } from "node:stream";
import { FairBudget } from "../../../base/fair-budget.ts";
import type { OpenCall } from "./questions/open-calls.ts";
import type { PassedMessage, WireFilter } from "./wire-filter.ts";
import { MAX_MESSAGE_BYTES } from "./wire-message.ts";

const NEWLINE = 10;

/** A line is longer than a {@link LineSplitter} allows. */
export class LineTooLongError extends Error {
  override readonly name = "LineTooLongError";
}

/**
 * Splits bytes into lines at line feeds. Buffers at most one unfinished line, however small its pieces are.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  /** The buffer of the unfinished line. */
  #pending = Buffer.alloc(0);
  #length = 0;

  /** @param maxBytes The most bytes of a line. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The bytes of the unfinished line. */
  get length(): number {
    return this.#length;
  }

  /**
   * Reads the next bytes, and returns the lines that they complete, without line feeds.
   *
   * @throws {LineTooLongError} if a line is too long.
   */
  *push(bytes: Buffer): Generator<Buffer> {
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      const last = bytes.subarray(start, end);
      start = end + 1;
      if (this.#length === 0 && last.length <= this.#maxBytes) yield last;
      else {
        this.#buffer(last);
        const line = this.#pending.subarray(0, this.#length);
        this.#pending = Buffer.alloc(0);
        this.#length = 0;
        yield line;
      }
    }
    if (start < bytes.length) this.#buffer(bytes.subarray(start));
  }

  /** A list of small pieces would take many times their bytes. */
  #buffer(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#maxBytes) throw new LineTooLongError();
    if (length > this.#pending.length) {
      const larger = Buffer.allocUnsafe(Math.min(Math.max(2 * length, 1_024), this.#maxBytes));
      this.#pending.copy(larger, 0, 0, this.#length);
      this.#pending = larger;
    }
    piece.copy(this.#pending, this.#length);
    this.#length = length;
  }
}

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

  /** Returns the event without what the filter refused; `undefined` if nothing is left. */
  end(): CheckedEvent | undefined {
    const text = this.#data.join("\n");
    if (this.#onEndpoint !== undefined && this.#others.get("event") === "endpoint") {
      this.#onEndpoint(text);
      return undefined;
    }
    const passed = text === "" ? undefined : this.#filter.pass(text, this.#call);
    const isEmpty = this.#data.length > 0 && text === "";
    if (this.#others.size === 0 && passed === undefined && !isEmpty) return undefined;
    return { fields: this.#others, passed, isEmpty };
  }

  #bounded(retry: string): string {
    const ms = Math.min(Math.max(Number(retry), MIN_RETRY_MS), MAX_RETRY_MS);
    if (ms !== Number(retry)) {
      this.#filter.problem(`it asks for a pause of ${retry.slice(0, 20)} ms, and gets one of ${ms} ms`);
    }
    return String(ms);
  }
}

/** An event of a stream, whose message was checked. */
export interface CheckedEvent {
  /** The fields other than its data. */
  readonly fields: ReadonlyMap<string, string>;
  readonly passed: PassedMessage | undefined;
  /** Whether it has data, which is empty. */
  readonly isEmpty: boolean;
}

/** Writes an event as the SDK may read it. */
function written({ fields, passed, isEmpty }: CheckedEvent): string {
  // In JSON, line breaks are always white space.
  const data = passed === undefined ? (isEmpty ? "" : undefined) : passed.text.replaceAll(/[\r\n]/g, " ");
  const lines = Array.from(fields, ([name, value]) => `${name}: ${value}`);
  if (data !== undefined) lines.push(`data: ${data}`);
  return `${lines.join("\n")}\n\n`;
}

/** Receives the address that a server of HTTP+SSE names. */
export type OnEndpoint = (address: string) => void;

/** What a stream of events is for. */
export interface StreamOptions {
  /** The call whose stream it is. Default: it belongs to no call. */
  readonly call?: OpenCall | undefined;
  readonly onEndpoint?: OnEndpoint | undefined;
}

/** Writes {@link checkedMessages} as a stream of events. */
export async function* checkedEvents(
  body: Readable,
  filter: WireFilter,
  received: ReservedBytes,
  options: StreamOptions = {},
): AsyncGenerator<Buffer> {
  for await (const event of checkedMessages(body, filter, received, options))
    yield Buffer.from(written(event));
}

/**
 * Reads a stream of events (WHATWG HTML, section 9.2), and passes on those whose messages the filter accepts. The length of an
 * event and the time in `retry` are bounded. Only checked fields are passed on, so that other parsers cannot
 * interpret the stream differently. A stream ends with an error if an event is too long, or exceeds the
 * budget.
 *
 * @param received The reservation for the bytes of the unfinished event.
 */
export async function* checkedMessages(
  body: Readable,
  filter: WireFilter,
  received: ReservedBytes,
  options: StreamOptions = {},
): AsyncGenerator<CheckedEvent> {
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
          if (passed !== undefined) yield passed;
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
