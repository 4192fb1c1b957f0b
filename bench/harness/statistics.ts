/** The shares of {@link Distribution}: from the fastest to the slowest. */
export const SHARES: readonly number[] = Object.freeze([
  0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 1,
]);

/** A value for each of {@link SHARES}. */
export type Distribution = readonly number[];

/** A range of values. */
export interface Range {
  readonly least: number;
  readonly most: number;
}

/** Returns the value below which this share of the values is; `NaN` if there are no values. */
export function percentile(values: readonly number[], share: number): number {
  return at(sorted(values), share);
}

/** Returns the distribution of values. */
export function distribution(values: readonly number[]): Distribution {
  const inOrder = sorted(values);
  return SHARES.map((share) => at(inOrder, share));
}

/** Returns the median. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** Returns the range of the middle half of the values. */
export function middleHalf(values: readonly number[]): Range {
  return { least: percentile(values, 0.25), most: percentile(values, 0.75) };
}

function sorted(values: readonly number[]): Float64Array {
  return Float64Array.from(values).sort();
}

/** Interpolates between two values, because the quartiles of a few rounds rarely fall on one. */
function at(inOrder: Float64Array, share: number): number {
  const place = Math.max(0, inOrder.length - 1) * share;
  const below = inOrder[Math.floor(place)] ?? Number.NaN;
  const above = inOrder[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place % 1);
}
