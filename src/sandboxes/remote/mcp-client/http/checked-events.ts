import type { Readable } from "node:stream";
import { LineSplitter } from "../line-splitter.ts";
import type { OpenCall } from "../questions/open-calls.ts";
import type { WireFilter } from "../wire-filter.ts";
import { MAX_MESSAGE_BYTES } from "../wire-message.ts";
import type { HeldBytes } from "./message-room.ts";

/** The longest pause that a server may ask for before a stream is opened again, in ms. */
const MAX_RETRY_MS = 30_000;

/** The shortest one: a server must not make its client ask in a loop. */
const MIN_RETRY_MS = 500;

/** The longest id and name of an event. */
const MAX_FIELD = 8_192;

const FIELD = /^(data|event|id|retry)(?:: ?(.*))?$/s;

/**
 * Passes on a stream of events (WHATWG HTML, section 9.2) whose messages the filter accepts. The length of an event and the
 * time in `retry` are bounded. Nothing else than checked fields is passed on, so that no other parser can read more into it. A
 * stream whose event is too long, or has no room, ends with an error.
 *
 * @param received Holds the bytes of the unfinished event.
 * @param call The call whose stream it is; `undefined` if it is none.
 */
export async function* checkedEvents(
  body: Readable,
  filter: WireFilter,
  received: HeldBytes,
  call?: OpenCall,
): AsyncGenerator<Buffer> {
  using held = received;
  const lines = new LineSplitter(MAX_MESSAGE_BYTES);
  let event = new PendingEvent(filter, call);
  for await (const chunk of body) {
    for (const bytes of lines.push(chunk as Buffer)) {
      for (const line of splitReturns(bytes.toString())) {
        if (line !== "") event.add(line);
        else {
          const passed = event.end();
          event = new PendingEvent(filter, call);
          if (passed !== "") yield Buffer.from(passed);
        }
      }
    }
    held.set(lines.length + event.length);
  }
}

/** A carriage return ends a line, too, unless a line feed follows. */
function splitReturns(line: string): readonly string[] {
  return line.includes("\r") ? line.replace(/\r$/, "").split("\r") : [line];
}

/** The fields of one event. */
class PendingEvent {
  readonly #filter: WireFilter;
  readonly #data: string[] = [];
  /** The last of each name counts. */
  readonly #others = new Map<string, string>();
  readonly #call: OpenCall | undefined;
  #length = 0;

  constructor(filter: WireFilter, call: OpenCall | undefined) {
    this.#filter = filter;
    this.#call = call;
  }

  get length(): number {
    return this.#length;
  }

  /** Takes a line. Comments and unknown fields are left out. */
  add(line: string): void {
    if (line.startsWith(":")) return;
    const [, name, value = ""] = FIELD.exec(line) ?? [];
    if (name === "data") {
      this.#length += value.length + 1;
      if (this.#length > MAX_MESSAGE_BYTES)
        throw new Error(`an event has more than ${MAX_MESSAGE_BYTES} characters`);
      this.#data.push(value);
    } else if (name === "retry") {
      if (/^\d+$/.test(value)) this.#others.set(name, this.#bounded(value));
    } else if (name !== undefined && value.length <= MAX_FIELD) this.#others.set(name, value);
  }

  /** Returns the event as the SDK may read it. */
  end(): string {
    const text = this.#data.join("\n");
    const passed = text === "" ? text : this.#filter.pass(text, this.#call);
    // JSON has no line breaks besides white space.
    const data =
      this.#data.length === 0 || passed === undefined ? [] : [`data: ${passed.replaceAll(/[\r\n]/g, " ")}`];
    const lines = [...Array.from(this.#others, ([name, value]) => `${name}: ${value}`), ...data];
    return lines.length === 0 ? "" : `${lines.join("\n")}\n\n`;
  }

  #bounded(retry: string): string {
    const ms = Math.min(Math.max(Number(retry), MIN_RETRY_MS), MAX_RETRY_MS);
    if (ms !== Number(retry)) {
      this.#filter.problem(`it asks for a pause of ${retry.slice(0, 20)} ms, and gets one of ${ms} ms`);
    }
    return String(ms);
  }
}
