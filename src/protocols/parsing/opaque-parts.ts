import type { JsonObject, JsonValue } from "../../json/value.ts";
import { contradiction } from "./agree.ts";

/** A part of a message: a text, a call by its id, or what only the provider can read. */
export type TurnPart =
  | { readonly text: string }
  | { readonly call: string }
  | { readonly opaque: JsonObject };

type Part = { text: string } | { readonly call: { readonly id: string } } | { readonly opaque: JsonObject };

/**
 * Collects what a provider wants back with a message besides text and calls, such as signed reasoning, and its place
 * between them.
 */
export class OpaqueParts {
  readonly #parts: Part[] = [];
  readonly #open = new Map<string | number, Record<string, JsonValue>>();
  /** Members of the message itself. */
  #members: Record<string, JsonValue> | undefined;
  #hasOpaque = false;

  addText(text: string): void {
    const last = this.#parts.at(-1);
    if (last !== undefined && "text" in last) last.text += text;
    else this.#parts.push({ text });
  }

  /** Adds the place of a call. Its id may arrive later. */
  addCall(call: { readonly id: string }): void {
    this.#parts.push({ call });
  }

  /** Adds a part as the provider wrote it. */
  add(opaque: JsonObject): void {
    this.#hasOpaque = true;
    this.#parts.push({ opaque });
  }

  /** Adds a part whose texts arrive in pieces. */
  open(key: string | number, opaque: JsonObject): void {
    const copy = { ...opaque } as Record<string, JsonValue>;
    this.#open.set(key, copy);
    this.add(copy);
  }

  /** Forgets the keys of open parts: a new message begins, which counts anew. */
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

  /** Sets a member of the message, or continues it: a text by its pieces, a list by its items. */
  continueMember(name: string, value: JsonValue | undefined): void {
    if (value === undefined || value === null) return;
    this.#members ??= {};
    const before = Object.hasOwn(this.#members, name) ? this.#members[name] : undefined;
    let joined = value;
    if (typeof before === "string" && typeof value === "string") joined = before + value;
    else if (Array.isArray(before) && Array.isArray(value)) joined = [...before, ...(value as JsonValue[])];
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
