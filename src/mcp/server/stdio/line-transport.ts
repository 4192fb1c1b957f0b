import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import { parseJson } from "../../../json/parse.ts";
import { isJsonObject } from "../../../json/value.ts";
import { MESSAGE_BOUNDS } from "../http/read-body.ts";

const LINE_FEED = 0x0a;
/** The most bytes of one line. */
const MAX_LINE_BYTES = 4 * 1_024 * 1_024;

/**
 * Messages as lines of JSON. A line that is no message costs only itself: the client gets an error, and the connection goes on. One
 * that is too long ends the connection, as it cannot be known where the next message begins.
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
  #line: Buffer[] = [];
  #lineBytes = 0;
  #isClosed = false;

  constructor(input: Readable, output: Writable, onProblem: (problem: string) => void) {
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
  }

  readonly #onEnd = (): void => void this.close();

  readonly #onData = (chunk: Buffer | string): void => this.take(chunk);

  /** Takes bytes of the client. What comes after the end is dropped. */
  take(chunk: Buffer | string): void {
    if (this.#isClosed) return;
    let rest = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    for (let end = rest.indexOf(LINE_FEED); end >= 0 && !this.#isClosed; end = rest.indexOf(LINE_FEED)) {
      this.#line.push(rest.subarray(0, end));
      const line = Buffer.concat(this.#line).toString("utf8").trim();
      this.#line = [];
      this.#lineBytes = 0;
      rest = rest.subarray(end + 1);
      if (line !== "") this.#takeLine(line);
    }
    this.#line.push(rest);
    this.#lineBytes += rest.length;
    if (this.#lineBytes > MAX_LINE_BYTES) {
      this.#onProblem(`a line of the client is longer than ${MAX_LINE_BYTES} bytes`);
      void this.close();
    }
  }

  #takeLine(line: string): void {
    const parsed = line.length > MAX_LINE_BYTES ? undefined : parseJson(line, MESSAGE_BOUNDS);
    if (parsed === undefined || !("value" in parsed)) {
      this.#refuse(-32_700, `The line is not valid JSON: ${parsed?.reason ?? "it is too long"}`);
    } else if (!isJsonObject(parsed.value) || parsed.value["jsonrpc"] !== "2.0") {
      this.#refuse(-32_600, "The line is not one message of JSON-RPC 2.0");
    } else {
      this.onmessage?.(structuredClone(parsed.value) as unknown as JSONRPCMessage);
    }
  }

  #refuse(code: number, message: string): void {
    this.#onProblem(message);
    this.#write(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message } }));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#write(JSON.stringify(message));
  }

  #write(text: string): void {
    if (!this.#isClosed) this.#output.write(`${text}\n`);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#input.off("data", this.#onData);
    this.#input.pause();
    this.#line = [];
    this.onclose?.();
    this.#close();
  }
}
