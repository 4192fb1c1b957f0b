import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { WireFilter } from "./wire-filter.ts";
import { MAX_MESSAGE_BYTES } from "./wire-message.ts";

/** The longest pause that a server may ask for before a stream is opened again, in ms. */
const MAX_RETRY_MS = 30_000;

/** The shortest one: a server must not make its client ask in a loop. */
const MIN_RETRY_MS = 500;

/**
 * Passes on a stream of events (WHATWG HTML, section 9.2) whose messages the filter accepts. The length of an event and the
 * time in `retry` are bounded. A stream whose event is too long ends with an error.
 */
export async function* checkedEvents(body: Readable, filter: WireFilter): AsyncGenerator<Buffer> {
  const decoder = new StringDecoder("utf8");
  let pending = "";
  let event = new PendingEvent(filter);
  for await (const chunk of body) {
    const lines = (pending + decoder.write(chunk as Buffer)).split("\n");
    pending = lines.pop() ?? "";
    if (pending.length > MAX_MESSAGE_BYTES) throw tooLong();
    for (const line of lines) {
      const text = line.endsWith("\r") ? line.slice(0, -1) : line;
      if (text !== "") event.add(text);
      else {
        const passed = event.end();
        event = new PendingEvent(filter);
        if (passed !== "") yield Buffer.from(passed);
      }
    }
  }
}

function tooLong(): Error {
  return new Error(`an event has more than ${MAX_MESSAGE_BYTES} characters`);
}

/** The lines of one event. */
class PendingEvent {
  readonly #filter: WireFilter;
  readonly #data: string[] = [];
  readonly #others: string[] = [];
  #length = 0;

  constructor(filter: WireFilter) {
    this.#filter = filter;
  }

  add(line: string): void {
    this.#length += line.length;
    if (this.#length > MAX_MESSAGE_BYTES) throw tooLong();
    const data = /^data(?:: ?(.*))?$/s.exec(line);
    if (data !== null) this.#data.push(data[1] ?? "");
    else this.#others.push(this.#withBoundedRetry(line));
  }

  /** Returns the event as the SDK may read it. */
  end(): string {
    const text = this.#data.join("\n");
    const passed = text === "" ? text : this.#filter.pass(text);
    // JSON has no line breaks besides white space.
    const data =
      this.#data.length === 0 || passed === undefined ? [] : [`data: ${passed.replaceAll(/[\r\n]/g, " ")}`];
    const lines = [...this.#others, ...data];
    return lines.length === 0 ? "" : `${lines.join("\n")}\n\n`;
  }

  #withBoundedRetry(line: string): string {
    const given = /^retry: ?(\d+)$/.exec(line)?.[1];
    if (given === undefined) return line;
    const ms = Math.min(Math.max(Number(given), MIN_RETRY_MS), MAX_RETRY_MS);
    if (ms !== Number(given)) {
      this.#filter.problem(`it asks for a pause of ${given.slice(0, 20)} ms, and gets one of ${ms} ms`);
    }
    return `retry: ${ms}`;
  }
}
