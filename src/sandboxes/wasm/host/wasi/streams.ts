import { MisuseError, requireBytes } from "../interface-members.ts";

const NANOSECONDS_PER_MS = 1_000_000;

/** The resource `pollable` of `wasi:io/poll`: a time to wait for, or work to do. Those of streams are always ready. */
export class Pollable {
  /** On the monotonic clock, in nanoseconds. */
  #readyAt = 0n;
  #work: (() => void) | undefined;

  /** Returns a pollable that is ready at a time of the monotonic clock, in nanoseconds. */
  static at(readyAt: bigint): Pollable {
    const pollable = new Pollable();
    pollable.#readyAt = readyAt;
    return pollable;
  }

  /** Returns a pollable that is ready when work is done. The first poll does the work, which blocks the thread. */
  static after(work: () => void): Pollable {
    const pollable = new Pollable();
    pollable.#work = work;
    return pollable;
  }

  ready(): boolean {
    const work = this.#work;
    this.#work = undefined;
    work?.();
    return this.#readyAt <= process.hrtime.bigint();
  }

  /** Blocks the thread. The call's deadline terminates the thread if necessary. */
  block(): void {
    while (!this.ready()) {
      const leftMs = Number(this.#readyAt - process.hrtime.bigint()) / NANOSECONDS_PER_MS;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, leftMs);
    }
  }

  /** Waits until at least one pollable is ready, and returns the indices of all that are ready. */
  static poll(pollables: readonly Pollable[]): Uint32Array {
    const [first, ...others] = pollables;
    if (first === undefined) throw new MisuseError("wasi:io/poll", "it called 'poll' without pollables");
    others.reduce((soonest, other) => (other.#readyAt < soonest.#readyAt ? other : soonest), first).block();
    return Uint32Array.from(pollables.flatMap((pollable, index) => (pollable.ready() ? [index] : [])));
  }
}

/** The maximum number of bytes per write. */
const MAX_WRITE_BYTES = 65_536;

/** The maximum number of bytes per read. */
const MAX_READ_BYTES = 65_536;

/** The `stream-error` of a closed stream. The ABI passes it to the component as the `err` of a result. */
const CLOSED = Object.freeze({ tag: "closed" });

/** The resource `error` of `wasi:io/error`: why a stream failed. */
export class IoError {
  readonly #why: string;

  /** @param why A message for the component. A component can also create errors itself, with any message. */
  constructor(why = "") {
    this.#why = String(why);
  }

  toDebugString(): string {
    return this.#why;
  }
}

/** The resource `input-stream` of `wasi:io/streams`. Empty unless it has a source. */
export class InputStream {
  #source: (maxBytes: number) => Uint8Array | undefined = () => undefined;
  #onDrop: () => void = () => {};

  /**
   * Returns a stream that reads from a source.
   *
   * @param source Returns at most `maxBytes` bytes, or `undefined` at the end. It can throw a `stream-error`, which the
   *   component receives.
   * @param onDrop Closes the source.
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

/** The resource `output-stream` of `wasi:io/streams`. Passes all bytes to a function. */
export class OutputStream {
  #sink: (bytes: Uint8Array) => void = () => {};
  #onDrop: () => void = () => {};

  /**
   * Returns a stream that writes to a sink.
   *
   * @param onDrop Closes the sink.
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
    const bytes = requireBytes(given, "wasi:io/streams");
    // The interface requires a trap if a component writes more than `check-write` permits.
    if (bytes.length > MAX_WRITE_BYTES) {
      throw new MisuseError(
        "wasi:io/streams",
        `it wrote more bytes at once than 'check-write' permits: at most ${MAX_WRITE_BYTES}`,
      );
    }
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
    if (!(from instanceof InputStream))
      throw new MisuseError("wasi:io/streams", "'splice' requires an input stream");
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
