import { expect, test } from "vitest";
import { anchorsIn, linksIn } from "./markdown.ts";

test("links of every form are found, with their lines", () => {
  const text = '[a](a.md)\n![b](b.svg "title") and\n\n[c]: c.md\n<a href="d.md#x">d</a> [`e`](e.md#f-g)\n';
  expect(linksIn(text).toSorted((one, other) => one.line - other.line)).toEqual([
    { target: "a.md", line: 1 },
    { target: "b.svg", line: 2 },
    { target: "c.md", line: 4 },
    { target: "e.md#f-g", line: 5 },
    { target: "d.md#x", line: 5 },
  ]);
});

test("code is not read for links and headings", () => {
  const text = "```md\n# No\n[a](a.md)\n```\n`[b](b.md)` and [c](c.md)\n";
  expect(linksIn(text)).toEqual([{ target: "c.md", line: 5 }]);
  expect([...anchorsIn(text)]).toEqual([]);
});

test("anchors are those of GitHub: in lower case, without punctuation, and numbered if they repeat", () => {
  const text = "# In `sandgate.yaml`\n## Over HTTP\n## What's new? [Here](x.md)\n## Over HTTP\n";
  expect([...anchorsIn(text)]).toEqual(["in-sandgateyaml", "over-http", "whats-new-here", "over-http-1"]);
});
