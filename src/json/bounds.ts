/** How large a document may be. Larger ones are refused before they cost much. */
export interface JsonBounds {
  /** The maximum length of a text, and of all strings of a tree together, in UTF-16 code units. */
  readonly length: number;
  /** The maximum number of values of every kind: items, members and the root. */
  readonly values: number;
  /** The maximum number of members of all objects together. Members cost the most to read. */
  readonly members: number;
  /** The maximum number of different member names. Default: no bound besides `members`. */
  readonly names?: number;
  /**
   * What happens to a number with a fraction or an exponent of which a double cannot hold every digit. `exact`: the text is
   * refused. Default: it is rounded, as usual in JSON.
   */
  readonly decimals?: "exact";
}

/** The bounds of a call's arguments. Depth is bounded by `MAX_DEPTH`. */
export const ARGUMENT_BOUNDS: JsonBounds = Object.freeze({
  length: 2 * 1_024 * 1_024,
  values: 100_000,
  members: 20_000,
});
