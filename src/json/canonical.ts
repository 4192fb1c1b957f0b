import { isJsonObject, type JsonValue } from "./value.ts";

/**
 * A value's one canonical form and its digest, each made when it is first asked for and never otherwise.
 * Whoever has to agree on what a call says – policy, approver, record, sandbox – shares one of these.
 */
export class CanonicalJson {
  readonly #value: JsonValue;
  #text: string | undefined;
  #digest: string | undefined;

  /** @param value Deeply frozen: a form that was made once must stay true. */
  constructor(value: JsonValue) {
    this.#value = value;
  }

  /** The value as RFC 8785 (JCS) writes it. */
  get text(): string {
    this.#text ??= canonicalText(this.#value);
    return this.#text;
  }

  /** SHA-256 of {@link text} in UTF-8, as 64 hexadecimal digits. */
  get digest(): string {
    this.#digest ??= sha256(this.text);
    return this.#digest;
  }

  /** In JSON, the digest stands for the value. */
  toJSON(): { readonly digest: string } {
    return { digest: this.digest };
  }
}

/** Loading `node:crypto` takes half as long as all of this package, and most programs need no digest. */
function sha256(text: string): string {
  hash ??= process.getBuiltinModule("node:crypto").hash;
  return hash("sha256", text);
}

let hash: typeof import("node:crypto").hash | undefined;

/**
 * Writes a value as RFC 8785 has it: no white space, members in the order of their names' UTF-16 code units,
 * numbers and strings as ECMAScript writes them. The value must be a tree as `parseJson` and `copyJson` make
 * them: finite numbers, no half surrogate pairs.
 */
export function canonicalText(value: JsonValue): string {
  // Most models write no member out of order.
  return isInOrder(value) ? JSON.stringify(value) : write(value);
}

function write(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (!isJsonObject(value)) return `[${value.map(write).join(",")}]`;
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${write(value[key] ?? null)}`);
  return `{${members.join(",")}}`;
}

/** Whether `JSON.stringify` already writes a value in its canonical order. */
function isInOrder(value: JsonValue | undefined): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (!isJsonObject(value)) return value.every(isInOrder);
  let previous: string | undefined;
  for (const key of Object.keys(value)) {
    if ((previous !== undefined && key < previous) || !isInOrder(value[key])) return false;
    previous = key;
  }
  return true;
}
