import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { TaskObserver } from "../../contract/task.ts";
import { leftOutNote } from "./ends.ts";
import { Tail } from "./tail.ts";
import { wholeStart } from "./utf8.ts";

/**
 * Passes on what a program writes, as it comes, up to half of a number of bytes. Of what follows, the end is passed on when
 * the program has ended, up to the other half.
 */
export class LiveOutput {
  readonly #observer: TaskObserver;
  readonly #tail: Tail;
  #room: number;

  /** @param most The most bytes, besides a note that counts those left out. */
  constructor(observer: TaskObserver, most: number) {
    this.#observer = observer;
    this.#room = Math.floor(most / 2);
    this.#tail = new Tail(this.#room);
  }

  follow(stream: Readable): void {
    const decoder = new StringDecoder("utf8");
    stream.on("data", (chunk: Buffer) => this.#add(decoder.write(chunk)));
    stream.on("end", () => this.#add(decoder.end()));
  }

  #add(text: string): void {
    if (text === "") return;
    const bytes = Buffer.byteLength(text);
    if (bytes > this.#room) {
      this.#room = 0;
      this.#tail.add(Buffer.from(text));
    } else {
      this.#room -= bytes;
      this.#observer.output(text);
    }
  }

  /** Called when the program has ended. */
  end(): void {
    if (this.#tail.bytes === 0) return;
    const last = wholeStart(this.#tail.read());
    const leftOut = this.#tail.bytes - last.length;
    this.#observer.output(`${leftOut > 0 ? leftOutNote(leftOut) : ""}${last.toString("utf8")}`);
  }
}
