import { isIP, type Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { withoutBrackets } from "../checked-lookup.ts";
import { EgressError } from "../egress-error.ts";
import type { TrafficMeter } from "./traffic-meter.ts";

/**
 * Passes on the bytes between a client and a server, until both have ended or one has failed. Nothing is sent before the
 * client starts TLS with the host of the origin.
 *
 * @throws {Error} an {@link EgressError} if the client does not start TLS so, or the budget is used up; otherwise a socket's error.
 */
export async function tunnel(
  client: Socket,
  server: Socket,
  origin: URL,
  meter: TrafficMeter,
): Promise<void> {
  // Both ways listen to both sockets.
  for (const socket of [client, server]) socket.setMaxListeners(32);
  try {
    await checkBeginning(client, origin);
    await Promise.all([
      pipeline(client, meter.sending(), server),
      pipeline(server, meter.receiving(), client),
    ]);
  } finally {
    client.destroy();
    server.destroy();
  }
}

async function checkBeginning(client: Socket, { hostname, origin }: URL): Promise<void> {
  const hello = await readHello(client, origin);
  const host = withoutBrackets(hostname);
  const other = hello.find((name) => isIP(host) === 0 && nameOf(name) !== nameOf(host));
  if (other === undefined) return;
  throw new EgressError(
    "origin_denied",
    `a tunnel to '${origin}' was used for ${JSON.stringify(other.slice(0, 255))}`,
  );
}

/** Returns the names in the ClientHello, which stays in the stream. */
async function readHello(client: Socket, origin: string): Promise<readonly string[]> {
  const reader = new ClientHelloReader();
  const chunks: Buffer[] = [];
  for (;;) {
    const chunk: Buffer | null = client.read();
    if (chunk !== null) {
      chunks.push(chunk);
      const hello = reader.add(chunk);
      if (hello === "not TLS")
        throw new EgressError("request_invalid", `a tunnel to '${origin}' was used without TLS`);
      if (hello !== "incomplete") {
        client.unshift(Buffer.concat(chunks));
        return hello.serverNames;
      }
    } else if (!(await moreOf(client))) {
      throw new EgressError("aborted", "the client closed the tunnel");
    }
  }
}

/** Waits until a stream has more bytes. Returns `false` if it has ended. */
function moreOf(client: Socket): Promise<boolean> {
  if (client.destroyed || client.readableEnded) return Promise.resolve(false);
  return new Promise((resolve) => {
    const settle = (isMore: boolean): void => {
      client.off("readable", onReadable).off("end", onEnd).off("close", onEnd);
      resolve(isMore);
    };
    const onReadable = (): void => settle(true);
    const onEnd = (): void => settle(false);
    client.on("readable", onReadable).on("end", onEnd).on("close", onEnd);
  });
}

/** Names are compared without case and without the dot of the root. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}

/** What the first bytes of a connection are. `serverNames` are the host names in a complete ClientHello. */
export type FirstBytes = "not TLS" | "incomplete" | { readonly serverNames: readonly string[] };

/** Maximum number of bytes of a ClientHello. */
const MAX_BYTES = 65_536;

const HANDSHAKE_RECORD = 22;

const CLIENT_HELLO = 1;

const SERVER_NAME = 0;

const HOST_NAME = 0;

/**
 * Reads the ClientHello with which a TLS connection begins (RFC 8446, sections 4.1.2 and 5.1; RFC 6066, section 3). The time
 * is linear in its bytes, in however many records and pieces they come.
 */
export class ClientHelloReader {
  #bytes = 0;
  /** The header of the current record. */
  readonly #header = Buffer.alloc(5);
  #headerBytes = 0;
  /** Bytes of the record that have not arrived yet. */
  #recordLeft = 0;
  #message = Buffer.alloc(1_024);
  #messageBytes = 0;

  /** Reads further bytes. Must not be called again after another result than `incomplete`. */
  add(bytes: Buffer): FirstBytes {
    for (let at = 0; at < bytes.length; ) {
      if (this.#bytes >= MAX_BYTES) return "not TLS";
      const isHeader = this.#recordLeft === 0;
      const part = bytes.subarray(at, at + (isHeader ? 1 : this.#recordLeft));
      at += part.length;
      this.#bytes += part.length;
      if (isHeader) {
        if (!this.#addToHeader(part)) return "not TLS";
        continue;
      }
      this.#recordLeft -= part.length;
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
    this.#recordLeft = this.#header.readUInt16BE(3);
    return this.#recordLeft > 0;
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
      const name = list.list(2).left.toString("latin1");
      if (kind === HOST_NAME) names.push(name);
    }
  }
  return names;
}

/** Reads numbers, and lists after their lengths. */
class Reader {
  left: Buffer;

  constructor(bytes: Buffer) {
    this.left = bytes;
  }

  get isAtEnd(): boolean {
    return this.left.length === 0;
  }

  take(length: number): Buffer {
    if (length > this.left.length) throw new RangeError("the message ends too early");
    const taken = this.left.subarray(0, length);
    this.left = this.left.subarray(length);
    return taken;
  }

  number(bytes: number): number {
    return this.take(bytes).readUIntBE(0, bytes);
  }

  list(lengthBytes: number): Reader {
    return new Reader(this.take(this.number(lengthBytes)));
  }
}
