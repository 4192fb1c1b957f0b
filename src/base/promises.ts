/**
 * A value that comes later: a promise, or what takes its place where each promise counts. That never rejects, and
 * the first `next` must not throw.
 */
export interface OneShotThenable<T> extends PromiseLike<T> {
  then<U = T, V = never>(
    next?: ((value: T) => U | PromiseLike<U>) | null,
    failed?: ((thrown: unknown) => V | PromiseLike<V>) | null,
  ): Promise<U | V>;
}

/**
 * Tells whether somebody else's value is to be waited for.
 *
 * @throws whatever a getter or trap of the value throws.
 */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as { readonly then?: unknown }).then === "function"
  );
}

/**
 * {@link adopt}, but a promise that nobody changed as it is: that saves two turns of the queue.
 *
 * @throws whatever a getter or trap of the value throws.
 */
export function toPromise(value: PromiseLike<unknown>): Promise<unknown> {
  return value instanceof Promise && value.constructor === Promise && value.then === Promise.prototype.then
    ? value
    : adopt(value);
}

/**
 * A true promise for somebody else's value. Its `then`, even a native promise's own, runs where whatever it
 * throws becomes a rejection; `Promise.resolve` would hand such a promise back as it is.
 */
export function adopt(value: unknown): Promise<unknown> {
  return new Promise((resolve) => resolve(value));
}
