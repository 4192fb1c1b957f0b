import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, Server as SdkServer, Transport } from "@modelcontextprotocol/server";
import { CollectedBytes } from "../../base/collected-bytes.ts";
import type { Session } from "../../sessions/session.ts";
import {
  MAX_MESSAGE_BYTES,
  type MessageMember,
  type MessageSdk,
  type Refusal,
  readClientMessage,
  refusalOf,
  refusalText,
} from "./client-message.ts";
import type { ServerParts } from "./exchange.ts";
import { peerServer } from "./peer-server.ts";

/** The longest name and value of a member that is read, in bytes. */
const MAX_BYTES = 8_192;

/** The members that say whether a message is a request, and which. */
const NAMES = ["id", "method", "result", "error"];

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];

const OPENING = [0x7b, 0x5b];

const CLOSING = [0x7d, 0x5d];

/** Reads from a line that is too long to be a message only which request it is: many clients write the id at the end. */
class LongLine {
  readonly #members: MessageMember[] = [];
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  #isObject = false;
  /** The bytes of the member that is read, as far as they may be needed. */
  #name: string | undefined;
  #bytes: number[] = [];

  /** Reads further bytes of the line. */
  push(bytes: Uint8Array): void {
    for (const byte of bytes) this.#take(byte);
  }

  /** The members that were read; `undefined` if the line is not an object. */
  get members(): readonly MessageMember[] | undefined {
    return this.#isObject ? this.#members : undefined;
  }

  #take(byte: number): void {
    if (this.#isText) {
      this.#isText = byte !== QUOTE || this.#isEscaped;
      this.#isEscaped = byte === BACKSLASH && !this.#isEscaped;
      this.#buffer(byte);
      return;
    }
    if (byte === QUOTE) this.#isText = true;
    if (OPENING.includes(byte)) this.#depth++;
    if (CLOSING.includes(byte)) this.#depth--;
    const isFirst = this.#depth === 1 && OPENING.includes(byte);
    if (isFirst) this.#isObject = byte === OPENING[0];
    else if (this.#depth === 0 || (this.#depth === 1 && byte === COMMA)) this.#end();
    else if (this.#depth === 1 && byte === COLON && this.#name === undefined) {
      this.#name = this.#text().slice(1, -1);
      this.#bytes = [];
    } else this.#buffer(byte);
  }

  #buffer(byte: number): void {
    if (this.#bytes.length <= MAX_BYTES) this.#bytes.push(byte);
  }

  #end(): void {
    if (this.#name !== undefined && NAMES.includes(this.#name)) {
      // Half a number would be another one.
      const text = this.#bytes.length > MAX_BYTES ? "" : this.#text();
      this.#members.push({ name: this.#name, text });
    }
    this.#name = undefined;
    this.#bytes = [];
  }

  #text(): string {
    return Buffer.from(this.#bytes).toString().trim();
  }
}

const LINE_FEED = 0x0a;

/**
 * Bytes buffered for a slow client. Beyond this, nothing more is read from it, and it gets no progress of
 * calls.
 */
const MAX_WAITING_BYTES = 4 * 1_024 * 1_024;

/** Notifications that a client can do without. */
const OPTIONAL: readonly unknown[] = ["notifications/progress", "notifications/message"];

/**
 * Messages as lines of JSON. For a line that is not a message, or too long, the client gets an error, and the
 * connection stays open.
 */
