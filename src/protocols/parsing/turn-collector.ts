import { twiceText } from "../../engine/call.ts";
import type { JsonObject } from "../../json/value.ts";
import type { Format } from "../formats.ts";
import type { OtherCall, TurnCall } from "../turn.ts";
import { CallAssembly, type RawCall } from "./call-assembly.ts";
import { checkCallCount } from "./limits.ts";
import { OpaqueParts } from "./opaque-parts.ts";
import { ProtocolError } from "./shape.ts";
import { CALLING, endingOf, LATE_PIECES, TERMINALS } from "./stop-reasons.ts";
import { contradiction } from "./values.ts";

/** The problem of a call without arguments if the arguments of another call may belong to several calls. */
const AMBIGUOUS =
  "Invalid tool call: the message does not say which of its calls has which arguments: make the calls one by one";

/** Identifies a call while its pieces arrive: a position or an id. */
type Key = string | number;

/**
 * Assembles an assistant message from its parts, or from the pieces of a stream. A call is given when its arguments are
 * certainly complete. Other calls wait until the provider says whether the message was cut off. Of two places that state
 * the same value, one may be empty; if both have content, they must agree.
 */
export class TurnCollector {
  readonly #format: Format;
  readonly #isFreeform: (alias: string) => boolean;
  readonly #calls = new Map<Key, CallAssembly>();
  /** The calls that have ended and are not given yet, in order. */
  #ended: CallAssembly[] = [];
  /** The ids of the calls that have ended. */
  readonly #ids = new Map<string, CallAssembly>();
  /** The keys of calls that are not the registry's. Their pieces are ignored. */
  readonly #ignored = new Set<Key>();
  #count = 0;
  readonly #text: string[] = [];
  readonly #other: OtherCall[] = [];
  readonly opaque: OpaqueParts = new OpaqueParts();
  /** Set if a piece did not say which call it continues, and was added to the last call. */
  hasGuessed = false;
  #stopReason: string | undefined;
  #isCutOff = false;
  #isFinished = false;
  #hasEnded = false;

  /** @param isFreeform Whether an alias is that of a free-form tool. */
  constructor(format: Format, isFreeform: (alias: string) => boolean) {
    this.#format = format;
    this.#isFreeform = isFreeform;
  }

  /** Whether the provider's name of a tool is that of a free-form one: custom calls of other tools are not the registry's. */
  isFreeform(name: unknown): name is string {
    return typeof name === "string" && this.#isFreeform(name);
  }

  /** The text that arrived so far. */
  get text(): string {
    return this.#text.join("");
  }

  /** The calls so far that are not the registry's. */
  get other(): readonly OtherCall[] {
    return this.#other;
  }

  /** Data that the provider wants back with the message; `undefined` if there is none. */
  get providerData(): JsonObject | undefined {
    return this.opaque.toJson();
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

  /** Whether the stream has ended as its format requires. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  /**
   * Appends to the text outside the calls. Ignores values that are not strings.
   *
   * @param isPart Whether it is a part of its own, and not the text of an opaque part. Default: `true`.
   */
  addText(piece: unknown, isPart = true): void {
    if (typeof piece !== "string" || piece === "") return;
    this.#text.push(piece);
    if (isPart) this.opaque.addText(piece);
  }

  /** Adds a call that is not the registry's, as the provider wrote it. @throws {ProtocolError} if there are too many. */
  addOther(type: string, item: JsonObject, id: unknown, name: unknown): void {
    checkCallCount(this.#other.length + 1);
    this.#other.push({
      type,
      id: typeof id === "string" ? id : undefined,
      name: typeof name === "string" ? name : undefined,
      item,
    });
  }

  /** Ignores further pieces with this key: they do not belong to a call of the registry. */
  ignore(key: Key): void {
    this.#calls.delete(key);
    this.#ignored.add(key);
  }

  /** Whether pieces with this key are ignored. */
  isIgnored(key: Key): boolean {
    return this.#ignored.has(key);
  }

