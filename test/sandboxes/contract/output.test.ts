import { describe, expect, test } from "vitest";
import { checkOutput, checkReturned } from "../../../src/sandboxes/contract/output.ts";

const OVERFLOWED = "Tool returned an output that is refused: a number that is too large for a double";

describe("an output with a number that no double holds is refused", () => {
  test.each(["1e999", "-1e999", '{"a":[1e400]}'])("as the text %s", (text) => {
    expect(checkOutput(text, undefined)).toEqual({
      status: "failed",
      message: OVERFLOWED,
      outputBytes: text.length,
    });
  });

  test("though a function that returned infinity returned null, as JSON has it", () => {
    expect(checkReturned([Number.POSITIVE_INFINITY], undefined, 0)).toEqual({
      status: "completed",
      output: [null],
      outputBytes: 6,
    });
  });

  test("even where a function wrote its text by itself", () => {
    // TypeScript does not know it yet (ECMAScript, JSON.rawJSON).
    const { rawJSON } = JSON as unknown as { rawJSON(text: string): object };
    expect(checkReturned({ n: rawJSON("1e999") }, undefined, 0)).toMatchObject({ message: OVERFLOWED });
  });
});
