/**
 * Tells whether somebody else's value is to be waited for.
 *
 * @throws whatever a getter or trap of the value throws.
 */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/**
 * A true promise for somebody else's value. Its `then`, even a native promise's own, runs where whatever it
 * throws becomes a rejection; `Promise.resolve` would hand such a promise back as it is.
 */
export function adopt(value: unknown): Promise<unknown> {
  return new Promise((resolve) => resolve(value));
}
