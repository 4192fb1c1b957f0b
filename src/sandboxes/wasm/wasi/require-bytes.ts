/**
 * The bytes that a component hands over. It declares by itself of what type they are: what is of another one ends the
 * call. A record may have a `length`, of which JavaScript would make bytes that nothing counts.
 */
export function requireBytes(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new TypeError("bytes were expected");
}
