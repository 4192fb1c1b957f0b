/**
 * The events in the stream of a call: any number of `output` and `log`, `waiting` (an empty object) if the
 * call waits for its turn, and a final `execution` or `problem`.
 */
export type StreamEventName = "output" | "log" | "waiting" | "execution" | "problem";

/** An event of a stream. `data` is JSON text with the shape of the event's name. */
export interface StreamEvent {
  readonly event: string;
  readonly data: string;
}

/** Writes an event (WHATWG HTML, section 9.2). `data` must be JSON text without line breaks. */
export function writeStreamEvent(event: StreamEventName, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

/** An event exceeds the maximum length of a {@link StreamReader}. */
export class EventTooLongError extends Error {
  override readonly name = "EventTooLongError";
}

/** Reads a stream of events incrementally. It buffers at most one event. */
export class StreamReader {
  readonly #maxLength: number;
  /** The pieces of the line that has no end yet, and their length. */
  #pending: string[] = [];
  #pendingLength = 0;
  #event = "";
  #data: string[] = [];
  #length = 0;
  #endsInReturn = false;

  /** @param maxLength Maximum length of an event in UTF-16 code units. */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** The length of the event that is not complete yet. */
  get pendingLength(): number {
    return this.#length + this.#pendingLength;
  }

  /**
   * Reads the next piece of the stream's text, and returns the events that it completes.
   *
   * @throws {EventTooLongError} if an event is too long.
   */
  push(text: string): readonly StreamEvent[] {
    const events: StreamEvent[] = [];
    // A carriage return at the end of one piece and a line feed at the start of the next are one line break.
    const piece = this.#endsInReturn && text.startsWith("\n") ? text.slice(1) : text;
    if (text !== "") this.#endsInReturn = text.endsWith("\r");
    let start = 0;
    for (const { 0: lineEnd, index } of piece.matchAll(/\r\n|\n|\r/g)) {
      const event = this.#takeLine(this.#pending.join("") + piece.slice(start, index));
      if (event !== undefined) events.push(event);
      this.#pending = [];
      this.#pendingLength = 0;
      start = index + lineEnd.length;
    }
    this.#buffer(piece.slice(start));
    if (this.pendingLength > this.#maxLength) throw new EventTooLongError();
    return events;
  }

  /** Many small pieces would take many times their length, also as one text that is made of them. */
  #buffer(piece: string): void {
    if (piece === "") return;
    this.#pending.push(piece);
    this.#pendingLength += piece.length;
    if (this.#pending.length > 1_024 + this.#pendingLength / 64) this.#pending = [this.#pending.join("")];
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
