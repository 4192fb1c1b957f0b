/** Parses an amount such as `12.50`. Returns cents. */
export function cents(amount: string): number {
  if (!/^\d+(\.\d\d)?$/.test(amount)) throw new TypeError(`'${amount}' is not a valid amount`);
  return Math.round(Number(amount) * 100);
}

/** Formats cents as an amount. */
export function formatCents(amount: number): string {
  return (amount / 100).toFixed(2);
}