export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly closed: Promise<void>;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #onProblem: (problem: string) => void;
  readonly #close: () => void;
  readonly #line = new CollectedBytes();
  /** The known part of a line that is too long. */
  #long: LongLine | undefined;
  readonly #sdk: MessageSdk;
  #isClosed = false;

  constructor(
    sdk: MessageSdk,
    { input, output }: { readonly input: Readable; readonly output: Writable },
    onProblem: (problem: string) => void,
  ) {
    this.#sdk = sdk;
    this.#input = input;
    this.#output = output;
    this.#onProblem = onProblem;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    this.#close = resolve;
  }

  async start(): Promise<void> {
    this.#input.on("data", this.#onData);
    this.#input.on("end", this.#onEnd);
    this.#input.on("error", this.#onEnd);
    this.#output.on("error", this.#onEnd);
    this.#output.on("drain", this.#onDrain);
  }

  readonly #onDrain = (): void => {
    if (!this.#isClosed) this.#input.resume();
  };

  readonly #onEnd = (): void => void this.close();

  readonly #onData = (chunk: Buffer | string): void => this.take(chunk);

  /** Takes bytes of the client. Everything after the end is dropped. */
  take(chunk: Buffer | string): void {
    if (this.#isClosed) return;
    let rest = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    for (let end = rest.indexOf(LINE_FEED); end >= 0 && !this.#isClosed; end = rest.indexOf(LINE_FEED)) {
      this.#add(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
      this.#endLine();
    }
    this.#add(rest);
  }

  #add(piece: Buffer): void {
    if (this.#long === undefined && this.#line.length + piece.length > MAX_MESSAGE_BYTES) {
      this.#long = new LongLine();
      this.#long.push(this.#line.read());
      this.#line.clear();
    }
    if (this.#long !== undefined) this.#long.push(piece);
    else if (piece.length > 0) this.#line.add(piece);
  }

  #endLine(): void {
    const [bytes, long] = [this.#line.read(), this.#long];
    this.#line.clear();
    this.#long = undefined;
    if (long !== undefined) {
      const message = `The message cannot be read: it has more than ${MAX_MESSAGE_BYTES} bytes`;
      this.#refuse(refusalOf(long.members, -32_600, message), message);
      return;
    }
    const line = bytes.toString("utf8").trim();
    if (line !== "") this.#takeLine(line);
  }

  #takeLine(line: string): void {
    const read = readClientMessage(line, this.#sdk);
    if ("message" in read) this.onmessage?.(structuredClone(read.message) as unknown as JSONRPCMessage);
    else this.#refuse(read.refusals, "A response or a notification cannot be read");
  }

  /** @param otherwise What the operator reads if nothing is answered. */
  #refuse(refusals: readonly Refusal[], otherwise: string): void {
    this.#onProblem(refusals[0]?.message ?? otherwise);
    for (const refusal of refusals) this.#write(refusalText(refusal));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isSlow && "method" in message && OPTIONAL.includes(message.method)) return;
    this.#write(JSON.stringify(message));
  }

  #write(text: string): void {
    if (this.#isClosed) return;
    this.#output.write(`${text}\n`);
    if (this.#isSlow) this.#input.pause();
  }

  get #isSlow(): boolean {
    return this.#output.writableLength > MAX_WAITING_BYTES;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#input.off("data", this.#onData);
    this.#output.off("drain", this.#onDrain);
    this.#input.pause();
    this.#line.clear();
    this.onclose?.();
    this.#close();
  }
}

/** The streams of a client. */
export interface StdioStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/** A client over stdio. */
export interface McpStdio {
  /** Resolves when the client has closed its end, or after {@link close}. */
  readonly closed: Promise<void>;
  /** Ends the connection, and the calls of the client. */
  close(): Promise<void>;
  /** The servers of the connection. @internal */
  servers(): readonly SdkServer[];
}

/** Serves one client. Its calls run in one session, which ends with the connection. */
export function serveStdio(
  parts: ServerParts,
  open: () => Promise<Session>,
  { input = process.stdin, output = process.stdout }: Partial<StdioStreams>,
): McpStdio {
  let opened: Promise<Session> | undefined;
  const session = (): Promise<Session> => {
    opened ??= open();
    return opened;
  };
  const servers = new Set<SdkServer>();
  const transport = new LineTransport(parts.sdk, { input, output }, (problem) =>
    parts.options.onProblem?.(problem),
  );
  const serving = import("@modelcontextprotocol/server/stdio").then((sdk) =>
    sdk.serveStdio(
      ({ era }) => {
        const server = peerServer(parts, era === "modern", session);
        servers.add(server);
        return server;
      },
      { transport, onerror: (error) => parts.options.onProblem?.(error.message) },
    ),
  );
  const end = async (): Promise<void> => {
    await opened?.then((each) => each.close()).catch(() => {});
  };
  const closed = serving.then(() => transport.closed).then(end);
  return {
    closed,
    servers: () => [...servers],
    close: async () => {
      await (await serving).close();
      await closed;
    },
  };
}