  /**
   * Adds a call that has ended.
   *
   * @param isComplete Whether its arguments are certainly complete. Default: if they are a JSON object. A text that is
   *   not JSON never is.
   * @throws {ProtocolError} if there are too many calls.
   */
  add(raw: RawCall, isComplete?: boolean): CallAssembly {
    const call = this.#start(raw);
    this.#end(call, isComplete);
    return call;
  }

  /**
   * Starts a call whose arguments arrive in pieces, or whose end arrives later.
   *
   * @throws {ProtocolError} if there are too many calls, or a call with this key is open.
   */
  open(key: Key, raw: RawCall): CallAssembly {
    if (this.#calls.get(key)?.state === "open") {
      throw new ProtocolError("", "starts a call before the previous one has ended");
    }
    this.#ignored.delete(key);
    const call = this.#start(raw);
    this.#calls.set(key, call);
    return call;
  }

  /** Returns the last call with this key, even after its end. */
  at(key: Key): CallAssembly | undefined {
    return this.#calls.get(key);
  }

  /** Returns the call with this key if it is open. */
  openAt(key: Key): CallAssembly | undefined {
    const call = this.#calls.get(key);
    return call?.state === "open" ? call : undefined;
  }

  /** Returns the call with this id that has ended, or is open, if there is one. */
  withId(id: string): CallAssembly | undefined {
    if (id === "") return undefined;
    return this.#ids.get(id) ?? [...this.#calls.values()].find((call) => call.id === id);
  }

