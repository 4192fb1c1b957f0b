import { requireBytes } from "../../wasi/require-bytes.ts";
import { Pollable } from "./poll.ts";

/** Bytes that a stream takes at once. */
const MAX_WRITE_BYTES = 65_536;

/** Bytes that a stream gives at once. */
const MAX_READ_BYTES = 65_536;

/** Thrown by the host, this is a result of the interface and no failure of the host. */
const CLOSED = Object.freeze({ tag: "closed" });

/** `wasi:io/error`'s resource: why a stream failed. */
export class IoError {
  readonly #why: string;

  /** @param why For the component. A component that makes one itself tells itself whatever it likes. */
  constructor(why = "") {
    this.#why = String(why);
  }

  toDebugString(): string {
    return this.#why;
  }
}

/** `wasi:io/streams`' resource for reading: empty, unless something is read through it. */
export class InputStream {
  #source: (maxBytes: number) => Uint8Array | undefined = () => undefined;
  #onDrop: () => void = () => {};

  /**
   * A stream that reads from `source`, which gives at most so many bytes, or `undefined` at its end. Anything
   * but an error that it throws is the stream's.
   *
   * @param onDrop Frees what the source holds.
   */
  static from(source: (maxBytes: number) => Uint8Array | undefined, onDrop?: () => void): InputStream {
    const stream = new InputStream();
    stream.#source = source;
    if (onDrop !== undefined) stream.#onDrop = onDrop;
    return stream;
  }

  [Symbol.dispose](): void {
    this.#onDrop();
  }

  read(count: bigint): Uint8Array {
    const bytes = this.#source(count > BigInt(MAX_READ_BYTES) ? MAX_READ_BYTES : Number(count));
    if (bytes === undefined) throw CLOSED;
    return bytes;
  }
  blockingRead(count: bigint): Uint8Array {
    return this.read(count);
  }
  skip(count: bigint): bigint {
    return BigInt(this.read(count).length);
  }
  blockingSkip(count: bigint): bigint {
    return this.skip(count);
  }
  subscribe(): Pollable {
    return new Pollable();
  }
}

/** `wasi:io/streams`' resource for writing: it hands all bytes to a function. */
export class OutputStream {
  #sink: (bytes: Uint8Array) => void = () => {};
  #onDrop: () => void = () => {};

  /**
   * A stream that writes to `sink`.
   *
   * @param onDrop Frees what the sink holds.
   */
  static to(sink: (bytes: Uint8Array) => void, onDrop?: () => void): OutputStream {
    const stream = new OutputStream();
    stream.#sink = sink;
    if (onDrop !== undefined) stream.#onDrop = onDrop;
    return stream;
  }

  [Symbol.dispose](): void {
    this.#onDrop();
  }

  checkWrite(): bigint {
    return BigInt(MAX_WRITE_BYTES);
  }
  write(given: Uint8Array): void {
    const bytes = requireBytes(given);
    // The interface's rule: whoever writes more than `check-write` allowed traps.
    if (bytes.length > MAX_WRITE_BYTES) throw new RangeError("a stream was given too much at once");
    this.#sink(bytes);
  }
  blockingWriteAndFlush(bytes: Uint8Array): void {
    this.write(bytes);
  }
  writeZeroes(count: bigint): void {
    this.write(new Uint8Array(count > BigInt(MAX_WRITE_BYTES) ? MAX_WRITE_BYTES + 1 : Number(count)));
  }
  blockingWriteZeroesAndFlush(count: bigint): void {
    this.writeZeroes(count);
  }
  flush(): void {}
  blockingFlush(): void {}
  splice(from: InputStream, count: bigint): bigint {
    if (!(from instanceof InputStream)) throw new TypeError("only an input stream can be spliced");
    const bytes = from.read(count > BigInt(MAX_WRITE_BYTES) ? BigInt(MAX_WRITE_BYTES) : count);
    this.#sink(bytes);
    return BigInt(bytes.length);
  }
  blockingSplice(from: InputStream, count: bigint): bigint {
    return this.splice(from, count);
  }
  subscribe(): Pollable {
    return new Pollable();
  }
}
