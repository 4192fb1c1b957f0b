import { encode, type SourceMapMappings } from "@jridgewell/sourcemap-codec";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
// Inside: a property of hostile maps, for each of which a tool would have to be loaded and to throw.
import {
  mapFileBeside,
  type Positions,
  translateFrames,
} from "../../../src/sandboxes/quickjs/source-maps.ts";
import { readPositions } from "../../../src/sandboxes/quickjs/thread/step-end.ts";

function read(map: unknown): Positions | undefined {
  const text = typeof map === "string" ? map : JSON.stringify(map);
  return readPositions({
    entry: "a.js",
    exportName: "default",
    sources: { "a.js": "" },
    maps: { "a.js": text },
  });
}

function mapOf(mappings: SourceMapMappings): object {
  return { version: 3, sources: ["x.ts", "y.ts"], mappings: encode(mappings) };
}

const MAP = mapOf([[], [[4, 0, 9, 1], [10, 1, 99, 5], [20]]]);

describe("a source map", () => {
  test.each([
    ["    at f (a.js:2:5)", "    at f (x.ts:10:2)"],
    ["    at f (a.js:2:10)", "    at f (x.ts:10:2)"],
    ["    at f (a.js:2:11)", "    at f (y.ts:100:6)"],
    ["    at a.js:2:300", "    at y.ts:100:6"],
    ["    at async f (a.js:2:5)", "    at async f (x.ts:10:2)"],
  ])("translates the frame %j", (frame, translated) => {
    expect(translateFrames(frame, read(MAP) as Positions)).toBe(translated);
  });

  test.each([
    ["before the first position", "    at f (a.js:2:1)"],
    ["in a line without positions", "    at f (a.js:1:5)"],
    ["after the last line", "    at f (a.js:9:5)"],
    ["of another module", "    at f (b.js:2:5)"],
    ["without a position", "    at f (native)"],
    ["with a strange position", "    at f (a.js:-1:NaN)"],
    ["that is no frame", "message (a.js:2:5)"],
    ["that is too long", `    at ${"f".repeat(2_000)} (a.js:2:5)`],
  ])("does not change a line %s", (_case, line) => {
    expect(translateFrames(line, read(MAP) as Positions)).toBe(line);
  });

  test("is read from a comment at the end of the module", () => {
    const url = `data:application/json;base64,${Buffer.from(JSON.stringify(MAP)).toString("base64")}`;
    const of = (source: string): unknown =>
      readPositions({ entry: "a.js", exportName: "default", sources: { "a.js": source } })?.has("a.js");
    expect(of(`f();\n//# sourceMappingURL=${url}\n`)).toBe(true);
    expect(of(`//# sourceMappingURL=${url}\nf();`)).toBe(undefined);
    expect(of("//# sourceMappingURL=data:application/json;base64,%%%")).toBe(undefined);
  });

  test.each([
    ["no JSON", "{"],
    ["null", "null"],
    ["another version", { ...MAP, version: 2 }],
    ["sections", { version: 3, sections: [{ offset: { line: 0, column: 0 }, map: MAP }] }],
    ["too many positions", { version: 3, sources: ["x.ts"], mappings: "AAAA,".repeat(600_000) }],
    ["too many sources", { version: 3, sources: Array(20_000).fill("x.ts"), mappings: "AAAA" }],
  ])("is ignored if it has %s", (_case, map) => {
    expect(read(map)).toBe(undefined);
  });

  test("can name no source over several lines, and none that is long", () => {
    const positions = read({
      ...MAP,
      sources: [`a\n    at evil (b.js:1:1)${"x".repeat(10_000)}`],
    }) as Positions;
    const translated = translateFrames("    at f (a.js:2:5)", positions);
    expect(translated.split("\n")).toHaveLength(1);
    expect(translated.length).toBeLessThan(300);
  });

  test("never throws, whatever it contains", () => {
    const hostile = fc.record({
      version: fc.constant(3),
      mappings: fc.oneof(fc.string(), fc.stringMatching(/^[A-Za-z0-9+/,;]*$/)),
      sources: fc.array(fc.oneof(fc.string(), fc.constant(null)), { maxLength: 3 }),
    });
    fc.assert(
      fc.property(hostile, fc.integer(), fc.integer(), (map, line, column) => {
        const frame = `    at f (a.js:${line}:${column})`;
        const translated = translateFrames(frame, read(map) ?? new Map());
        expect(translated.startsWith("    at f (")).toBe(true);
        expect(translated.split("\n")).toHaveLength(1);
      }),
    );
  });

  test.each([
    ["tool.js.map", "tool.js.map"],
    ["../tool.js.map", undefined],
    ["sub/tool.js.map", undefined],
    ["/etc/a.map", undefined],
    ["..map", undefined],
    ["https://example.com/a.map", undefined],
    ["tool.json", undefined],
    ["%2e%2e%2fa.map", undefined],
  ])("is a file only beside its module: %s", (url, file) => {
    expect(mapFileBeside(`f();\n//# sourceMappingURL=${url}`)).toBe(file);
  });
});
