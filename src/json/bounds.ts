/** How much of a document is taken. What is beyond is refused before it costs more than a moment. */
export interface JsonBounds {
  /** The longest text, and the most that all strings of a tree may have together, in UTF-16 code units. */
  readonly length: number;
  /** Values of every kind: items, members and the root. */
  readonly values: number;
  /** Members of all objects together: they cost most of all to read. */
  readonly members: number;
}

/** The bounds of a call's arguments. Depth is bounded by `MAX_DEPTH`. */
export const ARGUMENT_BOUNDS: JsonBounds = Object.freeze({
  length: 2 * 1_024 * 1_024,
  values: 100_000,
  members: 20_000,
});
