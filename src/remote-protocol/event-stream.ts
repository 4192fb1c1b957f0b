/** What a stream of one call tells: any number of `output` and `log`, and at last `execution` or `problem`. */
export type StreamEventName = "output" | "log" | "execution" | "problem";

/** One event of a stream; `data` is JSON text, of the shape that the name says. */
export interface StreamEvent {
  readonly event: string;
  readonly data: string;
}

/** Writes one event (WHATWG HTML, section 9.2). JSON text has no line ends outside its strings, and none within. */
export function writeStreamEvent(event: StreamEventName, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

/** An event is longer than its budget. */
export class EventTooLongError extends Error {
  override readonly name = "EventTooLongError";
}

/** Reads a stream of events as its text comes, and never holds more than one event of it. */
export class StreamReader {
  readonly #maxLength: number;
  #pending = "";
  #event = "";
  #data: string[] = [];
  #length = 0;
  #endsInReturn = false;

  /** @param maxLength The longest event, in UTF-16 code units. */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /**
   * Takes a piece of the stream's text, decoded as UTF-8; returns the events that it completes.
   *
   * @throws {EventTooLongError}
   */
  push(text: string): readonly StreamEvent[] {
    const events: StreamEvent[] = [];
    // A return at the end of one piece and a line feed at the start of the next are one line end.
    const piece = this.#endsInReturn && text.startsWith("\n") ? text.slice(1) : text;
    if (text !== "") this.#endsInReturn = text.endsWith("\r");
    let start = 0;
    for (const { 0: lineEnd, index } of piece.matchAll(/\r\n|\n|\r/g)) {
      const event = this.#takeLine(this.#pending + piece.slice(start, index));
      if (event !== undefined) events.push(event);
      this.#pending = "";
      start = index + lineEnd.length;
    }
    this.#pending += piece.slice(start);
    if (this.#length + this.#pending.length > this.#maxLength) throw new EventTooLongError();
    return events;
  }

  #takeLine(line: string): StreamEvent | undefined {
    if (line === "") return this.#complete();
    this.#length += line.length;
    if (this.#length > this.#maxLength) throw new EventTooLongError();
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "event") this.#event = value;
    else if (field === "data") this.#data.push(value);
    return undefined;
  }

  #complete(): StreamEvent | undefined {
    const [event, data] = [this.#event, this.#data];
    this.#event = "";
    this.#data = [];
    this.#length = 0;
    return data.length === 0 ? undefined : { event: event || "message", data: data.join("\n") };
  }
}
