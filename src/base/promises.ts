/** A value or a promise of it: a synchronous value avoids the cost of a promise. */
export type MaybePromise<T> = T | Promise<T>;

/**
 * A value that is available later: a promise, or a cheaper object for hot paths. Such an object never rejects, and
 * the first `next` passed to `then` must not throw.
 */
export interface OneShotThenable<T> extends PromiseLike<T> {
  then<U = T, V = never>(
    next?: ((value: T) => U | PromiseLike<U>) | null,
    failed?: ((thrown: unknown) => V | PromiseLike<V>) | null,
  ): Promise<U | V>;
}

/**
 * Returns whether a value of unknown origin is a thenable, and must be awaited.
 *
 * @throws anything that a getter or proxy trap of the value throws.
 */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as { readonly then?: unknown }).then === "function"
  );
}

/**
 * Like {@link adopt}, but returns an unmodified native promise as it is, which saves two turns of the microtask
 * queue.
 *
 * @throws anything that a getter or proxy trap of the value throws.
 */
export function toPromise(value: PromiseLike<unknown>): Promise<unknown> {
  return value instanceof Promise && value.constructor === Promise && value.then === Promise.prototype.then
    ? value
    : adopt(value);
}

/**
 * Converts a value of unknown origin to a native promise. Errors that its `then` throws become rejections, even if it
 * is a native promise with an overridden `then`, which `Promise.resolve` would return as it is.
 */
export function adopt(value: unknown): Promise<unknown> {
  return new Promise((resolve) => resolve(value));
}

/** Maximum number of promises that {@link mapSome} awaits at once. */
const AT_ONCE = 64;

/** Maps values to what promises resolve with, some at once, so that many values do not take all connections. */
export async function mapSome<Value, Result>(
  values: readonly Value[],
  map: (value: Value) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < values.length) {
      const index = next++;
      results[index] = await map(values[index] as Value);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, values.length) }, work));
  return results;
}
