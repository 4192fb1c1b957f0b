/** The shares of {@link Distribution}: from the fastest to the slowest. */
export const SHARES: readonly number[] = Object.freeze([
  0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 1,
]);

/** A value for each of {@link SHARES}. */
export type Distribution = readonly number[];

/** From one value to another. */
export interface Range {
  readonly least: number;
  readonly most: number;
}

/** The value below which that share of the values is; `NaN` of none. */
export function percentile(values: readonly number[], share: number): number {
  return at(sorted(values), share);
}

/** The values' distribution. */
export function distribution(values: readonly number[]): Distribution {
  const inOrder = sorted(values);
  return SHARES.map((share) => at(inOrder, share));
}

/** The value in the middle. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** Between which values the middle half of them is. */
export function middleHalf(values: readonly number[]): Range {
  return { least: percentile(values, 0.25), most: percentile(values, 0.75) };
}

function sorted(values: readonly number[]): Float64Array {
  return Float64Array.from(values).sort();
}

/** Between two values, if the share falls there: of a few rounds, the middle half is not all but the outermost. */
function at(inOrder: Float64Array, share: number): number {
  const place = Math.max(0, inOrder.length - 1) * share;
  const below = inOrder[Math.floor(place)] ?? Number.NaN;
  const above = inOrder[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place % 1);
}
