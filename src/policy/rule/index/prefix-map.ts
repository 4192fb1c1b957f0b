/** An entry of a {@link PrefixMap}. */
interface PrefixEntry<Item> {
  readonly prefix: string;
  readonly items: Item[];
  /** The entry with the longest prefix that is a proper prefix of this one. */
  readonly shorter: PrefixEntry<Item> | undefined;
}

/**
 * Finds the items whose prefix a text begins with, in time that grows with the logarithm of the number of prefixes, and
 * with the number of those that are prefixes of each other.
 */
export class PrefixMap<Item> {
  /** Sorted by their prefixes. */
  readonly #entries: readonly PrefixEntry<Item>[];

  constructor(prefixed: Iterable<readonly [prefix: string, item: Item]>) {
    const byPrefix = Map.groupBy(prefixed, ([prefix]) => prefix);
    const entries: PrefixEntry<Item>[] = [];
    // Sorted by UTF-16 code units, as `<` compares: texts with a common prefix stand side by side.
    for (const prefix of [...byPrefix.keys()].sort()) {
      let shorter: PrefixEntry<Item> | undefined = entries.at(-1);
      while (shorter !== undefined && !prefix.startsWith(shorter.prefix)) shorter = shorter.shorter;
      entries.push({ prefix, items: (byPrefix.get(prefix) ?? []).map(([, item]) => item), shorter });
    }
    this.#entries = entries;
  }

  /** Adds the items whose prefix the text begins with to a list. */
  addTo(found: Item[], text: string): void {
    let entry = this.#last(text);
    while (entry !== undefined) {
      if (text.startsWith(entry.prefix)) for (const item of entry.items) found.push(item);
      entry = entry.shorter;
    }
  }

  /** Returns the last entry that does not come after the text. Every prefix of the text is that of it or a shorter one. */
  #last(text: string): PrefixEntry<Item> | undefined {
    let [least, most] = [0, this.#entries.length];
    while (least < most) {
      const middle = (least + most) >> 1;
      if ((this.#entries[middle] as PrefixEntry<Item>).prefix <= text) least = middle + 1;
      else most = middle;
    }
    return this.#entries[least - 1];
  }
}
