import { afterAll, describe, expect, expectTypeOf, test } from "vitest";
import { callTool } from "../../src/direct/call-tool.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistrationError } from "../../src/engine/registered-tool.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { defineTool, type Tool } from "../../src/engine/tool.ts";
import type { JsonValue } from "../../src/json/value.ts";
import { allow, ask, type PolicyRequest } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { contextFor, dispatchTool, hostTool, recordEvents } from "./helpers.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const echo = defineTool({
  name: "tool",
  description: "Returns its input.",
  freeform: true,
  validate: (text) => (text === "refused" ? ["not this text"] : []),
  host: (text) => {
    expectTypeOf(text).toEqualTypeOf<string>();
    return text;
  },
});

describe("a free-form tool", () => {
  test("gets its text as it is, whether or not it looks like JSON", async () => {
    const ctx = await contextFor([echo]);
    for (const text of ["SELECT 1", '{"a":1}', '"quoted"', "", " 12345678901234567890 ", "[1,"]) {
      const execution = await dispatchTool(ctx, text);
      expect([execution.output, execution.arguments]).toEqual([text, text]);
      expect(ctx.registry.validate("tool", text)).toEqual({ input: text });
    }
    expect(await callTool(echo, "SELECT 1")).toMatchObject({ output: "SELECT 1" });
  });

  test("shows policies, events and sandboxes a JSON string", async () => {
    const { events, seen } = recordEvents();
    const requests: JsonValue[] = [];
    const policy = {
      check: ({ input, tool }: PolicyRequest) => {
        requests.push(input);
        return allow({ sandbox: tool.sandboxes[0] ?? "host" });
      },
    };
    const quickjs = { source: "export default (input) => [typeof input, input.length]" };
    const { host: _, ...rest } = echo;
    const ctx = await contextFor([{ ...rest, quickjs }], { policy, events, sandboxes });
    expect((await dispatchTool(ctx, "{}")).output).toEqual(["string", 2]);
    expect(requests).toEqual(["{}"]);
    expect(seen[0]).toMatchObject({ type: "tool.started", canonical: { text: '"{}"' } });
  });

  test("refuses what is not a text, a text with half a character, and what its own validation refuses", async () => {
    const ctx = await contextFor([echo]);
    const problemOf = async (args: unknown): Promise<string | undefined> =>
      (await dispatchTool(ctx, args)).error?.message;
    expect(await problemOf({ input: "x" })).toBe("Invalid arguments: must be string");
    expect(await problemOf("\ud800")).toBe("Invalid arguments: / has an unpaired surrogate");
    expect(await problemOf("refused")).toBe("Invalid arguments: not this text");
  });

  test("gets the same text from another tool, which writes it as JSON", async () => {
    const source = `export default async (_, { tools }) => tools.call("tool", '{"a":1}')`;
    const outer: Tool = hostTool(() => null, { name: "outer", quickjs: { source } });
    const policy = {
      check: ({ tool }: PolicyRequest) =>
        tool.name === "outer"
          ? allow({ sandbox: "quickjs", capabilities: { tools: ["*"] } })
          : allow({ sandbox: "host" }),
    };
    const ctx = await contextFor([echo, outer], { policy, sandboxes });
    const execution = await new ToolDispatchEngine().dispatch({ id: "1", name: "outer", arguments: {} }, ctx);
    expect(execution).toMatchObject({ success: true, output: '{"a":1}' });
  });

  test("gets the text that a person wrote, even if another tool made the call", async () => {
    const source = `export default async (_, { tools }) => tools.call("tool", "original")`;
    const outer: Tool = hostTool(() => null, { name: "outer", quickjs: { source } });
    const policy = {
      check: ({ tool }: PolicyRequest) =>
        tool.name === "outer"
          ? allow({ sandbox: "quickjs", capabilities: { tools: ["*"] } })
          : ask("Run it?", { grant: { sandbox: "host" } }),
    };
    const confirm = async () => ({ decision: "allow", by: "ada", arguments: '"edited"' }) as const;
    const ctx = await contextFor([echo, outer], { policy, sandboxes, confirm });
    const engine = new ToolDispatchEngine();
    for (const name of ["outer", "tool"]) {
      const execution = await engine.dispatch({ id: name, name, arguments: name === "tool" ? "x" : {} }, ctx);
      expect(execution).toMatchObject({ output: '"edited"' });
    }
  });

  test("has no schema of its own, and is described as what it is", () => {
    const registry = new ToolRegistry().register(echo);
    expect(registry.definitions()).toEqual([
      { name: "tool", description: "Returns its input.", inputSchema: { type: "string" }, freeform: true },
    ]);
    const wrong = { ...echo, inputSchema: { type: "object" } };
    expect(() => new ToolRegistry().register(wrong)).toThrow(ToolRegistrationError);
    expect(() => new ToolRegistry().register({ ...echo, freeform: 1 as unknown as boolean })).toThrow(
      /freeform must be true or false/,
    );
  });

  test("has another definition digest than a tool that takes a JSON string", () => {
    const json = { ...echo, freeform: false };
    const digests = [echo, json].map(
      (tool) => new ToolRegistry().register(tool).subjects[0]?.definition?.digest,
    );
    expect(digests[0]).not.toBe(digests[1]);
  });
});