  /** Returns the key of a call. */
  keyWhere(isIt: (call: CallAssembly) => boolean): Key | undefined {
    return [...this.#calls].find(([, call]) => isIt(call))?.[0];
  }

  /** The key of the open call that was started last. */
  get lastKey(): Key | undefined {
    return [...this.#calls].findLast(([, call]) => call.state === "open")?.[0];
  }

  /** The number of open calls without arguments. */
  get openBlank(): number {
    return [...this.#calls.values()].filter(({ state, hasArguments }) => state === "open" && !hasArguments)
      .length;
  }

  /** Appends to the arguments of the call with this key. @throws {ProtocolError} if there is none, or it is complete. */
  append(key: Key, piece: string, pointer = ""): void {
    if (this.#ignored.has(key) || piece === "") return;
    const call = this.#calls.get(key);
    if (call === undefined) throw new ProtocolError(pointer, "continues a call that has not started");
    call.append(piece, pointer);
  }

  /**
   * Ends the open call with this key, if there is one.
   *
   * @param isComplete As for {@link add}. Without a piece of its arguments, a call is not certainly complete.
   * @throws {ProtocolError} if the call has no name.
   */
  close(key: Key, isComplete?: boolean): void {
    const call = this.openAt(key);
    if (call === undefined) return;
    requireName(call.name);
    this.#end(call, isComplete ?? (call.hasPieces ? undefined : false));
  }

  /** Ends every open call whose name has arrived. */
  closeAll(): void {
    for (const [key, { name, state }] of this.#calls) if (state === "open" && name !== "") this.close(key);
  }

  /**
   * Adds a whole call, or compares it with the call that has this key.
   *
   * @param isComplete As for {@link add}.
   * @throws {ProtocolError} if they differ.
   */
  state(key: Key, raw: RawCall, pointer: string, isComplete?: boolean): void {
    const call = this.#calls.get(key);
    if (call === undefined) {
      this.#end(this.open(key, raw), isComplete);
      return;
    }
    this.restate(call, raw, pointer, isComplete);
  }

  /** Compares a call with another statement of it, and ends it if it is open. @throws {ProtocolError} if they differ. */
  restate(call: CallAssembly, raw: RawCall, pointer: string, isComplete?: boolean): void {
    call.agreeOnId(raw.id, `${pointer}/id`);
    call.agreeOnName(raw.name, `${pointer}/name`);
    call.agreeOnArguments(raw.arguments, `${pointer}/arguments`);
    call.providerData ??= raw.providerData;
    if (call.state === "open") this.#end(call, isComplete);
  }

  /** Forgets the keys and ids of the calls so far: a new message begins, whose indices start again. */
  nextMessage(): void {
    this.#calls.clear();
    this.#ids.clear();
    this.#ignored.clear();
    this.opaque.nextMessage();
    this.#stopReason = undefined;
    this.#isFinished = false;
  }

  /** Marks the calls that have ended as complete: the message continued after them. */
  confirm(): void {
    for (const call of this.#ended) call.confirm();
  }

  /**
   * Sets why the message stopped. If it may have been cut off, calls that may be incomplete are discarded.
   *
   * @throws {ProtocolError} if it stated another reason before.
   */
  stop(reason: string | undefined): void {
    if (this.#stopReason !== undefined) {
      if (reason === undefined || reason === this.#stopReason) return;
      throw contradiction("");
    }
    this.#stopReason = reason;
    const ending = endingOf(this.#format, reason);
    if (ending === "whole") {
      const all = [...this.#calls.values(), ...this.#ended];
      if (all.some(({ isUnfinished }) => isUnfinished)) throw contradiction("");
      // Pieces that belong to no call may be those of one that seems to have no arguments.
      for (const { name } of this.#calls.values()) requireName(name);
      if (this.hasGuessed && all.some((call) => call.hasPieces && !call.check())) {
        for (const call of all) if (!call.hasArguments) call.problem ??= AMBIGUOUS;
      }
      this.confirm();
      return;
    }
    const complete = this.#ended.filter((call) => call.check());
    const open = [...this.#calls].filter(([, { state }]) => state === "open");
    for (const [key] of open) this.ignore(key);
    const lost = this.#ended.length - complete.length + open.length;
    this.#isCutOff ||= ending === "cut off" || lost > 0;
    this.#ended = complete;
  }

  /** Marks the stream as ended as its format requires. */
  finish(): void {
    this.#isFinished = true;
  }

  /** @throws {ProtocolError} if the stream has not ended as its format requires: it is not a complete message. */
  end(): void {
    const terminal = TERMINALS[this.#format];
    const without = terminal === undefined || this.#isFinished ? "" : ` without its '${terminal}'`;
    const isInside =
      [...this.#calls.values()].some(({ state }) => state === "open") ||
      !this.#ended.every((call) => call.check());
    if (isInside) throw new ProtocolError("", `ends inside a call${without && `,${without}`}`);
    if (without !== "") throw new ProtocolError("", `ends${without}`);
    const isCalling = CALLING.has(this.#stopReason ?? "");
    if (isCalling && this.#count === 0 && this.#other.length === 0) {
      throw new ProtocolError("", "says that it ends with calls, and has none");
    }
    this.#hasEnded = true;
  }

  /** Returns the calls that became certain since the last call of this method, in order. */
  take(): readonly TurnCall[] {
    const waits = LATE_PIECES[this.#format] && !this.#hasEnded;
    const count = this.#ended.findIndex((call) => !call.check() || (waits && !call.hasArguments));
    const certain = this.#ended.splice(0, count === -1 ? this.#ended.length : count);
    return certain.map((call) => {
      call.state = "given";
      return this.#isCutOff ? { ...call.toCall(), cutOff: true } : call.toCall();
    });
  }

  #start(raw: RawCall): CallAssembly {
    checkCallCount(++this.#count);
    const call = new CallAssembly(raw);
    this.opaque.addCall(call);
    return call;
  }

  #end(call: CallAssembly, isComplete: boolean | undefined): void {
    call.end(isComplete);
    this.#ended.push(call);
    const twin = this.#ids.get(call.id);
    // An answer could be for either.
    if (twin !== undefined) for (const each of [twin, call]) each.problem = twiceText(call.id);
    else if (call.id !== "") this.#ids.set(call.id, call);
  }
}

function requireName(name: string): void {
  if (name === "") throw new ProtocolError("", "has a call without a name");
}
