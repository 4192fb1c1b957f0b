import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { contradiction } from "./values.ts";

type Part =
  | { text: string; readonly opaque?: JsonObject }
  | { readonly call: { readonly id: string } }
  | { readonly opaque: JsonObject };

/**
 * Collects the parts of a message, other than text and calls, that a provider expects back, such as signed
 * reasoning, with their positions.
 */
export class OpaqueParts {
  readonly #parts: Part[] = [];
  readonly #open = new Map<string | number, Record<string, JsonValue>>();
  /** Members of the message itself. */
  #members: Record<string, JsonValue> | undefined;
  #hasOpaque = false;

  addText(text: string): void {
    const last = this.#parts.at(-1);
    if (last !== undefined && "text" in last && last.opaque === undefined) last.text += text;
    else this.#parts.push({ text });
  }

  /** Adds the place of a call. Its id may arrive later. */
  addCall(call: { readonly id: string }): void {
    this.#parts.push({ call });
  }

  /**
   * Adds a part as the provider wrote it.
   *
   * @param text The assistant's text in the part.
   */
  add(opaque: JsonObject, text = ""): void {
    this.#hasOpaque = true;
    this.#parts.push(text === "" ? { opaque } : { text, opaque });
  }

  /** Adds a part whose texts arrive in pieces. */
  open(key: string | number, opaque: JsonObject): void {
    const copy = { ...opaque } as Record<string, JsonValue>;
    this.#open.set(key, copy);
    this.add(copy);
  }

  /** Clears the keys of open parts, since the indices of a new message start again. */
  nextMessage(): void {
    this.#open.clear();
  }

  /** Whether a part with this key has been opened. */
  has(key: string | number): boolean {
    return this.#open.has(key);
  }

  /** Appends to a text of an open part. Ignores pieces that are not strings. */
  append(key: string | number, name: string, piece: unknown): void {
    const part = this.#open.get(key);
    if (part === undefined || typeof piece !== "string") return;
    const before = part[name];
    part[name] = typeof before === "string" ? before + piece : piece;
  }

  /** Changes an open part, if there is one. */
  change(key: string | number, change: (part: Record<string, JsonValue>) => void): void {
    const part = this.#open.get(key);
    if (part !== undefined) change(part);
  }

  /** Sets a member of the message, or continues it: a text by its pieces, a list by its items. */
  continueMember(name: string, value: JsonValue | undefined): void {
    if (value === undefined || value === null) return;
    this.#members ??= {};
    const before = Object.hasOwn(this.#members, name) ? this.#members[name] : undefined;
    let joined = value;
    if (typeof before === "string" && typeof value === "string") joined = before + value;
    else if (Array.isArray(before) && Array.isArray(value)) joined = joinItems(before, value);
    else if (before !== undefined && typeof before !== "object") throw contradiction(`/${name}`);
    this.#members[name] = joined;
  }

  /** Returns everything as JSON; `undefined` if there is nothing but texts and calls. */
  toJson(): JsonObject | undefined {
    if (!this.#hasOpaque && this.#members === undefined) return undefined;
    const parts = this.#parts.map(
      (part): JsonObject => ("call" in part ? { call: part.call.id } : { ...part }),
    );
    return {
      ...(this.#hasOpaque && { parts }),
      ...(this.#members !== undefined && { message: this.#members }),
    };
  }
}

/** The texts of an item that arrive in pieces. */
const PIECES: ReadonlySet<string> = new Set(["text", "summary", "data", "thinking"]);

/** Joins two pieces of a list. An item with the index and type of the last one continues it. */
function joinItems(before: readonly JsonValue[], items: readonly JsonValue[]): JsonValue[] {
  const joined = [...before];
  for (const item of items) {
    const last = joined.at(-1);
    const continues =
      isJsonObject(last) &&
      isJsonObject(item) &&
      typeof item["index"] === "number" &&
      item["index"] === last["index"] &&
      item["type"] === last["type"];
    if (continues) joined[joined.length - 1] = joinItem(last, item);
    else joined.push(item);
  }
  return joined;
}

function joinItem(last: JsonObject, item: JsonObject): JsonObject {
  const entries = Object.entries(item).map(([name, value]): [string, JsonValue] => {
    const before = last[name];
    const isPiece = PIECES.has(name) && typeof before === "string" && typeof value === "string";
    return [name, isPiece ? before + value : (value ?? before ?? null)];
  });
  return { ...last, ...Object.fromEntries(entries) };
}
