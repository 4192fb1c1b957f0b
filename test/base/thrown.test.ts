import { describe, expect, test } from "vitest";
import { describeThrown } from "../../src/base/thrown.ts";
import { JournalError } from "../../src/journal/journal-error.ts";

describe("The detail of a thrown error", () => {
  test("has the stacks of its causes, which the message has not", () => {
    const inner = new Error("duplicate key in db-7");
    const { message, detail } = describeThrown(
      new Error("the order could not be placed", { cause: new Error("insert failed", { cause: inner }) }),
    );
    expect(message).toBe("the order could not be placed");
    expect(detail).toMatch(
      /^Error: the order could not be placed\n {4}at [\s\S]*\nCaused by: Error: insert failed\n {4}at [\s\S]*\nCaused by: Error: duplicate key in db-7\n {4}at /,
    );
  });

  test.each([
    ["a text", "disk full", "disk full"],
    ["an object", { code: 7 }, '{"code":7}'],
  ])("has a cause that is %s", (_what, cause, shown) => {
    expect(describeThrown(new Error("failed", { cause })).detail).toMatch(
      new RegExp(`\\nCaused by: ${shown}$`),
    );
  });

  test("ends where causes are circular or cannot be read", () => {
    const circular = new Error("again");
    circular.cause = circular;
    expect(describeThrown(circular).detail.match(/Caused by/g)).toHaveLength(5);
    const hidden = Object.defineProperty(new Error("failed"), "cause", {
      get: () => {
        throw new Error("no");
      },
    });
    const { message, detail } = describeThrown(hidden);
    expect(message).toBe("failed");
    expect(detail).toMatch(/^Error: failed\n {4}at [\s\S]*\nCaused by: a value that cannot be read$/);
  });

  test("is the stack alone without a cause", () => {
    const error = new Error("failed");
    expect(describeThrown(error).detail).toBe(error.stack);
    error.cause = null;
    expect(describeThrown(error).detail).toBe(error.stack);
  });
});

test("an error of this package says what happened, and needs no stack", () => {
  const cause = new Error("database or disk is full");
  const thrown = new JournalError("the journal cannot write");
  thrown.cause = cause;
  expect(describeThrown(thrown).detail).toBe(
    "JournalError: the journal cannot write\nCaused by: Error: database or disk is full",
  );
  const unexpected = new Error("x", { cause: thrown });
  expect(describeThrown(unexpected).detail).toMatch(
    /^Error: x\n {4}at [\s\S]*\nCaused by: JournalError: the journal cannot write\n {4}at /,
  );
});
