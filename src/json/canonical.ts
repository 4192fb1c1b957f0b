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
  const copy = inOrder(value);
  return copy === undefined ? write(value) : JSON.stringify(copy);
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
 * A copy that `JSON.stringify` writes in the canonical order: that takes a third of the time of writing it member by
 * member, and so does what is not frozen.
 *
 * @returns `undefined` where an object cannot have its members in that order.
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

/** Numbers come first in every object, in their own order; and this name cannot be assigned to. */
function cannotBeInOrder(key: string): boolean {
  const first = key.charCodeAt(0);
  return (first >= 0x30 && first <= 0x39) || key === "__proto__";
}

/** Above that many, the engine's own way of sorting is faster. */
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
