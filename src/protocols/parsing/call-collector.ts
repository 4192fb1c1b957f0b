import type { ToolCall } from "../../engine/call/call.ts";
import type { JsonValue } from "../../json/value.ts";
import { checkArgumentsLength, checkCallCount } from "./limits.ts";
import { ProtocolError } from "./protocol-error.ts";

/** Identifies a call while its pieces arrive: a position or an id. */
type Key = string | number;

interface OpenCall {
  readonly id: string;
  readonly name: string;
  /** The arguments if no piece of text arrives. */
  readonly whole: JsonValue;
  readonly pieces: string[];
  length: number;
}

/** Assembles the calls and the text of a streamed message from their pieces. */
export class CallCollector {
  readonly #open = new Map<Key, OpenCall>();
  #completed: ToolCall[] = [];
  #count = 0;
  readonly #text: string[] = [];

  /** The text that arrived so far. */
  get text(): string {
    return this.#text.join("");
  }

  /** Appends to the text besides the calls. Ignores values that are not strings. */
  addText(piece: unknown): void {
    if (typeof piece === "string" && piece !== "") this.#text.push(piece);
  }

  /** Adds a complete call. @throws {ProtocolError} if there are too many calls. */
  add(call: ToolCall): void {
    checkCallCount(++this.#count);
    this.#completed.push(call);
  }

  /**
   * Starts a call whose arguments arrive in pieces.
   *
   * @param whole The arguments if no piece arrives.
   * @throws {ProtocolError} if there are too many calls, or a call with this key is open.
   */
  open(key: Key, id: string, name: string, whole: JsonValue): void {
    if (this.#open.has(key)) throw new ProtocolError("", "starts a call before the previous one has ended");
    checkCallCount(++this.#count);
    this.#open.set(key, { id, name, whole, pieces: [], length: 0 });
  }

  /** Returns the id of an open call. */
  idAt(key: Key): string | undefined {
    return this.#open.get(key)?.id;
  }

  /** Returns the arguments that were passed to {@link open}. The caller may still modify them. */
  wholeAt(key: Key): JsonValue | undefined {
    return this.#open.get(key)?.whole;
  }

  /** The key of the open call that was started last. */
  get lastKey(): Key | undefined {
    return [...this.#open.keys()].at(-1);
  }

  /** Appends to the arguments of an open call. @throws {ProtocolError} if no call is open, or it gets too long. */
  append(key: Key, piece: string): void {
    const call = this.#open.get(key);
    if (call === undefined) throw new ProtocolError("", "continues a call that has not started");
    call.length += piece.length;
    checkArgumentsLength(call.length);
    if (piece !== "") call.pieces.push(piece);
  }

  /** Completes the open call with this key, if there is one. */
  close(key: Key): void {
    const call = this.#open.get(key);
    if (call === undefined) return;
    this.#open.delete(key);
    const { id, name, whole, pieces } = call;
    this.#completed.push({ id, name, arguments: pieces.length === 0 ? whole : pieces.join("") });
  }

  /** Completes every open call: the provider has ended the message. */
  closeAll(): void {
    for (const key of [...this.#open.keys()]) this.close(key);
  }

  /** Discards an open call, because the complete one is passed to {@link add}. */
  drop(key: Key): void {
    if (this.#open.delete(key)) this.#count--;
  }

  /** @throws {ProtocolError} if a call is open: a truncated stream must not pass for a complete one. */
  end(): void {
    if (this.#open.size > 0) throw new ProtocolError("", "ends inside a call");
  }

  /** Returns the calls that were completed since the last call of this method, in order. */
  take(): readonly ToolCall[] {
    const completed = this.#completed;
    if (completed.length > 0) this.#completed = [];
    return completed;
  }
}
