import { expect, test } from "vitest";
import { outputProblem } from "../../../src/sandboxes/contract/output.ts";

const list = (count: number, item: (index: number) => string): string =>
  `[${Array.from({ length: count }, (_, index) => item(index)).join(",")}]`;

test.each<[string, string]>([
  ["a long string", JSON.stringify('"[{,:'.repeat(400_000))],
  ["many numbers", list(90_000, () => "1")],
  ["many records of one kind", list(10_000, (id) => `{"id":${id},"name":"a","tags":[],"at":"now"}`)],
  ["many names", `{${Array.from({ length: 4_999 }, (_, index) => `"name ${index}":1`).join(",")}}`],
])("an output of %s is accepted", (_case, text) => {
  expect(outputProblem(text)).toBeUndefined();
});

test.each<[string, string, string]>([
  ["millions of values", list(1_000_000, () => "1"), "more than 100000 values"],
  ["empty lists", list(200_000, () => "[]"), "more than 100000 values"],
  [
    "objects with names of their own",
    list(20_000, (index) => `{"k${index}":1}`),
    "more than 5000 different member names",
  ],
  ["deep lists", `${"[".repeat(50_000)}${"]".repeat(50_000)}`, "nested deeper than 256 levels"],
])("an output of %s is refused", (_case, text, reason) => {
  expect(outputProblem(text)).toBe(`Tool returned an invalid output: ${reason}`);
});
