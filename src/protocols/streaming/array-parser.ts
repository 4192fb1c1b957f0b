import { MAX_MESSAGE_DEPTH } from "../parsing/limits.ts";
import { ProtocolError } from "../parsing/protocol-error.ts";

/**
 * Splits a JSON list into the texts of its items while it arrives: the body of Google's REST API without `alt=sse`. The
 * texts are not checked otherwise. Only the current item is buffered.
 */
export class ArrayParser {
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
