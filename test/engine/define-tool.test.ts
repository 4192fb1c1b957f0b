import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import type { DispatchContext } from "../../src/engine/call/context.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { defineTool, type Tool } from "../../src/engine/tool.ts";
import type { JsonObject, JsonValue } from "../../src/json/value.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import type { HostContext } from "../../src/tool/implementations/implementations.ts";
import { contextFor, dispatchTool, recordEvents } from "./helpers.ts";

const TOOL = { name: "tool", description: "" };

/** The output of a call of a tool, or the text of its failure. */
async function call(tool: Tool, args: JsonValue): Promise<JsonValue> {
  const { output, error } = await dispatchTool(await contextFor([tool]), JSON.stringify(args));
  return error?.message ?? output;
}

describe("defineTool with a JSON Schema", () => {
  test("types the input of the host function by the schema", async () => {
    const tool = defineTool({
      ...TOOL,
      inputSchema: {
        type: "object",
        properties: {
          text: { type: "string" },
          times: { type: "integer" },
          mode: { enum: ["loud", "quiet"] },
        },
        required: ["text"],
      },
      host: (input) => {
        expectTypeOf(input).toEqualTypeOf<{
          readonly text: string;
          readonly times?: number;
          readonly mode?: "loud" | "quiet";
        }>();
        return input.text.repeat(input.times ?? 1);
      },
    });
    expect(await call(tool, { text: "ab", times: 2 })).toBe("abab");
  });

  test("types the input as any JSON if the schema is not known", async () => {
    const inputSchema: JsonObject = { type: "object" };
    const tool = defineTool({
      ...TOOL,
      inputSchema,
      host: (input) => {
        expectTypeOf(input).toEqualTypeOf<JsonValue>();
        return input;
      },
    });
    expect(await call(tool, { a: 1 })).toEqual({ a: 1 });
  });

  test("takes a factory, whose instances get the same input", async () => {
    const tool = defineTool({
      ...TOOL,
      inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
      host: { create: () => ({ execute: ({ n }) => n + 1, cancel: async () => true }) },
    });
    expect(await call(tool, { n: 1 })).toBe(2);
  });

  test("runs the tool's own validation after the schema, and tells the model the problems", async () => {
    const seen: unknown[] = [];
    const tool = defineTool({
      ...TOOL,
      inputSchema: {
        type: "object",
        properties: { from: { type: "integer" }, to: { type: "integer" } },
        required: ["from", "to"],
      },
      validate: ({ from, to }) => {
        seen.push([from, to]);
        return from <= to ? [] : ["/to must not be less than /from"];
      },
      host: ({ from, to }) => to - from,
    });
    expect(await call(tool, { from: 1, to: 3 })).toBe(2);
    expect(await call(tool, { from: 3, to: 1 })).toBe("Invalid arguments: /to must not be less than /from");
    expect(await call(tool, { from: "3", to: 1 })).toBe("Invalid arguments: /from must be integer");
    expect(seen).toEqual([
      [1, 3],
      [3, 1],
    ]);
  });

  test.each<[string, () => unknown, string]>([
    [
      "throws",
      () => {
        throw new Error("database is down");
      },
      "database is down",
    ],
    [
      "is asynchronous",
      async () => {
        throw new Error("late");
      },
      "did not return a list of strings",
    ],
    ["returns nothing", () => undefined, "did not return a list of strings"],
    ["returns something else", () => [1], "did not return a list of strings"],
  ])("refuses the call if the tool's own validation %s", async (_case, validate, detail) => {
    const { events, seen } = recordEvents();
    const host = (): never => expect.unreachable("the call must not run");
    const tool = { ...TOOL, inputSchema: {}, validate, host } as unknown as Tool;
    const execution = await dispatchTool(await contextFor([tool], { events }), "{}");
    expect(execution.error).toMatchObject({
      code: "validation_error",
      message: "Invalid arguments: the tool could not validate them",
      effect: "none",
    });
    expect(seen.at(-1)).toMatchObject({ type: "tool.failed", detail: expect.stringContaining(detail) });
  });
});

