import { meter } from "../work-meter.ts";

/** Which members and items of one value were evaluated: what `unevaluatedProperties` and `unevaluatedItems` leave. */
export class Evaluated {
  #allMembers = false;
  readonly #members = new Set<string>();
  /** All items before this index. */
  #items = 0;
  readonly #singleItems = new Set<number>();

  addMember(name: string): void {
    this.#members.add(name);
  }

  addAllMembers(): void {
    this.#allMembers = true;
  }

  hasMember(name: string): boolean {
    return this.#allMembers || this.#members.has(name);
  }

  /** Adds the items before an index. */
  addItemsBefore(index: number): void {
    this.#items = Math.max(this.#items, index);
  }

  addItem(index: number): void {
    this.#singleItems.add(index);
  }

  hasItem(index: number): boolean {
    return index < this.#items || this.#singleItems.has(index);
  }

  /** Adds what a schema that applies to the same value has evaluated. */
  merge(other: Evaluated): void {
    meter.charge(other.#members.size + other.#singleItems.size);
    this.#allMembers ||= other.#allMembers;
    for (const name of other.#members) this.#members.add(name);
    this.addItemsBefore(other.#items);
    for (const index of other.#singleItems) this.#singleItems.add(index);
  }
}
