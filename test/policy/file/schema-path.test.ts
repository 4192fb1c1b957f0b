import { expect, test } from "vitest";
import { parsePointer } from "../../../src/json/pointer.ts";
import type { JsonObject } from "../../../src/json/value.ts";
// Inside: asks what a schema says of each pointer; a policy's problems show only those that are impossible.
import { findInSchema } from "../../../src/policy/file/schema-path.ts";

const CLOSED: JsonObject = {
  type: "object",
  additionalProperties: false,
  properties: {
    path: { type: "string" },
    options: { $ref: "#/$defs/options", description: "more" },
    list: { type: "array", items: { type: "object", properties: { id: {} }, additionalProperties: false } },
    pair: { type: "array", prefixItems: [{ type: "string" }], items: false },
    oldPair: { type: "array", items: [{ type: "number" }], additionalItems: false },
    open: { type: "object", properties: { known: {} } },
    typed: { type: "object", additionalProperties: { type: "integer" } },
    either: { anyOf: [{ type: "string" }, { type: "object" }], additionalProperties: false },
    circle: { $ref: "#/$defs/circle" },
    abroad: { $ref: "https://example.com/schema" },
    never: false,
    any: true,
  },
  $defs: {
    options: { type: "object", properties: { depth: { type: "integer" } }, additionalProperties: false },
    circle: { $ref: "#/$defs/circle" },
  },
};

test.each([
  ["", "known"],
  ["/path", "known"],
  ["/pth", "impossible"],
  ["/path/x", "impossible"],
  ["/options/depth", "known"],
  ["/options/dept", "impossible"],
  ["/list/0/id", "known"],
  ["/list/7/x", "impossible"],
  ["/list/id", "impossible"],
  ["/pair/0", "known"],
  ["/pair/1", "impossible"],
  ["/oldPair/0", "known"],
  ["/oldPair/1", "impossible"],
  ["/open/known", "known"],
  ["/open/other", "open"],
  ["/typed/other", "known"],
  ["/typed/other/x", "impossible"],
  ["/either/x", "open"],
  ["/circle/x", "open"],
  ["/abroad/x", "open"],
  ["/never", "impossible"],
  ["/any/x/y", "open"],
  ["/constructor", "impossible"],
])("the location %j in a closed schema is %s", (pointer, kind) => {
  expect(findInSchema(CLOSED, parsePointer(pointer)).kind).toBe(kind);
});

test("findInSchema follows a root schema that is a reference", () => {
  const root = {
    $ref: "#/definitions/Input",
    definitions: { Input: CLOSED["properties"] === undefined ? true : { ...CLOSED } },
  };
  expect(findInSchema(root as JsonObject, ["path"]).kind).toBe("known");
  expect(findInSchema(root as JsonObject, ["pth"])).toMatchObject({ kind: "impossible" });
});

test("every location in an empty schema is open", () => {
  expect(findInSchema({}, ["a", "b"])).toEqual({ kind: "open", names: [] });
});
