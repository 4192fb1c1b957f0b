import { hash } from "node:crypto";

/** Values that are remembered by their digests, apart from each other by their kind. */
export class ValueSet {
  readonly #digests = new Set<string>();

  get size(): number {
    return this.#digests.size;
  }

  has(kind: ValueKind, value: string | number): boolean {
    return this.#digests.has(digestOf(kind, value));
  }

  add(kind: ValueKind, value: string | number): void {
    this.#digests.add(digestOf(kind, value));
  }
}

/** A whole value, or a link, address or account number in one. */
export type ValueKind = "value" | "reference";

function digestOf(kind: ValueKind, value: string | number): string {
  return hash("sha256", `${kind} ${typeof value} ${value}`, "base64");
}
