import { expect, test } from "vitest";
import { fieldValues, valuesAt } from "../../../src/policy/field-values.ts";

const contacts = [
  { name: "Ann", email: "ann@x.example", phones: ["1", "2"] },
  { name: "Bob", email: "bob@x.example", phones: [], home: { street: "1 High Street" } },
];

test.each([
  ["/email", contacts, ["ann@x.example", "bob@x.example"]],
  ["/*/email", contacts, ["ann@x.example", "bob@x.example"]],
  ["/1/email", contacts, ["bob@x.example"]],
  ["/phones", contacts, ["1", "2"]],
  ["/home/street", contacts, ["1 High Street"]],
  ["", ["general", "random"], ["general", "random"]],
  ["", "general", ["general"]],
  ["", contacts, []],
  ["/a", { a: 5, b: 6 }, [5]],
  ["/*", { a: 5, b: "x", c: null, d: true, e: {} }, [5, "x"]],
  ["/a~1b", { "a/b": "x" }, ["x"]],
  ["/length", contacts, []],
  ["/__proto__", {}, []],
  ["/2/email", contacts, []],
  ["/name/email", contacts, []],
])("the field '%s' has the whole values at its place", (field, output, values) => {
  expect([...fieldValues(output, field)]).toEqual(values);
});

test("a text with lines has its lines, without bullets and a label before the first", () => {
  const text = "Hotels: Ritz\n- The Old Mill\r\n2. Casa: Verde\n\n";
  expect([...fieldValues(text, "")]).toEqual([text, "Hotels: Ritz", "Ritz", "The Old Mill", "Casa: Verde"]);
  expect([...valuesAt(text, "")]).toEqual([text]);
});

test("a text with more than 4,096 characters is no value, and its lines are", () => {
  const long = "x".repeat(5_000);
  expect([...fieldValues([long, `${long}\nshort`], "")]).toEqual(["short"]);
});
