/** The number of decimals of amounts. */
const DECIMALS = 12;
const UNIT = 10n ** BigInt(DECIMALS);
const FORM = /^(\d+)(?:\.(\d+))?(?:e-(\d+))?$/;

/**
 * Returns an amount in units of 10^-12, so that sums are exact: 0.1 and 0.2 are 0.3. Further decimals are rounded up, so
 * that no sum is too low.
 *
 * @returns `undefined` unless the value is a number from 0 to 2^53 - 1: larger ones were rounded when they were parsed.
 */
export function amountOf(value: unknown): bigint | undefined {
  if (typeof value !== "number" || !(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) return undefined;
  if (Number.isInteger(value)) return BigInt(value) * UNIT;
  const { digits, decimals } = decimalOf(value);
  if (decimals <= DECIMALS) return digits * 10n ** BigInt(DECIMALS - decimals);
  const divisor = 10n ** BigInt(decimals - DECIMALS);
  return (digits + divisor - 1n) / divisor;
}

/** Whether {@link amountOf} returns an amount without rounding. */
export function isExactAmount(value: number): boolean {
  return amountOf(value) !== undefined && (Number.isInteger(value) || decimalOf(value).decimals <= DECIMALS);
}

/** The shortest decimal that is this number, which is what people and models write: `digits` times 10^-`decimals`. */
function decimalOf(value: number): { readonly digits: bigint; readonly decimals: number } {
  const [, whole = "", fraction = "", exponent = "0"] = FORM.exec(String(value)) ?? [];
  return { digits: BigInt(whole + fraction), decimals: fraction.length + Number(exponent) };
}
