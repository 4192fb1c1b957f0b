import { isJsonObject, type JsonObject, type JsonValue } from "./value.ts";

const REPLACEMENT = "\ufffd";

/** An escape sequence of a JSON text; a surrogate pair counts as one. */
const ESCAPE = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|[^u])/g;

const UNPAIRED_ESCAPE = /^\\u[dD][89a-fA-F][\da-fA-F]{2}$/;

/**
 * The canonical form of a value and its digest, each computed on first use. The policy, the approver, the record and
 * the sandbox of a call share one instance, so that they agree on its arguments.
 */
export class CanonicalJson {
  readonly #value: JsonValue;
  #text: string | undefined;
  #digest: string | undefined;

  /** @param value Must be deeply frozen, as the form is computed only once. */
  constructor(value: JsonValue) {
    this.#value = value;
  }

  get value(): JsonValue {
    return this.#value;
  }

  /** The value as canonical JSON (RFC 8785, JCS). */
  get text(): string {
    this.#text ??= canonicalText(this.#value);
    return this.#text;
  }

  /** SHA-256 of {@link text} in UTF-8, as 64 hexadecimal digits. */
  get digest(): string {
    this.#digest ??= sha256(this.text);
    return this.#digest;
  }

  /** Whether this is the form of this very value. */
  isOf(value: JsonValue): boolean {
    return this.#value === value;
  }

  /**
   * Returns a form of another value, such as one without secrets, that has the digest of this one.
   *
   * @param change Returns a deeply frozen value.
   */
  shownAs(change: (value: JsonValue) => JsonValue): CanonicalJson {
    const shown = change(this.#value);
    if (shown === this.#value) return this;
    const canonical = new CanonicalJson(shown);
    canonical.#digest = this.digest;
    return canonical;
  }

  /** Serialises the digest instead of the value. */
  toJSON(): { readonly digest: string } {
    return { digest: this.digest };
  }
}

/** Loads `node:crypto` on first use: that takes half as long as loading this whole package. */
function sha256(text: string): string {
  hash ??= process.getBuiltinModule("node:crypto").hash;
  return hash("sha256", text);
}

let hash: typeof import("node:crypto").hash | undefined;

/**
 * Serialises a value as canonical JSON (RFC 8785): no white space, members sorted by the UTF-16 code units of their
 * names, numbers and strings as ECMAScript serialises them. The value must come from `parseJson` or `copyJson`: its
 * numbers are finite, and its strings have no unpaired surrogates.
 */
export function canonicalText(value: JsonValue): string {
  const copy = inOrder(value);
  return copy === undefined ? write(value) : JSON.stringify(copy);
}

/**
 * Whether a text is canonical JSON: the one text of the value that was read from it. A member whose name is repeated, for
 * example, is read once and written twice.
 *
 * @param value What `JSON.parse` returned for the text.
 */
export function isCanonicalText(text: string, value: JsonValue): boolean {
  try {
    const isOwnText = JSON.stringify(value) === text && isInOrder(value);
    // Objects list integer keys first, which only the slower comparison recognises.
    return (
      (isOwnText || canonicalText(value) === text) && !(HALF_PAIR.test(text) && toWellFormed(value) !== value)
    );
  } catch (error) {
    // The stack overflows on values that are deeper than those of any call.
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** What `JSON.stringify` writes for half of a surrogate pair, which no canonical text has. A backslash can stand before it. */
const HALF_PAIR = /\\ud[89a-f]/;

function isInOrder(value: JsonValue): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (!isJsonObject(value)) return value.every(isInOrder);
  let before = "";
  for (const name of Object.keys(value)) {
    if (name < before || !isInOrder(value[name] ?? null)) return false;
    before = name;
  }
  return true;
}

function write(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (!isJsonObject(value)) return `[${value.map(write).join(",")}]`;
  const members = sort(Object.keys(value)).map(
    (key) => `${JSON.stringify(key)}:${write(value[key] ?? null)}`,
  );
  return `{${members.join(",")}}`;
}

/**
 * Copies a value so that `JSON.stringify` writes its members in canonical order. That takes a third of the time of
 * writing member by member. The copy is not frozen, as frozen objects are slower to serialise.
 *
 * @returns `undefined` if an object cannot have its members in that order.
 */
function inOrder(value: JsonValue): JsonValue | undefined {
  if (typeof value !== "object" || value === null) return value;
  if (!isJsonObject(value)) {
    const items: JsonValue[] = [];
    for (const item of value) {
      const copy = inOrder(item);
      if (copy === undefined) return undefined;
      items.push(copy);
    }
    return items;
  }
  const members: Record<string, JsonValue> = {};
  for (const key of sort(Object.keys(value))) {
    const copy = cannotBeInOrder(key) ? undefined : inOrder(value[key] ?? null);
    if (copy === undefined) return undefined;
    members[key] = copy;
  }
  return members;
}

/** Objects list integer keys first, in numeric order, and `__proto__` cannot be assigned. */
function cannotBeInOrder(key: string): boolean {
  const first = key.charCodeAt(0);
  return (first >= 0x30 && first <= 0x39) || key === "__proto__";
}

/** Up to this many names, insertion sort is faster than `Array.prototype.sort`. */
const FEW = 16;

/** Sorts names by their UTF-16 code units, in place. */
function sort(names: string[]): string[] {
  if (names.length > FEW) return names.sort();
  for (let index = 1; index < names.length; index++) {
    const name = names[index] as string;
    let at = index;
    for (let before = names[at - 1]; before !== undefined && before > name; before = names[at - 1]) {
      names[at--] = before;
    }
    names[at] = name;
  }
  return names;
}

/**
 * Replaces unpaired surrogates in all strings of a tree, also in names of members: they cannot be encoded as UTF-8, and
 * providers reject a conversation that has one.
 *
 * @returns the value itself if it has none, and otherwise a copy. Only arrays and plain objects are searched.
 */
export function toWellFormed<T>(value: T): T {
  return replaceIn(value) as T;
}

function replaceIn(value: unknown): unknown {
  if (typeof value === "string") return value.isWellFormed() ? value : value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(replaceIn);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const members = Object.entries(value as JsonObject);
  const replaced = members.map(([name, member]) => [name.toWellFormed(), replaceIn(member)] as const);
  const isSame = replaced.every(([name, member], index) => {
    return name === members[index]?.[0] && member === members[index]?.[1];
  });
  // Assigning would not work for a member named `__proto__`.
  return isSame ? value : Object.fromEntries(replaced);
}

/** Replaces unpaired surrogates in a JSON text, also escaped ones. Works for any text. */
export function toWellFormedJson(text: string): string {
  const clean = text.toWellFormed();
  if (!/\\u[dD][89a-fA-F]/.test(clean)) return clean;
  return clean.replace(ESCAPE, (found) => (UNPAIRED_ESCAPE.test(found) ? REPLACEMENT : found));
}
