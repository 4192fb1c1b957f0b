import { describe, expect, test } from "vitest";
import { adopt, isThenable, toPromise } from "../../src/base/promises.ts";

/** A native promise whose `then` was replaced. */
function withOwnThen(then: () => unknown): Promise<unknown> {
  return Object.assign(Promise.resolve("original"), { then });
}

describe("thenables and promises", () => {
  test("isThenable accepts only objects with a then method", () => {
    expect(isThenable(Promise.resolve())).toBe(true);
    expect(isThenable(withOwnThen(() => {}))).toBe(true);
    for (const other of [undefined, null, "text", () => {}, {}]) {
      expect(isThenable(other)).toBe(false);
    }
  });

  test("toPromise returns an unmodified native promise as it is", () => {
    const promise = Promise.resolve();
    expect(toPromise(promise)).toBe(promise);
    class Subclass<T> extends Promise<T> {}
    const subclassed = Subclass.resolve();
    expect(toPromise(subclassed)).not.toBe(subclassed);
  });

  test("errors thrown by an overridden then become rejections", async () => {
    const hostile = withOwnThen(() => {
      throw new Error("from then");
    });
    await expect(adopt(hostile)).rejects.toThrow("from then");
    await expect(toPromise(hostile)).rejects.toThrow("from then");
  });
});