describe("defineTool with a Standard Schema", () => {
  const Range = z
    .object({
      from: z.int(),
      to: z.int().default(10),
      email: z.email().optional(),
      label: z.string().transform((text) => text.length),
    })
    .refine(({ from, to }) => from <= to, { message: "must not be less than /from", path: ["to"] });

  const range = defineTool({
    ...TOOL,
    inputSchema: Range,
    host: (input) => {
      expectTypeOf(input).toEqualTypeOf<z.input<typeof Range>>();
      return { label: input.label, to: input.to ?? null };
    },
  });

  test("registers the JSON Schema of the input, and types the host function by the library", async () => {
    expect(range.inputSchema).toMatchObject({
      type: "object",
      properties: { from: { type: "integer" }, label: { type: "string" } },
      required: ["from", "label"],
    });
    const [definition] = new ToolRegistry().register(range).definitions();
    expect(Object.keys(definition?.inputSchema ?? {})).not.toContain("~standard");
    expect(await call(range, { from: 1, to: 2, label: "ab" })).toEqual({ label: "ab", to: 2 });
  });

  test("passes the arguments on as they were validated, without the library's defaults and transforms", async () => {
    expect(await call(range, { from: 1, label: "ab" })).toEqual({ label: "ab", to: null });
  });

  test("checks the JSON Schema first, then everything that the library checks", async () => {
    expect(await call(range, { from: 1.5, label: "ab" })).toBe("Invalid arguments: /from must be integer");
    expect(await call(range, { from: 3, to: 1, label: "ab" })).toBe(
      "Invalid arguments: /to must not be less than /from",
    );
    // The default of `to` takes part in the check.
    expect(await call(range, { from: 11, label: "ab" })).toBe(
      "Invalid arguments: /to must not be less than /from",
    );
  });

  test("runs a validation of the tool's own after the library's", async () => {
    const tool = defineTool({
      ...TOOL,
      inputSchema: z.object({ n: z.number() }).refine(({ n }) => n > 0, "must be positive"),
      validate: ({ n }) => (n % 2 === 0 ? [] : ["/n must be even"]),
      host: ({ n }) => n,
    });
    expect(await call(tool, { n: -1 })).toBe("Invalid arguments: must be positive");
    expect(await call(tool, { n: 1 })).toBe("Invalid arguments: /n must be even");
    expect(await call(tool, { n: 2 })).toBe(2);
  });

  test("refuses calls if the library validates asynchronously", async () => {
    const { events, seen } = recordEvents();
    const tool = defineTool({
      ...TOOL,
      inputSchema: z.object({ id: z.string().refine(async () => false) }),
      host: (): never => expect.unreachable("the call must not run"),
    });
    const { error } = await dispatchTool(await contextFor([tool], { events }), '{"id":"a"}');
    expect(error?.message).toBe("Invalid arguments: the tool could not validate them");
    const detail = "the Standard Schema of 'zod' validates asynchronously, which is not supported";
    expect(seen.at(-1)).toMatchObject({ detail: expect.stringContaining(detail) });
  });

  test("takes schemas that are functions, and those without a validation", async () => {
    const standard = {
      version: 1,
      vendor: "test",
      jsonSchema: { input: () => ({ type: "object" }) },
    } as const;
    const schema = Object.assign(() => {}, { "~standard": standard });
    const tool = defineTool({ ...TOOL, inputSchema: schema, host: () => "ran" });
    expect(tool).not.toHaveProperty("validate");
    expect(await call(tool, {})).toBe("ran");
    expect(await call(tool, 1)).toBe("Invalid arguments: must be object");
  });

  test("refuses a schema that has no JSON Schema, or that JSON Schema cannot express", () => {
    const old = { "~standard": { version: 1, vendor: "old", validate: () => ({ issues: undefined }) } };
    expect(() => defineTool({ ...TOOL, inputSchema: old as never })).toThrow(
      expect.objectContaining({
        code: "invalid_schema",
        message:
          "at the root: the Standard Schema of 'old' cannot be converted to JSON Schema: it has no '~standard.jsonSchema'",
      }),
    );
    const date = z.object({ at: z.date() });
    expect(() => defineTool({ ...TOOL, inputSchema: date })).toThrow(
      "the Standard Schema of 'zod' cannot be converted to JSON Schema: Date cannot be represented",
    );
  });
});

describe("The embedder's value", () => {
  interface App {
    readonly user: string;
  }
  const whoami = defineTool({
    ...TOOL,
    inputSchema: { type: "object" },
    host: (_input, { embedder }: HostContext<App>) => embedder.user,
  });

  test("has the type that the tools of the registry need, and is required then", async () => {
    const engine = new ToolDispatchEngine();
    await using sandboxes = await openSandboxes();
    const registry = new ToolRegistry<App>().register(whoami);
    const ctx = { registry, policy: new HostPolicy(), sandboxes, sessionId: "session" };
    const given = { id: "1", name: "tool", arguments: {} };
    const execution = await engine.dispatch(given, { ...ctx, embedder: { user: "ada" } });
    expect(execution?.output).toBe("ada");
    // @ts-expect-error: the registry's tools need an embedder
    expect((await engine.dispatch(given, ctx))?.success).toBe(false);
    // @ts-expect-error: of this type
    expect((await engine.dispatch(given, { ...ctx, embedder: { user: 1 } }))?.output).toBe(1);
  });

  test("cannot be missing from the type of a registry whose tools need it", () => {
    // @ts-expect-error: this registry's tools need no embedder
    new ToolRegistry().register(whoami);
    expectTypeOf<DispatchContext>().toExtend<{ readonly embedder?: unknown }>();
    expectTypeOf<DispatchContext<App>["embedder"]>().toEqualTypeOf<App>();
    const anyTool = defineTool({ ...TOOL, inputSchema: {}, host: () => 1 });
    expect(new ToolRegistry<App>().register(anyTool).size).toBe(1);
  });
});
