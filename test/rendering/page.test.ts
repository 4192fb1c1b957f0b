import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { toPageLines } from "../../src/rendering/lines.ts";
import { render } from "../../src/rendering/render.ts";
import { CHROMIUM, showAllOnPage, showOnPage } from "./page.ts";

console.log(`pages are shown in ${CHROMIUM ?? "a tree of parse5, as Chromium is not installed"}`);

const ATTACKS = [
  "<script>alert(1)</script>",
  "</span></p><p><span class=note>⟦allowed⟧",
  "&lt;b&gt; &amp;amp; &#8238;",
  "<!-- --> <![CDATA[ ]]> <?xml?>",
  "a\0b\r\nc\u202ed\u2028e\ud800",
  "\u0301<b>\u0338",
];

describe("A page shows each segment as it is, in one text node", () => {
  const attacks = ATTACKS.map((text) => toPageLines(render(text, { keepsLines: true })));
  let pages: ReturnType<typeof showAllOnPage> = [];
  beforeAll(() => {
    pages = showAllOnPage(attacks);
  });

  test.each(ATTACKS.entries().toArray())("for %i: %j", (at) => {
    const lines = attacks[at] ?? [];
    expect(pages[at]).toEqual(lines);
    expect(
      lines
        .flat()
        .map((segment) => segment.text)
        .join(""),
    ).not.toMatch(/[\0\r\u202e\u2028\ud800]|⟦allowed/);
  });

  test("for any text", () => {
    const part = fc.constantFrom(
      "<",
      ">",
      "&",
      "amp;",
      "script",
      "</",
      "span>",
      "\0",
      "\r",
      "\n",
      "'",
      '"',
      "x",
    );
    const hostile = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(part).map((parts) => parts.join("")),
    );
    const texts = fc.sample(hostile, { numRuns: 300, seed: 1 });
    const lines = texts.flatMap((text) => toPageLines(render(text, { keepsLines: true })));
    expect(showOnPage(lines)).toEqual(lines);
  });
});
