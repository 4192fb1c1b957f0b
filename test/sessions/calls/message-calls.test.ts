import fc from "fast-check";
import { expect, test } from "vitest";
// Inside: a property of sets of ids; a session would run each call that is valid.
import { messageCalls } from "../../../src/sessions/calls/call-run.ts";
import { call } from "../harness.ts";

function invalid(...ids: readonly string[]): readonly string[] {
  return messageCalls(ids.map((id) => call(id, "pay"))).flatMap(({ id, problem }) => (problem ? id : []));
}

test("calls with the id of another call are invalid, even if its tool could make a call with that id", () => {
  expect(invalid("a", "b", "a", "c")).toEqual(["a", "a"]);
  expect(invalid("a", "a/1", "b")).toEqual(["a", "a/1"]);
  expect(invalid("b/12/3", "b", "c/1")).toEqual(["b/12/3", "b"]);
  expect(invalid("a", "a/1", "a/1/2")).toEqual(["a", "a/1", "a/1/2"]);
  expect(invalid("", "/1")).toEqual(["", "/1"]);
  expect(invalid("a\n", "a\n/1")).toEqual(["a\n", "a\n/1"]);
});

test("other ids with slashes and digits are valid", () => {
  expect(invalid("a", "a/0", "a/01", "a/x", "a/", "a/1x", "ab/1", "a/1.5", "A/1", "/2")).toEqual([]);
});

test("no two valid calls of a message can have the same id, with those that their tools make", () => {
  const id = fc
    .array(fc.constantFrom("a", "b", "/1", "/2", "/"), { maxLength: 5 })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.array(id, { maxLength: 6 }), (ids) => {
      const valid = messageCalls(ids.map((each) => call(each, "pay"))).filter(
        ({ problem }) => problem === undefined,
      );
      const numbers = ["/1", "/2"];
      const all = valid.flatMap(({ id: root }) => {
        const nested = numbers.map((number) => root + number);
        return [root, ...nested, ...nested.flatMap((one) => numbers.map((number) => one + number))];
      });
      // Calls that nest in different ones differ as well, since one of those ids would begin with the other.
      const roots = valid.map(({ id: root }) => root);
      expect(new Set(roots).size).toBe(roots.length);
      expect(roots.filter((root) => all.filter((other) => other === root).length > 1)).toEqual([]);
      expect(new Set(all).size).toBe(all.length);
    }),
    { numRuns: 2_000 },
  );
});
