/** Bytes after which a message is not taken for a ClientHello any more. */
const MAX_BYTES = 65_536;

const HANDSHAKE_RECORD = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;

/** What the first bytes of a connection are: not TLS, not enough to tell, or a ClientHello with these host names. */
export type FirstBytes = "not TLS" | "incomplete" | { readonly serverNames: readonly string[] };

/**
 * Reads the ClientHello with which a TLS connection begins (RFC 8446, sections 4.1.2 and 5.1; RFC 6066, section 3). The time
 * is linear in its bytes, in however many records and pieces they come.
 */
export class ClientHelloReader {
  #bytes = 0;
  /** The header of the record that is read. */
  readonly #header = Buffer.alloc(5);
  #headerBytes = 0;
  /** Bytes of the record that are still to come. */
  #recordRest = 0;
  #message = Buffer.alloc(1_024);
  #messageBytes = 0;

  /** Takes further bytes. Not called again after another result than `incomplete`. */
  add(bytes: Buffer): FirstBytes {
    for (let at = 0; at < bytes.length; ) {
      if (this.#bytes >= MAX_BYTES) return "not TLS";
      const isHeader = this.#recordRest === 0;
      const part = bytes.subarray(at, at + (isHeader ? 1 : this.#recordRest));
      at += part.length;
      this.#bytes += part.length;
      if (isHeader) {
        if (!this.#addToHeader(part)) return "not TLS";
        continue;
      }
      this.#recordRest -= part.length;
      const hello = this.#addToMessage(part);
      if (hello !== "incomplete") return hello;
    }
    return "incomplete";
  }

  /** Returns whether it can be the header of a record of a handshake. */
  #addToHeader(byte: Buffer): boolean {
    byte.copy(this.#header, this.#headerBytes++);
    if (this.#header[0] !== HANDSHAKE_RECORD || (this.#headerBytes > 1 && this.#header[1] !== 3))
      return false;
    if (this.#headerBytes < this.#header.length) return true;
    this.#headerBytes = 0;
    this.#recordRest = this.#header.readUInt16BE(3);
    return this.#recordRest > 0;
  }

  #addToMessage(part: Buffer): FirstBytes {
    const length = this.#messageBytes + part.length;
    if (length > this.#message.length) {
      const larger = Buffer.alloc(2 * length);
      this.#message.copy(larger, 0, 0, this.#messageBytes);
      this.#message = larger;
    }
    part.copy(this.#message, this.#messageBytes);
    this.#messageBytes = length;
    if (this.#message[0] !== CLIENT_HELLO) return "not TLS";
    if (length < 4) return "incomplete";
    const end = 4 + this.#message.readUIntBE(1, 3);
    if (end > MAX_BYTES) return "not TLS";
    if (length < end) return "incomplete";
    try {
      return { serverNames: serverNamesOf(new Reader(this.#message.subarray(4, end))) };
    } catch {
      return "not TLS";
    }
  }
}

/** @throws {RangeError} if a length leads out of the message. */
function serverNamesOf(hello: Reader): readonly string[] {
  hello.take(2 + 32);
  hello.list(1);
  hello.list(2);
  hello.list(1);
  if (hello.isAtEnd) return [];
  const names: string[] = [];
  for (const extensions = hello.list(2); !extensions.isAtEnd; ) {
    const type = extensions.number(2);
    const content = extensions.list(2);
    if (type !== SERVER_NAME) continue;
    for (const list = content.list(2); !list.isAtEnd; ) {
      const kind = list.number(1);
      const name = list.list(2).rest.toString("latin1");
      if (kind === HOST_NAME) names.push(name);
    }
  }
  return names;
}

/** Reads numbers, and lists after their lengths. */
class Reader {
  rest: Buffer;

  constructor(bytes: Buffer) {
    this.rest = bytes;
  }

  get isAtEnd(): boolean {
    return this.rest.length === 0;
  }

  take(length: number): Buffer {
    if (length > this.rest.length) throw new RangeError("the message ends too early");
    const taken = this.rest.subarray(0, length);
    this.rest = this.rest.subarray(length);
    return taken;
  }

  number(bytes: number): number {
    return this.take(bytes).readUIntBE(0, bytes);
  }

  list(lengthBytes: number): Reader {
    return new Reader(this.take(this.number(lengthBytes)));
  }
}
