import { formatBytes } from "../base/units.ts";
import { MAX_MESSAGE_DEPTH, MAX_STREAM_BYTES } from "./parsing/limits.ts";
import { ProtocolError } from "./parsing/shape.ts";

/**
 * Splits a JSON list into the texts of its items while it arrives: the body of Google's REST API without `alt=sse`. The
 * texts are not checked otherwise. Only the current item is buffered.
 */
class ArrayParser {
  readonly #pieces: string[] = [];
  /** 0 before the list and after it, 1 between its items. */
  #depth = 0;
  #hasEnded = false;
  #inString = false;
  #isEscaped = false;

  /** @returns the texts of the items that this text completes. @throws {ProtocolError} */
  push(text: string): readonly string[] {
    const items: string[] = [];
    let start = this.#depth > 1 || this.#inString ? 0 : -1;
    for (let at = 0; at < text.length; at++) {
      const character = text[at] as string;
      if (this.#inString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (character === "\\") this.#isEscaped = true;
        else if (character === '"') this.#inString = false;
      } else if (this.#depth > 1) {
        if (character === '"') this.#inString = true;
        else if (character === "{" || character === "[") this.#open();
        else if ((character === "}" || character === "]") && --this.#depth === 1) {
          this.#pieces.push(text.slice(start, at + 1));
          items.push(this.#pieces.join(""));
          this.#pieces.length = 0;
          start = -1;
        }
      } else if (this.#readBetween(character)) start = at;
    }
    if (start >= 0) this.#pieces.push(text.slice(start));
    return items;
  }

  /** @throws {ProtocolError} if the list has not ended. */
  end(): void {
    if (!this.#hasEnded) throw new ProtocolError("", "ends inside a list of events");
  }

  /** Reads a character before, between or after the items. Returns whether it starts an item. */
  #readBetween(character: string): boolean {
    if (/\s/.test(character)) return false;
    if (!this.#hasEnded) {
      if (this.#depth === 0 && character === "[") {
        this.#depth = 1;
        return false;
      }
      if (this.#depth === 1 && character === ",") return false;
      if (this.#depth === 1 && character === "]") {
        this.#hasEnded = true;
        this.#depth = 0;
        return false;
      }
      if (this.#depth === 1 && character === "{") {
        this.#open();
        return true;
      }
    }
    throw new ProtocolError("", "is not a list of events");
  }

  #open(): void {
    if (++this.#depth > MAX_MESSAGE_DEPTH) {
      throw new ProtocolError("", `is nested deeper than ${MAX_MESSAGE_DEPTH} levels`);
    }
  }
}

const LINE_END = /\r\n?|\n/g;

/**
 * Splits a stream into the JSON texts of its events: server-sent events (WHATWG HTML, section 9.2), JSON lines or one list,
 * which it detects. Chunks may be split at any byte. Only the current event is buffered.
 */
export class EventParser {
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  /** Set if the stream is one list of events; `undefined` until its first character shows what it is. */
  #list: ArrayParser | false | undefined;
  #bytes = 0;
  #line = "";
  #endedInReturn = false;
  /** The `data` lines of the current server-sent event. */
  #data: string[] = [];

  /**
   * @returns the texts of the events that this chunk completes.
   * @throws {ProtocolError} if the stream is longer than {@link MAX_STREAM_BYTES} or is not UTF-8.
   */
  push(chunk: Uint8Array | string): readonly string[] {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_STREAM_BYTES) {
      throw new ProtocolError("", `is longer than ${formatBytes(MAX_STREAM_BYTES)}`);
    }
    return this.#split(typeof chunk === "string" ? chunk : this.#decode(chunk));
  }

  /** Ends the stream. Returns the last event, if it was not followed by a line end. */
  end(): readonly string[] {
    if (this.#list) {
      const items = this.#split(this.#decode());
      this.#list.end();
      return items;
    }
    // The end of the stream ends its last line, and also the event, like an empty line.
    return [...this.#split(this.#decode()), ...this.#take(""), ...this.#take("")];
  }

  #decode(chunk?: Uint8Array): string {
    try {
      return this.#decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      throw new ProtocolError("", "is not valid UTF-8");
    }
  }

  #split(given: string): readonly string[] {
    if (this.#list === undefined) {
      const [first] = given.trimStart();
      if (first !== undefined) this.#list = first === "[" && new ArrayParser();
    }
    return this.#list ? this.#list.push(given) : this.#splitLines(given);
  }

  #splitLines(given: string): string[] {
    // Skips the line feed of a CRLF that was split between two chunks.
    const text = this.#endedInReturn && given.startsWith("\n") ? given.slice(1) : given;
    if (given !== "") this.#endedInReturn = given.endsWith("\r");
    const events: string[] = [];
    let start = 0;
    for (const { index, 0: lineEnd } of text.matchAll(LINE_END)) {
      events.push(...this.#take(text.slice(start, index)));
      start = index + lineEnd.length;
    }
    this.#line += text.slice(start);
    return events;
  }

  /** Ends a line. Returns the event that the line completes. */
  #take(rest: string): string[] {
    const line = this.#line + rest;
    this.#line = "";
    if (line.trim() === "") return this.#dispatch();
    if (/^\s*[[{]/.test(line)) return [line];
    if (line.startsWith("data:")) this.#data.push(line.slice(line[5] === " " ? 6 : 5));
    // Everything else must be a comment or an unused field.
    else if (!/^[\w-]*:|^(?:data|event|id|retry)$/.test(line))
      throw new ProtocolError("", "is not an event stream");
    return [];
  }

  #dispatch(): string[] {
    const data = this.#data;
    this.#data = [];
    return data.length === 0 ? [] : [data.join("\n")];
  }
}
