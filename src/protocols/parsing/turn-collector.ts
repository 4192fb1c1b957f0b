import type { JsonObject, JsonValue } from "../../json/value.ts";
import type { Format } from "../formats.ts";
import type { OtherCall, TurnCall } from "../turn.ts";
import { hasCompleteArguments, isEmptyArguments, readArguments } from "./arguments.ts";
import { checkArgumentsLength, checkCallCount } from "./limits.ts";
import { ProtocolError } from "./protocol-error.ts";
import { endingOf, TERMINALS } from "./stop-reasons.ts";

/** Identifies a call while its pieces arrive: a position or an id. */
type Key = string | number;

/** A call as a provider wrote it. */
export interface RawCall {
  readonly id: string;
  readonly name: string;
  /** `undefined` and `null` stand for no arguments. */
  readonly arguments: JsonValue | undefined;
  readonly providerData?: JsonObject;
  /** Whether the arguments are a text that is not JSON. */
  readonly custom?: true;
}

interface OpenCall {
  readonly id: string;
  name: string;
  /** The arguments if no piece of text arrives. */
  readonly whole: JsonValue;
  readonly pieces: string[];
  length: number;
  readonly more: Pick<RawCall, "providerData" | "custom">;
}

interface EndedCall {
  readonly call: TurnCall;
  /** Whether the arguments are certainly complete. `undefined` until it is checked. */
  isComplete: boolean | undefined;
}

/**
 * Assembles an assistant message from its parts, or from the pieces of a stream. A call is given when its arguments are
 * certainly complete. Other calls wait until the provider says whether the message was cut off.
 */
export class TurnCollector {
  readonly #format: Format;
  readonly #isFreeform: (alias: string) => boolean;
  readonly #open = new Map<Key, OpenCall>();
  #ended: EndedCall[] = [];
  #count = 0;
  readonly #text: string[] = [];
  readonly #other: OtherCall[] = [];
  #stopReason: string | undefined;
  #isCutOff = false;
  #isFinished = false;

  /** @param isFreeform Whether an alias is that of a free-form tool. */
  constructor(format: Format, isFreeform: (alias: string) => boolean) {
    this.#format = format;
    this.#isFreeform = isFreeform;
  }

  /** Whether the provider's name of a tool is that of a free-form one: a custom call of any other is not ours. */
  isFreeform(name: unknown): name is string {
    return typeof name === "string" && this.#isFreeform(name);
  }

  /** The text that arrived so far. */
  get text(): string {
    return this.#text.join("");
  }

  /** The calls so far that are not ours to run. */
  get other(): readonly OtherCall[] {
    return this.#other;
  }

  /** Why the message stopped, in the provider's words; `undefined` before, and if it does not say. */
  get stopReason(): string | undefined {
    return this.#stopReason;
  }

  /** Whether the message was cut off. */
  get cutOff(): boolean {
    return this.#isCutOff;
  }

  /** The number of calls so far. */
  get count(): number {
    return this.#count;
  }

  /** Appends to the text besides the calls. Ignores values that are not strings. */
  addText(piece: unknown): void {
    if (typeof piece === "string" && piece !== "") this.#text.push(piece);
  }

