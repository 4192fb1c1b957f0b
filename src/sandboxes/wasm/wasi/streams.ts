import { Pollable } from "./poll.ts";

/** Bytes that a stream takes at once. */
const MAX_WRITE_BYTES = 65_536;

/** Thrown by the host, this is a result of the interface and no failure of the host. */
const CLOSED = Object.freeze({ tag: "closed" });

/** `wasi:io/error`'s resource. No stream here ever fails with one. */
export class IoError {
  toDebugString(): string {
    return "";
  }
}

/** `wasi:io/streams`' resource for reading: it has ended before it began. */
export class InputStream {
  read(): never {
    throw CLOSED;
  }
  blockingRead(): never {
    throw CLOSED;
  }
  skip(): never {
    throw CLOSED;
  }
  blockingSkip(): never {
    throw CLOSED;
  }
  subscribe(): Pollable {
    return new Pollable();
  }
}

/** `wasi:io/streams`' resource for writing: it hands all bytes to a function. */
export class OutputStream {
  #sink: (bytes: Uint8Array) => void = () => {};

  /** A stream that writes to `sink`. */
  static to(sink: (bytes: Uint8Array) => void): OutputStream {
    const stream = new OutputStream();
    stream.#sink = sink;
    return stream;
  }

  checkWrite(): bigint {
    return BigInt(MAX_WRITE_BYTES);
  }
  write(bytes: Uint8Array): void {
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
  splice(): never {
    throw CLOSED;
  }
  blockingSplice(): never {
    throw CLOSED;
  }
  subscribe(): Pollable {
    return new Pollable();
  }
}
