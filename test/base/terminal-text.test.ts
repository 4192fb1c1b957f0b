import { describe, expect, test } from "vitest";
import { plainText } from "../../src/base/text.ts";

describe("plainText", () => {
  test.each([
    ["colours", "\u001b[31;1mred\u001b[0m \u001b[38;2;1;2;3mtrue\u001b[m", "red true"],
    ["titles and links", "\u001b]0;title\u0007a\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\", "alink"],
    ["other escapes", "\u001b(B\u001b=\u001b7a\u001b8", "a"],
    ["progress", "10 %\r 50 %\r100 %\ndone", "100 %\ndone"],
    ["progress that is erased", "Loading…\r\u001b[K\rready\n", "ready\n"],
    ["progress that ends the text", "1\r2\r3\r", "3"],
    ["line ends of Windows", "a\r\nb\r\r\n", "a\nb\n"],
    ["characters taken back", "|\b/\b-\bdone\b\b\u0007", "do"],
    ["control characters", "a\u0000b\u007f\u000ec", "abc"],
    ["a sequence without an end", "a\u001b[12", "a[12"],
  ])("shows %s as a terminal does", (_, text, shown) => {
    expect(plainText(text)).toBe(shown);
  });

  test("leaves text without such characters as it is", () => {
    const text = "tab\tand é 😀\n[31m is no sequence\n";
    expect(plainText(text)).toBe(text);
  });

  test("takes linear time for hostile texts", () => {
    for (const part of ["\u001b", "\u001b[", "\u001b]", "\u001b[1", "\u001b]x\u001b", "\r", "\b", "a\b"])
      plainText(part.repeat(300_000 / part.length));
  });
});
