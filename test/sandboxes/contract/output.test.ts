import { describe, expect, test } from "vitest";
import { checkOutput, checkReturned } from "../../../src/sandboxes/contract/output.ts";

const OVERFLOWED = "Tool returned an invalid output: a number that is too large for a double";

describe("an output with a number that no double can hold", () => {
  test.each([
    "1e999",
    "-1e999",
    '{"a":[1e400]}',
  ])("the output %s is refused, since no double can hold its number", (text) => {
    expect(checkOutput(text, undefined)).toEqual({
      status: "failed",
      message: OVERFLOWED,
      outputBytes: text.length,
    });
  });

  test("a returned infinity becomes null, as in JSON.stringify", () => {
    expect(checkReturned([Number.POSITIVE_INFINITY], undefined, 0)).toEqual({
      status: "completed",
      output: [null],
      outputBytes: 6,
    });
  });

  test("a number that no double can hold is refused in raw JSON too", () => {
    // TypeScript does not declare JSON.rawJSON yet.
    const { rawJSON } = JSON as unknown as { rawJSON(text: string): object };
    expect(checkReturned({ n: rawJSON("1e999") }, undefined, 0)).toMatchObject({ message: OVERFLOWED });
  });
});
