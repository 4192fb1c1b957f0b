/** A value that is there at once, or later: whoever needs no waiting shall pay for none. */
export type MaybePromise<T> = T | Promise<T>;

/** Goes on with a value as soon as it is there. */
export function chain<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