  /** Adds a call that is not ours to run, as the provider wrote it. @throws {ProtocolError} if there are too many. */
  addOther(type: string, item: JsonObject, id: unknown, name: unknown): void {
    checkCallCount(this.#other.length + 1);
    this.#other.push({
      type,
      id: typeof id === "string" ? id : undefined,
      name: typeof name === "string" ? name : undefined,
      item,
    });
  }

  /**
   * Adds a call that has ended.
   *
   * @param isComplete Whether its arguments are certainly complete. Default: if they are a JSON object. A text that is
   *   not JSON never is.
   * @throws {ProtocolError} if there are too many calls.
   */
  add(raw: RawCall, isComplete?: boolean): void {
    checkCallCount(++this.#count);
    this.#end(raw, isComplete);
  }

  /**
   * Starts a call whose arguments arrive in pieces.
   *
   * @param whole The arguments if no piece arrives.
   * @throws {ProtocolError} if there are too many calls, or a call with this key is open.
   */
  open(key: Key, { id, name, arguments: whole = "", ...more }: RawCall): void {
    if (this.#open.has(key)) throw new ProtocolError("", "starts a call before the previous one has ended");
    checkCallCount(++this.#count);
    this.#open.set(key, { id, name, whole, pieces: [], length: 0, more });
  }

  /** Returns the id of an open call. */
  idAt(key: Key): string | undefined {
    return this.#open.get(key)?.id;
  }

  /** Returns the arguments that were passed to {@link open}. The caller may still modify them. */
  wholeAt(key: Key): JsonValue | undefined {
    return this.#open.get(key)?.whole;
  }

  /** Returns whether an open call has any arguments yet. */
  hasArguments(key: Key): boolean {
    const call = this.#open.get(key);
    return call !== undefined && (call.pieces.length > 0 || call.whole !== null);
  }

  /** Returns whether there is an open call whose arguments are a text that is not JSON. */
  isCustom(key: Key): boolean {
    return this.#open.get(key)?.more.custom === true;
  }

  /** The key of the open call that was started last. */
  get lastKey(): Key | undefined {
    return [...this.#open.keys()].at(-1);
  }

  /** Continues the name of an open call. Servers send it at once, in pieces, or anew with every piece. */
  appendName(key: Key, piece: string): void {
    const call = this.#open.get(key);
    if (call !== undefined) call.name = piece.startsWith(call.name) ? piece : call.name + piece;
  }

  /** Appends to the arguments of an open call. @throws {ProtocolError} if no call is open, or it gets too long. */
  append(key: Key, piece: string): void {
    const call = this.#open.get(key);
    if (call === undefined) throw new ProtocolError("", "continues a call that has not started");
    call.length += piece.length;
    checkArgumentsLength(call.length);
    if (piece !== "") call.pieces.push(piece);
  }

  /**
   * Ends the open call with this key, if there is one.
   *
   * @param isComplete As for {@link add}. Without a piece of its arguments, a call is not certainly complete.
   * @throws {ProtocolError} if the call has no name.
   */
  close(key: Key, isComplete?: boolean): void {
    const call = this.#open.get(key);
    if (call === undefined) return;
    this.#open.delete(key);
    const { id, name, whole, pieces, more } = call;
    if (name === "") throw new ProtocolError("", "has a call without a name");
    const args = pieces.length === 0 ? whole : pieces.join("");
    const hasPieces = pieces.length > 0;
    this.#end({ id, name, arguments: args, ...more }, isComplete ?? (hasPieces ? undefined : false));
  }

  /** Ends every open call whose name has arrived. */
  closeAll(): void {
    for (const [key, { name }] of [...this.#open]) if (name !== "") this.close(key);
  }

  /** Discards an open call, because the complete one is passed to {@link add}. */
  drop(key: Key): void {
    if (this.#open.delete(key)) this.#count--;
  }

  /** Notes that the message went on after the calls that have ended: the model had finished them. */
  confirm(): void {
    for (const ended of this.#ended) ended.isComplete = true;
  }

  /** Notes why the message stopped. If it may have been cut off, calls that may be incomplete are discarded. */
  stop(reason: string | undefined): void {
    this.#stopReason = reason;
    const ending = endingOf(this.#format, reason);
    if (ending === "whole") {
      this.confirm();
      return;
    }
    const complete = this.#ended.filter(isComplete);
    const lost = this.#ended.length - complete.length + this.#open.size;
    this.#open.clear();
    this.#isCutOff ||= ending === "cut off" || lost > 0;
    this.#ended = this.#isCutOff
      ? complete.map(({ call }) => ({ call: { ...call, cutOff: true }, isComplete: true }))
      : complete;
  }

  /** Notes that the stream has ended as its format requires. */
  finish(): void {
    this.#isFinished = true;
  }

  /** @throws {ProtocolError} if the stream has not ended as its format requires: it is not a complete message. */
  end(): void {
    const terminal = TERMINALS[this.#format];
    const without = terminal === undefined || this.#isFinished ? "" : ` without its '${terminal}'`;
    const isInside = this.#open.size > 0 || !this.#ended.every(isComplete);
    if (isInside) throw new ProtocolError("", `ends inside a call${without && `,${without}`}`);
    if (without !== "") throw new ProtocolError("", `ends${without}`);
  }

  /** Returns the calls that became certain since the last call of this method, in order. */
  take(): readonly TurnCall[] {
    let count = 0;
    for (const ended of this.#ended) {
      if (!isComplete(ended)) break;
      count++;
    }
    return count === 0 ? [] : this.#ended.splice(0, count).map(({ call }) => call);
  }

  #end({ id, name, arguments: args, ...more }: RawCall, isComplete: boolean | undefined): void {
    const call =
      more.custom && typeof args === "string"
        ? { id, name, arguments: args, ...more }
        : { id, name, ...readArguments(args), ...more };
    const isUncertain = more.custom || isEmptyArguments(args);
    this.#ended.push({ call, isComplete: isComplete ?? (isUncertain ? false : undefined) });
  }
}

function isComplete(ended: EndedCall): boolean {
  ended.isComplete ??= hasCompleteArguments(ended.call.arguments);
  return ended.isComplete;
}
