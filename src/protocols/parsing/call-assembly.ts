import type { JsonObject, JsonValue } from "../../json/value.ts";
import type { TurnCall } from "../turn.ts";
import { checkArgumentsLength } from "./limits.ts";
import { makeUpId, ProtocolError } from "./shape.ts";
import {
  agree,
  agreeOnArguments,
  contradiction,
  hasCompleteArguments,
  isBlank,
  isEmptyArguments,
  readArguments,
} from "./values.ts";

/** A call as a provider wrote it. */
export interface RawCall {
  /** `""` if it has none (yet). */
  readonly id: string;
  readonly name: string;
  /** `undefined` and `null` stand for no arguments. */
  readonly arguments: JsonValue | undefined;
  readonly providerData?: JsonObject;
  /** Whether the arguments are a text that is not JSON. */
  readonly custom?: true;
}

/** Assembles one call from everything that a message states of it: the start, pieces, and a final event. */
export class CallAssembly {
  id: string;
  name: string;
  providerData: JsonObject | undefined;
  readonly custom: boolean;
  /** `open` until its end, `ended` until the caller gets it. */
  state: "open" | "ended" | "given" = "open";
  /** Whether its arguments are certainly complete. `undefined` until it is checked. */
  isComplete: boolean | undefined;
  /** Whether the provider marked it as unfinished. */
  isUnfinished = false;
  /** The id of its item, if events name that beside the call's own. */
  itemId: string | undefined;
  /** The arguments that arrived in pieces with paths. */
  built: Record<string, JsonValue> | undefined;
  /** The paths of `built`, and whether more of their values follows. */
  readonly paths: Map<string, "open" | "ended"> = new Map();
  /** Why it must not run. */
  problem: string | undefined;
  #whole: JsonValue | undefined;
  readonly #pieces: string[] = [];
  #length = 0;
  /** Whether pieces came after its end. */
  #isLate = false;

  constructor({ id, name, arguments: args, providerData, custom }: RawCall) {
    this.id = id;
    this.name = name;
    this.#whole = args;
    this.providerData = providerData;
    this.custom = custom === true;
  }

  /** Whether any arguments have arrived. */
  get hasArguments(): boolean {
    return this.#pieces.length > 0 || !isEmptyArguments(this.#whole);
  }

  /** Whether pieces of arguments have arrived. */
  get hasPieces(): boolean {
    return this.#pieces.length > 0;
  }

  /** Takes the id from another place of the message. @throws {ProtocolError} if it differs. */
  agreeOnId(id: string, pointer: string): void {
    if (this.state === "given" && this.id !== id && id !== "") throw contradiction(pointer);
    this.id = agree(this.id, id, pointer);
  }

  /** Takes the name from another place of the message. @throws {ProtocolError} if it differs. */
  agreeOnName(name: string, pointer: string): void {
    this.name = agree(this.name, name, pointer);
  }

  /**
   * Continues the name. Servers send it at once, in pieces, or repeated with every piece.
   *
   * @throws {ProtocolError} if another name comes when the arguments have begun.
   */
  continueName(piece: string, pointer: string): void {
    if (piece === "" || piece === this.name) return;
    if (this.name !== "" && (this.hasArguments || this.state !== "open")) throw contradiction(pointer);
    this.name = piece.startsWith(this.name) ? piece : this.name + piece;
  }

  /** Appends to the arguments. @throws {ProtocolError} if they get too long, or were complete. */
  append(piece: string, pointer: string): void {
    if (piece === "") return;
    if (this.state !== "open") {
      if (this.state === "given" || !(this.#isLate || isBlank(this.#stated(), this.custom))) {
        throw new ProtocolError(pointer, "continues a call that has ended");
      }
      this.#isLate = true;
      this.isComplete = undefined;
    }
    this.#length += piece.length;
    checkArgumentsLength(this.#length);
    this.#pieces.push(piece);
  }

  /** Takes whole arguments from another place of the message. @throws {ProtocolError} if they differ. */
  agreeOnArguments(args: JsonValue | undefined, pointer: string): void {
    const stated = this.#stated();
    const agreed = agreeOnArguments(stated, args, pointer, this.custom);
    if (agreed === stated) return;
    if (this.state === "given" && isBlank(stated, this.custom)) throw contradiction(pointer);
    this.#pieces.length = 0;
    this.#whole = agreed;
    this.isComplete = undefined;
  }

  /** Ends the call. @throws {ProtocolError} if its places have different arguments. */
  end(isComplete: boolean | undefined): void {
    this.state = "ended";
    const isUncertain = this.custom || isEmptyArguments(this.#stated());
    this.isComplete = isComplete ?? (isUncertain ? false : undefined);
  }

  /** Marks the call as complete: the message continued after it. */
  confirm(): void {
    if (!this.#isLate) this.isComplete = true;
  }

  /** Returns whether the arguments are certainly complete. */
  check(): boolean {
    this.isComplete ??= hasCompleteArguments(this.#stated() ?? {});
    return this.isComplete;
  }

  /** Returns the call. */
  toCall(): TurnCall {
    if (this.id === "") this.id = makeUpId();
    const stated = this.#stated();
    const { id, name, custom, providerData, problem } = this;
    const read = custom && typeof stated === "string" ? { arguments: stated } : readArguments(stated);
    return {
      id,
      name,
      ...read,
      ...(problem !== undefined && { problem }),
      ...(providerData !== undefined && { providerData }),
      ...(custom && { custom: true as const }),
    };
  }

  /** The arguments: the pieces, and values that were given separately. */
  #stated(): JsonValue | undefined {
    if (this.#pieces.length === 0) return this.#whole;
    if (this.#pieces.length > 1) this.#pieces.splice(0, this.#pieces.length, this.#pieces.join(""));
    return agreeOnArguments(this.#pieces[0], this.#whole, "", this.custom);
  }
}
