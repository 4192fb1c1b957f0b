import fc from "fast-check";
import { describe, expect, test } from "vitest";
// Inside: a property of sets of any names, without a registry and a protocol for each.
import { ToolNames } from "../../src/protocols/call-mapper.ts";

const namesOf = (...names: string[]): ToolNames => new ToolNames({ names });
const FITTING = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

test("does not change a name that every provider accepts", () => {
  const names = namesOf("read_file", "a-b");
  expect(names.toAlias("read_file")).toBe("read_file");
  expect(names.toName("a-b")).toBe("a-b");
});

test.each([
  ["math.factorial", "math_factorial"],
  ["github/issues:list", "github_issues_list"],
  ["3d-print", "_3d-print"],
  ["größe", "gr__e"],
  ["x".repeat(100), "x".repeat(64)],
])("gives %s a readable alias", (name, alias) => {
  const names = namesOf(name);
  expect(names.toAlias(name)).toBe(alias);
  expect(names.toName(alias)).toBe(name);
});

test("never gives an alias that is the name of another tool", () => {
  const names = namesOf("math.factorial", "math_factorial");
  expect(names.toAlias("math_factorial")).toBe("math_factorial");
  expect(names.toAlias("math.factorial")).toMatch(/^math_factorial_[0-9a-f]{8}$/);
});

test("gives distinct aliases to names that would look the same", () => {
  const names = namesOf("a.b", "a/b");
  expect(new Set([names.toAlias("a.b"), names.toAlias("a/b")]).size).toBe(2);
  expect(names.toName(names.toAlias("a/b"))).toBe("a/b");
});

test("keeps an alias even if a tool of that name is registered later", () => {
  const registered = ["math.factorial"];
  const names = new ToolNames({
    get names() {
      return registered;
    },
  });
  expect(names.toAlias("math.factorial")).toBe("math_factorial");
  registered.push("math_factorial");
  names.refresh();
  expect(names.toName("math_factorial")).toBe("math.factorial");
  expect(names.toName(names.toAlias("math_factorial"))).toBe("math_factorial");
});

test("returns an unknown name unchanged, and makes it valid in messages", () => {
  expect(namesOf("a").toName("invented")).toBe("invented");
  expect(namesOf("a").toAlias("in vented")).toBe("in_vented");
});

describe("any names", () => {
  const anyNames = fc.uniqueArray(
    fc.oneof(
      fc.string({ unit: "grapheme", minLength: 1, maxLength: 80 }),
      fc.string({ unit: fc.constantFrom("a", "_", ".", "/", "1"), minLength: 1, maxLength: 4 }),
      fc.constantFrom("__proto__", "constructor", "a_b", "a.b"),
    ),
    { maxLength: 30 },
  );

  test("have unique and valid aliases that map back", () => {
    fc.assert(
      fc.property(anyNames, (list) => {
        const names = namesOf(...list);
        const aliases = list.map((name) => names.toAlias(name));
        expect(new Set(aliases).size).toBe(list.length);
        for (const alias of aliases) expect(alias).toMatch(FITTING);
        expect(aliases.map((alias) => names.toName(alias))).toEqual(list);
      }),
    );
  });

  test("have the same aliases in any order of registration", () => {
    fc.assert(
      fc.property(anyNames, fc.infiniteStream(fc.nat()), (list, random) => {
        const shuffled = [...list];
        for (let at = shuffled.length - 1; at > 0; at--) {
          const other = (random.next().value as number) % (at + 1);
          [shuffled[at], shuffled[other]] = [shuffled[other] as string, shuffled[at] as string];
        }
        const names = namesOf(...list);
        const others = namesOf(...shuffled);
        for (const name of list) expect(others.toAlias(name)).toBe(names.toAlias(name));
      }),
    );
  });
});
