/** Bytes after which a message is not taken for a ClientHello any more. */
const MAX_BYTES = 65_536;

const HANDSHAKE_RECORD = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;

/** What the first bytes of a connection are: not TLS, not enough to tell, or a ClientHello with these host names. */
export type FirstBytes = "not TLS" | "incomplete" | { readonly serverNames: readonly string[] };

/** Reads the ClientHello with which a TLS connection begins (RFC 8446, sections 4.1.2 and 5.1; RFC 6066, section 3). */
export function readClientHello(bytes: Buffer): FirstBytes {
  const fragments: Buffer[] = [];
  for (let at = 0; ; ) {
    const message = Buffer.concat(fragments);
    if (message.length > 0 && message[0] !== CLIENT_HELLO) return "not TLS";
    if (message.length >= 4 && message.length >= 4 + message.readUIntBE(1, 3)) {
      try {
        return { serverNames: serverNamesOf(new Reader(message.subarray(4, 4 + message.readUIntBE(1, 3)))) };
      } catch {
        return "not TLS";
      }
    }
    const header = bytes.subarray(at, at + 5);
    if ((header.length > 0 && header[0] !== HANDSHAKE_RECORD) || (header.length > 1 && header[1] !== 3))
      return "not TLS";
    if (bytes.length > MAX_BYTES) return "not TLS";
    if (header.length < 5) return "incomplete";
    const length = header.readUInt16BE(3);
    if (length === 0) return "not TLS";
    if (bytes.length < at + 5 + length) return "incomplete";
    fragments.push(bytes.subarray(at + 5, at + 5 + length));
    at += 5 + length;
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
