/**
 * The text of a record without the members that depend on its place in the chain. The names of a record's members are
 * in canonical order, so `at`, `prev` and `seq` stand between these parts.
 */
export interface RecordParts {
  /** The members before `at`, each followed by a comma. */
  readonly beforeAt: string;
  /** The members between `at` and `prev`, each followed by a comma. */
  readonly beforePrev: string;
  /** The members between `prev` and `seq`, each followed by a comma. */
  readonly beforeSeq: string;
  /** The members after `seq`, without a final comma. */
  readonly afterSeq: string;
}

/** Returns the canonical line of a record, without its newline. */
export function composeLine(parts: RecordParts, at: number, prev: string, seq: number): string {
  const { beforeAt, beforePrev, beforeSeq, afterSeq } = parts;
  // Joined, since a concatenated text is a tree of its pieces, which takes longer to write.
  return [
    "{",
    beforeAt,
    '"at":',
    at,
    ",",
    beforePrev,
    '"prev":"',
    prev,
    '",',
    beforeSeq,
    '"seq":',
    seq,
    ",",
    afterSeq,
    "}",
  ].join("");
}
