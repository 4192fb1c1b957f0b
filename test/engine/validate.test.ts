import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ToolNotFoundError } from "../../src/engine/registered-tool.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { JsonValue } from "../../src/json/value.ts";
import { contextFor, dispatchTool, hostTool, recordEvents } from "./helpers.ts";

const inputSchema = {
  type: "object",
  properties: { a: { type: "string" }, b: { type: "integer" } },
  required: ["a"],
  additionalProperties: false,
};

const validate = (input: { readonly a?: string }): string[] => {
  if (input.a === "throw") throw new Error("out of order");
  return input.a === "bad" ? ["/a is bad", "no good"] : [];
};

const tool = hostTool((input) => input, { inputSchema, validate: validate as () => string[] });
const registry = new ToolRegistry().register(tool);

describe("registry.validate", () => {
  test("returns what the tool would get, frozen, out of text or a value", () => {
    expect(registry.validate("tool", '{"a":"x","b":null}')).toEqual({ input: { a: "x" } });
    const given = { a: "x" };
    const validated = registry.validate("tool", given);
    given.a = "changed";
    expect(validated).toEqual({ input: { a: "x" } });
    expect("input" in validated && Object.isFrozen(validated.input)).toBe(true);
  });

  test("returns every problem, with its path", () => {
    const problemsOf = (args: unknown): unknown => registry.validate("tool", args);
    expect(problemsOf({ a: 1, b: "x" })).toEqual({
      problems: [
        { path: "/a", message: "must be string" },
        { path: "/b", message: "must be integer" },
      ],
    });
    expect(problemsOf("{")).toEqual({
      problems: [{ path: "", message: "Invalid JSON: unexpected end at position 1" }],
    });
    expect(problemsOf({ a: "bad" })).toEqual({
      problems: [
        { path: "/a", message: "is bad" },
        { path: "", message: "no good" },
      ],
    });
  });

  test("does not throw for values that cannot be read, or a validation that throws", () => {
    const trap = new Proxy(
      {},
      {
        ownKeys() {
          throw new Proxy(
            {},
            {
              getPrototypeOf() {
                throw new Error("trapped");
              },
            },
          );
        },
      },
    );
    for (const args of [undefined, 1n, () => 1, trap, { a: "throw" }]) {
      expect(registry.validate("tool", args)).toHaveProperty("problems.length", 1);
    }
  });

  test("throws for a tool that is not registered", () => {
    expect(() => registry.validate("none", {})).toThrow(ToolNotFoundError);
  });

  test("agrees with a dispatch on any arguments", async () => {
    const { events, seen } = recordEvents();
    const ctx = await contextFor([], { registry, events });
    const member = fc.oneof(fc.constantFrom("x", "bad", "throw"), fc.integer(), fc.constant(null));
    const args = fc.record({ a: member, b: member, c: member }, { requiredKeys: [] });
    const anyArgs = fc.oneof(args, args.map(JSON.stringify), fc.jsonValue(), fc.string());
    await fc.assert(
      fc.asyncProperty(anyArgs, async (given) => {
        const validated = registry.validate("tool", given);
        const { success, output } = await dispatchTool(ctx, given as JsonValue);
        const last = seen.at(-1);
        if (success) expect(validated).toEqual({ input: output });
        else expect(validated).toEqual({ problems: last?.type === "tool.failed" && last.problems });
      }),
    );
  });
});
