import type { ToolCall } from "../../engine/call/call.ts";
import type { JsonValue } from "../../json/value.ts";
import { checkArgumentsLength, checkCallCount } from "./limits.ts";
import { ProtocolError } from "./protocol-error.ts";

/** What identifies a call while its pieces arrive: a position or an id. */
type Key = string | number;

interface OpenCall {
  readonly id: string;
  readonly name: string;
  /** What the arguments are when no piece of text arrives. */
  readonly whole: JsonValue;
  readonly pieces: string[];
  length: number;
}

/** Puts the calls and the text of a streamed message together from their pieces. */
export class CallCollector {
  readonly #open = new Map<Key, OpenCall>();
  #completed: ToolCall[] = [];
  #count = 0;
  readonly #text: string[] = [];

  /** The text that arrived so far. */
  get text(): string {
    return this.#text.join("");
  }

  /** Adds to the text beside the calls; anything but a string is no text. */
  addText(piece: unknown): void {
    if (typeof piece === "string" && piece !== "") this.#text.push(piece);
  }

  /** Adds a call that is complete. @throws {ProtocolError} when there are too many. */
  add(call: ToolCall): void {
    checkCallCount(++this.#count);
    this.#completed.push(call);
  }

  /**
   * Begins a call whose arguments arrive in pieces.
   *
   * @param whole What the arguments are when no piece arrives.
   * @throws {ProtocolError} when there are too many, or one of that key is open.
   */
  open(key: Key, id: string, name: string, whole: JsonValue): void {
    if (this.#open.has(key)) throw new ProtocolError("", "begins a call where another has not ended");
    checkCallCount(++this.#count);
    this.#open.set(key, { id, name, whole, pieces: [], length: 0 });
  }

  /** The id of the call that is open there. */
  idAt(key: Key): string | undefined {
    return this.#open.get(key)?.id;
  }

  /** The arguments that were given when that call was begun; its reader may go on filling them. */
  wholeAt(key: Key): JsonValue | undefined {
    return this.#open.get(key)?.whole;
  }

  /** The key of the call that was begun last and is open. */
  get lastKey(): Key | undefined {
    return [...this.#open.keys()].at(-1);
  }

  /** Adds to the arguments of an open call. @throws {ProtocolError} when none is open there, or it is too long. */
  append(key: Key, piece: string): void {
    const call = this.#open.get(key);
    if (call === undefined) throw new ProtocolError("", "continues a call that has not begun");
    call.length += piece.length;
    checkArgumentsLength(call.length);
    if (piece !== "") call.pieces.push(piece);
  }

  /** Completes the call that is open there, if there is one. */
  close(key: Key): void {
    const call = this.#open.get(key);
    if (call === undefined) return;
    this.#open.delete(key);
    const { id, name, whole, pieces } = call;
    this.#completed.push({ id, name, arguments: pieces.length === 0 ? whole : pieces.join("") });
  }

  /** Completes every open call: the provider said that the message ends here. */
  closeAll(): void {
    for (const key of [...this.#open.keys()]) this.close(key);
  }

  /** Forgets an open call that {@link add} has given whole. */
  drop(key: Key): void {
    if (this.#open.delete(key)) this.#count--;
  }

  /** @throws {ProtocolError} when a call is open: a stream that breaks off must not pass for a whole one. */
  end(): void {
    if (this.#open.size > 0) throw new ProtocolError("", "ends inside a call");
  }

  /** The calls that were completed since the last time, in order. */
  take(): readonly ToolCall[] {
    const completed = this.#completed;
    if (completed.length > 0) this.#completed = [];
    return completed;
  }
}
