import type { Readable } from "node:stream";
import { CollectedBytes } from "../base/collected-bytes.ts";
import { beginning } from "../base/text.ts";

/** A line of an agent that is not a call. Foreign text: escape it before it is shown. */
export interface AgentLogLine {
  readonly agent: string;
  /** `stdout` also stands for the socket with the calls. `supervisor`: Sandgate's own words about the agent. */
  readonly source: "stdout" | "stderr" | "supervisor";
  /** At most 4,096 characters. */
  readonly text: string;
}

const MAX_LINES = 1_000;
const MAX_LINE_LENGTH = 4_096;
const MAX_LINE_BYTES = 4 * MAX_LINE_LENGTH;

/** Passes on the lines of one agent, 1,000 at most. */
export class AgentLog {
  readonly #agent: string;
  readonly #onLine: (line: AgentLogLine) => void;
  #lines = 0;

  constructor(agent: string, onLine: (line: AgentLogLine) => void) {
    this.#agent = agent;
    this.#onLine = onLine;
  }

  add(source: "stdout" | "stderr", text: string): void {
    if (this.#lines >= MAX_LINES) return;
    this.#onLine({ agent: this.#agent, source, text: beginning(text, MAX_LINE_LENGTH) });
    if (++this.#lines === MAX_LINES) this.note(`wrote ${MAX_LINES} lines: the others are dropped`);
  }

  /** Adds Sandgate's own words, which do not count. */
  note(text: string): void {
    this.#onLine({ agent: this.#agent, source: "supervisor", text });
  }

  /** Reads the lines of an output to its end. Lines after one that is too long are dropped. */
  readFrom(source: "stdout" | "stderr", stream: Readable): void {
    let lines: BoundedLines | undefined = new BoundedLines(MAX_LINE_BYTES);
    stream.on("error", () => {});
    stream.on("data", (chunk: Buffer) => {
      if (lines === undefined || this.#lines >= MAX_LINES) return;
      const pushed = lines.push(chunk);
      for (let next = pushed.next(); ; next = pushed.next()) {
        if (next.done === true) {
          if (next.value) return;
          this.add(source, "(a line that is too long: what follows is dropped)");
          lines = undefined;
          return;
        }
        this.add(source, next.value.toString("utf8"));
      }
    });
    stream.once("end", () => {
      const rest = lines?.rest ?? Buffer.alloc(0);
      if (rest.length > 0) this.add(source, rest.toString("utf8"));
    });
  }
}

const NEWLINE = 0x0a;

/** Splits bytes into lines without their ends. Buffers at most one line of a limited length. */
export class BoundedLines {
  readonly #maxBytes: number;
  readonly #rest = new CollectedBytes();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The bytes of the line that has no end yet. */
  get rest(): Buffer {
    return this.#rest.read();
  }

  /**
   * Yields the lines that end in a chunk.
   *
   * @returns Whether all lines are short enough so far. After a line that is not, nothing more is read.
   */
  *push(chunk: Buffer): Generator<Buffer, boolean, undefined> {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const part = chunk.subarray(start, end);
      start = end + 1;
      if (this.#rest.length + part.length > this.#maxBytes) return false;
      const line = this.#rest.length === 0 ? part : Buffer.concat([this.#rest.read(), part]);
      this.#rest.clear();
      yield line;
    }
    const part = chunk.subarray(start);
    if (this.#rest.length + part.length > this.#maxBytes) {
      this.#rest.clear();
      return false;
    }
    // A copy: the chunk may be used again.
    if (part.length > 0) this.#rest.add(Buffer.from(part));
    return true;
  }
}
