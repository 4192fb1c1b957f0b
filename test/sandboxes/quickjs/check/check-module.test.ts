import { describe, expect, test } from "vitest";
import { checkModule } from "../../../../src/sandboxes/quickjs/check/check-module.ts";

const GLOBALS = new Set(["Math", "undefined", "globalThis", "Array", "Uint8Array", "JSON", "Intl", "Symbol"]);

/** Returns the names that a module's findings quote. */
function found(source: string): readonly string[] {
  return checkModule("tool.js", source, GLOBALS).findings.map(
    ({ message }) => /'(.*?)'/.exec(message)?.[1] ?? "",
  );
}

describe("The check of a module", () => {
  test("reports a variable that neither the module nor the sandbox has, where it is used", () => {
    const source = "const a = 1;\nexport default () => a + process.pid + Math.PI;";
    expect(checkModule("lib/tool.js", source, GLOBALS).findings).toEqual([
      {
        module: "lib/tool.js",
        line: 2,
        column: 26,
        kind: "global",
        message: expect.stringMatching(
          /^'process' does not exist in the sandbox: there are no environment variables/,
        ),
      },
    ]);
  });

  test.each([
    ["a variable of an outer function", "export default (a) => () => ((b) => a + b)(1);"],
    [
      "a declaration below its use",
      "export default () => late(); function late() {} var x = typeof y; class C { static z = C; }",
    ],
    ["an import", "import a, { b as c } from './a.js'; export default () => [a, c];"],
    [
      "patterns and catch clauses",
      "export default ([a, { b: c = a }]) => { try { return c; } catch ({ d }) { return d; } };",
    ],
    [
      "names of members, labels and properties",
      "l: for (;;) break l; export default (a) => a.process + { process: 1 }.process;",
    ],
    ["arguments", "export default function f() { return [arguments, f, new.target, import.meta]; }"],
    [
      "a name that the module tests with typeof",
      "const has = typeof Buffer !== 'undefined'; export default () => has && Buffer.from('');",
    ],
    ["a name whose error is caught", "let a; try { a = require('a'); } catch {} export default () => a;"],
  ])("does not report %s", (_case, source) => {
    expect(found(source)).toEqual([]);
  });

  test.each([
    ["in a try without a catch", "try { Buffer; } finally {}", "Buffer"],
    ["in the handler of a try", "try {} catch { Buffer; }", "Buffer"],
    ["that is assigned", "leaked = 1;", "leaked"],
    ["outside the block that declares it", "{ let inner; } inner;", "inner"],
    ["in a computed name of a class", "class C { [a] = 1; }", "a"],
    ["whose typeof is that of another", "typeof a; b;", "b"],
  ])("reports a variable %s", (_case, source, name) => {
    expect(found(source)).toEqual([name]);
  });

  test("reports imports that cannot work, and returns those of the folder", () => {
    const source = `
      import fs from "fs";
      import "node:path";
      import { z } from "zod";
      export * from "https://example.com/a.js";
      import "../../outside.js";
      import "./lib/in.js";
      export { a } from "../b.mjs";
      export default () => [import("./late.js"), import("node:os"), import(z), fs];`;
    const { findings, imports } = checkModule("dir/tool.js", source, GLOBALS);
    expect(findings.map(({ line, message }) => `${line} ${message}`)).toEqual([
      expect.stringMatching(/^2 'fs' cannot be imported: the sandbox has no modules of Node.js/),
      expect.stringMatching(/^3 'node:path' cannot be imported: the sandbox has no modules of Node.js/),
      expect.stringMatching(/^4 'zod' cannot be imported: the sandbox has no packages; bundle it/),
      "5 'https://example.com/a.js' cannot be imported: a tool can import only relative paths in its folder",
      "6 '../../outside.js' cannot be imported: it is outside the tool's folder",
      expect.stringMatching(/^9 'node:os' cannot be imported/),
    ]);
    expect(imports.toSorted()).toEqual(["b.mjs", "dir/late.js", "dir/lib/in.js"]);
  });

  test("finds nothing in code that cannot be parsed, or is nested too deeply", () => {
    expect(found("const x = ;")).toEqual([]);
    expect(found(`export default () => ${"(".repeat(50_000)}process${")".repeat(50_000)};`)).toEqual([]);
  });

  test("shortens names in messages", () => {
    const [finding] = checkModule("tool.js", `${"a".repeat(10_000)};`, GLOBALS).findings;
    expect(finding?.message.length).toBeLessThan(200);
  });

  test("reports members that Node.js has and the engine lacks, with what to use instead", () => {
    const source = `export default async (a) => [
      await Array.fromAsync(a), Uint8Array.fromBase64("AA=="), new Uint8Array(1).toHex(), JSON.rawJSON("1"),
      new Intl.Segmenter("en"), Symbol.dispose, new Intl.NumberFormat("en"), Array.from(a), JSON.stringify(a),
    ];`;
    expect(found(source)).toEqual(["JSON.rawJSON", "Intl.Segmenter", "Symbol.dispose"]);
    const [first] = checkModule("tool.js", source, GLOBALS).findings;
    expect(first).toEqual({
      module: "tool.js",
      line: 2,
      column: 96,
      kind: "member",
      message: "'JSON.rawJSON' does not exist in the sandbox: write the number as text",
    });
  });

  test("reports declarations with using, which the engine cannot parse", () => {
    const source =
      "export default async (open) => {\n  using a = open();\n  await using b = open();\n  const using = 1;\n  return using;\n};";
    const { findings } = checkModule("tool.js", source, GLOBALS);
    expect(findings.map(({ line, message }) => `${line} ${message}`)).toEqual([
      "2 'using' does not exist in the sandbox: use try and finally",
      "3 'await using' does not exist in the sandbox: use try and finally",
    ]);
  });

  test.each([
    ["tested for", "export default (a) => (typeof JSON.rawJSON === 'function' ? JSON.rawJSON(a) : a);"],
    ["tested with if", "export default (a) => { if (JSON.rawJSON) return JSON.rawJSON(a); return a; };"],
    ["optional", "export default (a) => JSON?.rawJSON?.(a) ?? a;"],
    ["of another object", "class H { rawJSON() { return 1; } } export default () => new H().rawJSON();"],
    ["computed", "export default (a) => Array[a];"],
  ])("does not report a member that is %s", (_, source) => {
    expect(found(source)).toEqual([]);
  });
});
