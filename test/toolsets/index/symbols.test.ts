import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
// Inside: a property of any text, and each file of src; a search shows the few symbols that match.
import { blankJavaScript } from "../../../src/toolsets/index/blank-javascript.ts";
import { symbolReader } from "../../../src/toolsets/index/workspace-symbols.ts";

function symbols(path: string, text: string): readonly string[] {
  return (symbolReader(path)?.(text) ?? []).map(
    ({ name, kind, line, container }) =>
      `${line} ${kind} ${container === undefined ? "" : `${container}.`}${name}`,
  );
}

describe("The reader for TypeScript and JavaScript", () => {
  test("finds what a module defines, with the lines", () => {
    const text = `
import { a } from "b";
export const MAX = 5, other = 6;
let count = 0;
export default async function* walk(files: Files) {
  const hidden = 1;
  function inner() {}
}
export const load = async <T>(path: string): Promise<T> => {};
const square = x => x * x;
export abstract class Store<T> extends Base {
  static readonly #size = 1;
  constructor(readonly path: string) {
    super();
    if (path) { this.open(path); }
  }
  async *entries(): AsyncGenerator<T> {}
  get #name() { return ""; }
  handler = (event: Event) => { run(event); };
}
export interface Options { timeout?: number }
export type Name<T> = { [key: string]: T };
declare enum Color { Red }
namespace Inner {
  export class Deep {
    method() {}
  }
}
`;
    expect(symbols("a.ts", text)).toEqual([
      "3 constant MAX",
      "4 variable count",
      "5 function walk",
      "7 function inner",
      "9 function load",
      "10 function square",
      "11 class Store",
      "13 method Store.constructor",
      "17 method Store.entries",
      "18 method Store.name",
      "19 method Store.handler",
      "21 type Options",
      "22 type Name",
      "23 type Color",
      "24 type Inner",
      "25 class Deep",
      "26 method Deep.method",
    ]);
  });

  test("finds nothing in comments, strings, templates and regular expressions", () => {
    const text = [
      "/* class A {",
      "class B {} */ const a = 'function c() {';",
      "const b = `",
      "class D {",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a line of the module.
      "${ { x: `}` }.x + `${1}` }",
      "function e() {}`;",
      "const r = /[/`'\"{]/g;",
      "// class F {",
      "class G { h() { return 4 / 2 / 1; } }",
    ].join("\n");
    expect(symbols("a.js", text)).toEqual(["2 constant a", "3 constant b", "7 constant r", "9 class G"]);
    expect(blankJavaScript(text).split("\n")).toHaveLength(text.split("\n").length);
  });

  test("finds the class or the main function of every file of src that is named after one", () => {
    const folder = new URL("../../../src/workspace/", import.meta.url);
    for (const name of ["directory", "file", "workspace", "locate", "root"]) {
      const text = readFileSync(new URL(`${name}.ts`, folder), "utf8");
      const defined = [...text.matchAll(/^export (?:class|function|const|interface|type) (\w+)/gm)].map(
        ([, it]) => it,
      );
      const found = (symbolReader("a.ts")?.(text) ?? []).map((symbol) => symbol.name);
      expect(found).toEqual(expect.arrayContaining(defined));
    }
    expect(readdirSync(folder).length).toBeGreaterThan(5);
  });
});

describe("The reader for Python", () => {
  test("finds what a module defines, with the lines", () => {
    const text = `
"""Docs.
class Hidden:
"""
MAX_SIZE: int = 5
name = "def not_this():"
type Vector = list[float]
class Store(Base):
    '''def nor_this(): \\''' '''
    limit = 5
    def __init__(self, path):
        def inner():
            pass
    async def load(self) -> str:
        return """
def nor_that(): pass
"""

    class Entry:
        def size(self): pass
def main():
    local = 1
if MAX_SIZE == 5: # def x
    pass
`;
    expect(symbols("a.py", text)).toEqual([
      "5 constant MAX_SIZE",
      "6 variable name",
      "7 type Vector",
      "8 class Store",
      "11 method Store.__init__",
      "12 function inner",
      "14 method Store.load",
      "19 class Entry",
      "20 method Entry.size",
      "21 function main",
    ]);
  });
});

test("other files have no reader", () => {
  expect(["a.rs", "a.json", "a", "a.ts.bak"].filter((path) => symbolReader(path) !== undefined)).toEqual([]);
});

test("any text is read, and the lines of its symbols are in it", () => {
  const piece = fc.constantFrom(
    "class A {",
    "function f(",
    "}",
    "{",
    "`",
    "${",
    '"',
    "'",
    "/",
    "*/",
    "/*",
    "\\",
    "\n",
    " ",
    "def g():",
    '"""',
    "'''",
    "#",
    "x = 1",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), fc.constantFrom("a.ts", "a.py"), (pieces, path) => {
      const text = pieces.join("");
      const lines = text.split("\n");
      for (const { name, line } of symbolReader(path)?.(text) ?? []) expect(lines[line - 1]).toContain(name);
      expect(blankJavaScript(text).split("\n")).toHaveLength(lines.length);
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ["a.ts", "`${".repeat(80_000)],
  ["a.ts", "/".repeat(500_000)],
  // Each would take minutes if one of its characters had the rest of the text read.
  ["a.ts", "{".repeat(6_000_000)],
  ["a.ts", "''".repeat(3_000_000)],
  ["a.ts", `const a = "${"\\".repeat(400_000)}`],
  ["a.ts", "class A {\n".repeat(50_000)],
  ["a.ts", `const ${"a ".repeat(200_000)}`],
  ["a.py", `"${"\\x".repeat(200_000)}`],
  ["a.py", `"""${'\\"""'.repeat(100_000)}`],
  ["a.py", " class A:\n".repeat(50_000)],
])("a hostile text in %s takes a moment: %.20s", (path, text) => {
  expect(() => symbolReader(path)?.(text)).not.toThrow();
});
