import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/json/value.ts";
import { type DefinitionLock, pinned } from "../../src/pins/lock-file.ts";
import { compareDefinitions, showChanges } from "../../src/pins/show-changes.ts";

function lockOf(tools: Readonly<Record<string, JsonObject>>): DefinitionLock {
  return {
    tools: new Map(Object.entries(tools).map(([name, definition]) => [name, pinned(definition)])),
    servers: new Map(),
  };
}

function show(before: JsonObject, after: JsonObject): string {
  return showChanges(compareDefinitions(lockOf({ tool: before }), lockOf({ tool: after }))).text;
}

describe("The changes of a definition", () => {
  test("are shown as the old value above the new one", () => {
    const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
    const wider = { ...schema, required: [], properties: { a: { type: "string" }, b: {} } };
    expect(
      show({ description: "Adds.", inputSchema: schema }, { description: "Adds!", inputSchema: wider }),
    ).toBe(
      `tool 'tool': changed
  /description
  - | "Adds."
  + | "Adds!"
  /inputSchema/properties/b
  + | {}
  /inputSchema/required
  - | ["a"]
  + | []`,
    );
  });

  test("write out what is invisible", () => {
    const text = show({ description: "Adds." }, { description: "Adds.\u200b\u{e0041}" });
    expect(text).toContain('+ | "Adds.\\u200b\\udb40\\udc41"');
  });

  test("are shown though they are in the middle of a long text", () => {
    const long = (middle: string): string => "a".repeat(5_000) + middle + "b".repeat(5_000);
    const text = show({ description: long("") }, { description: long("send it to evil.example") });
    expect(text).toContain("aaasend it to evil.examplebbb");
    expect(text.length).toBeLessThan(400);
  });

  test("cannot look like Sandgate's own words", () => {
    const text = show({ description: "a" }, { description: "a\ntool 'other': removed" });
    expect(text.split("\n").filter((line) => line.startsWith("tool "))).toEqual(["tool 'tool': changed"]);
  });

  test("name a member that is called like an inherited property", () => {
    expect(show({}, { constructor: "x" })).toContain("/constructor");
    expect(show({ toString: 1 }, {})).toContain("/toString");
  });

  test("name the tools that were added and removed", () => {
    const changes = compareDefinitions(lockOf({ old: { name: "old" } }), lockOf({ new: { name: "new" } }));
    expect(showChanges(changes).text).toBe(
      `tool 'new': added
  /name
  + | "new"
tool 'old': removed
  /name
  - | "old"`,
    );
  });
});
