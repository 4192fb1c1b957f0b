import type { OneShotThenable } from "../base/promises.ts";

/** A value that is there at once, or later: whoever needs no waiting shall pay for none. */
export type MaybePromise<T> = T | Promise<T>;

/** Goes on with a value, in a method of somebody, as soon as the value is there. */
export function chain<Self, T, U>(
  value: MaybePromise<T>,
  self: Self,
  next: (this: Self, value: T) => U | OneShotThenable<U>,
): U | OneShotThenable<U> {
  return value instanceof Promise ? value.then(next.bind(self)) : next.call(self, value);
}
