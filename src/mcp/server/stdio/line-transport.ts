import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import {
  MAX_MESSAGE_BYTES,
  type Refusal,
  readClientMessage,
  refusalOf,
  refusalText,
} from "../client-message.ts";
import type { Sdk } from "../load-sdk.ts";
import { LongLine } from "./long-line.ts";

const LINE_FEED = 0x0a;

/**
 * Messages as lines of JSON. A line that is no message, or too long, costs only itself: the client gets an error, and the
 * connection goes on.
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
  /** What is known of a line that is too long. */
  #long: LongLine | undefined;
  readonly #sdk: Pick<Sdk, "isSpecType">;
  #isClosed = false;

  constructor(
    sdk: Pick<Sdk, "isSpecType">,
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
  }

  readonly #onEnd = (): void => void this.close();

  readonly #onData = (chunk: Buffer | string): void => this.take(chunk);

  /** Takes bytes of the client. What comes after the end is dropped. */
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
    this.#lineBytes += piece.length;
    if (this.#long === undefined && this.#lineBytes > MAX_MESSAGE_BYTES) {
      this.#long = new LongLine();
      for (const earlier of this.#line) this.#long.push(earlier);
      this.#line = [];
    }
    if (this.#long !== undefined) this.#long.push(piece);
    else if (piece.length > 0) this.#line.push(piece);
  }

  #endLine(): void {
    const [bytes, long] = [this.#line, this.#long];
    this.#line = [];
    this.#lineBytes = 0;
    this.#long = undefined;
    if (long !== undefined) {
      const message = `The message cannot be read: it has more than ${MAX_MESSAGE_BYTES} bytes`;
      this.#refuse(refusalOf(long.members, -32_600, message), message);
      return;
    }
    const line = Buffer.concat(bytes).toString("utf8").trim();
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
