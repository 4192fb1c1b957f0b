import { expect, test } from "vitest";
import { compileSchema } from "../../src/engine/schema.ts";

test("validates draft 2020-12 by default, and draft 7 where $schema says so", () => {
  const tuple = { type: "array", prefixItems: [{ type: "string" }] };
  expect(compileSchema(tuple)([1])).toEqual(["/0 must be string"]);
  const draft7 = {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "array",
    items: [{ type: "string" }],
  };
  expect(compileSchema(draft7)([1])).toEqual(["/0 must be string"]);
});

test("counts own properties only", () => {
  const schema = { type: "object", required: ["constructor", "toString"] };
  expect(compileSchema(schema)({})).toHaveLength(2);
});

test("names the property that should not be there, and the values that are allowed", () => {
  const schema = { properties: { mode: { enum: ["r", "w"] } }, additionalProperties: false };
  expect(compileSchema(schema)({ mode: "x", pth: 1 })).toEqual([
    "must NOT have additional properties: 'pth'",
    '/mode must be equal to one of the allowed values: ["r","w"]',
  ]);
});

test("keeps schemas with the same $id apart", () => {
  const first = compileSchema({ $id: "urn:example:tool", type: "string" });
  const second = compileSchema({ $id: "urn:example:tool", type: "number" });
  expect([first("a"), second("a"), second(1)]).toEqual([undefined, ["must be number"], undefined]);
});

test("does not coerce, and does not fill in defaults", () => {
  const schema = { properties: { n: { type: "integer", default: 1 } }, required: ["n"] };
  expect(compileSchema(schema)({ n: "1" })).toEqual(["/n must be integer"]);
  expect(compileSchema(schema)({})).toEqual(["must have required property 'n'"]);
});
