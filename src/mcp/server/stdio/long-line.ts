import type { MessageMember } from "../client-message.ts";

/** The longest name and value of a member that is read, in bytes. */
const MAX_BYTES = 8_192;
/** The members that say whether a message is a request, and which. */
const NAMES = ["id", "method", "result", "error"];

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const OPENING = [0x7b, 0x5b];
const CLOSING = [0x7d, 0x5d];

/** Reads from a line that is too long to be a message only which request it is: many clients write the id at the end. */
export class LongLine {
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

  /** The members that were read; `undefined` if the line is no object. */
  get members(): readonly MessageMember[] | undefined {
    return this.#isObject ? this.#members : undefined;
  }

  #take(byte: number): void {
    if (this.#isText) {
      this.#isText = byte !== QUOTE || this.#isEscaped;
      this.#isEscaped = byte === BACKSLASH && !this.#isEscaped;
      this.#keep(byte);
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
    } else this.#keep(byte);
  }

  #keep(byte: number): void {
    if (this.#bytes.length <= MAX_BYTES) this.#bytes.push(byte);
  }

  #end(): void {
    // What is cut no longer is a value of JSON, or is an object, which no id is.
    if (this.#name !== undefined && NAMES.includes(this.#name))
      this.#members.push({ name: this.#name, text: this.#text() });
    this.#name = undefined;
    this.#bytes = [];
  }

  #text(): string {
    return Buffer.from(this.#bytes).toString().trim();
  }
}
