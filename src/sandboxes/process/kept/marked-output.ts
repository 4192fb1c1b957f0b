import { PassThrough, type Readable } from "node:stream";
import { CODE_DIGITS, MARK } from "./shell-script.ts";

/** What is written to one of a shell's outputs until the end of a command. */
export interface CommandOutput {
  /** Without the marker. */
  readonly stream: Readable;
  /** Resolves to the exit code after the marker; to `undefined` if the output ended before it. */
  readonly ended: Promise<number | undefined>;
}

/**
 * One of the outputs of a kept shell. It is read only while a command runs: what processes write in between waits, and they
 * wait when the pipe is full.
 */
export class MarkedOutput {
  readonly #source: Readable;
  #hasEnded = false;

  constructor(source: Readable) {
    this.#source = source;
    source.once("close", () => {
      this.#hasEnded = true;
    });
    source.pause();
  }

  /** Reads until a marker. */
  readUntil(marker: string): CommandOutput {
    const stream = new PassThrough();
    const { promise: ended, resolve } = Promise.withResolvers<number | undefined>();
    const mark = Buffer.from(`${String.fromCharCode(MARK)}${marker}`, "latin1");
    let held: Buffer = Buffer.alloc(0);
    const readOn = (): void => void this.#source.resume();
    const stop = (code: number | undefined, last: Buffer): void => {
      stream.off("drain", readOn);
      this.#source.off("data", read).off("end", end).off("close", end);
      this.#source.pause();
      stream.end(last);
      // What was written has been passed on then.
      stream.once("end", () => resolve(code));
    };
    const read = (chunk: Buffer): void => {
      const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const at = bytes.indexOf(mark);
      const after = at + mark.length + CODE_DIGITS;
      if (at !== -1 && bytes.length >= after) {
        stop(Number(bytes.toString("latin1", at + mark.length, after)), bytes.subarray(0, at));
        if (bytes.length > after) this.#source.unshift(bytes.subarray(after));
        return;
      }
      const whole = at === -1 ? bytes.length - beginningOf(mark, bytes) : at;
      if (whole > 0 && !stream.write(bytes.subarray(0, whole))) {
        this.#source.pause();
        stream.once("drain", readOn);
      }
      held = bytes.subarray(whole);
    };
    const end = (): void => stop(undefined, held);
    if (this.#hasEnded) end();
    else this.#source.on("data", read).once("end", end).once("close", end).resume();
    return { stream, ended };
  }

  /** Drops everything, so that the end of the output is seen. */
  drop(): void {
    if (!this.#hasEnded) this.#source.resume();
  }
}

/** How many bytes at the end of some others can be the first ones of a marker. */
function beginningOf(mark: Buffer, bytes: Buffer): number {
  // Its first byte is in no other place of it.
  const at = bytes.lastIndexOf(MARK);
  const length = at === -1 ? 0 : bytes.length - at;
  return length < mark.length && bytes.subarray(bytes.length - length).equals(mark.subarray(0, length))
    ? length
    : 0;
}
