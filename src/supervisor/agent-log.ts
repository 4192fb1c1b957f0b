import type { Readable } from "node:stream";
import { beginning } from "../base/text.ts";
import { BoundedLines } from "./wire/bounded-lines.ts";

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
