import { describe, expect, test } from "vitest";
import type { ToolExecution } from "../../src/engine/call/execution.ts";
import {
  DuplicateToolError,
  ToolNotFoundError,
  ToolRegistrationError,
  type ToolRegistryOptions,
} from "../../src/engine/registered-tool.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Tool } from "../../src/engine/tool.ts";
import { SIDE_EFFECTS } from "../../src/tool/side-effects.ts";
import { contextFor, dispatchTool, hostTool, recordEvents } from "./helpers.ts";

const tool = (name: string): Tool => hostTool(() => name, { name });

describe("a registry", () => {
  test("a registry lists tools in the order of their registration", () => {
    const registry = new ToolRegistry().register(tool("b")).register(tool("a"));
    expect(registry.names).toEqual(["b", "a"]);
    expect(registry.tools.map(({ name }) => name)).toEqual(["b", "a"]);
    expect([registry.size, registry.isEmpty, registry.has("a"), registry.has("c")]).toEqual([
      2,
      false,
      true,
      false,
    ]);
    expect(registry.get("a").name).toBe("a");
    expect(() => registry.get("toString")).toThrow(ToolNotFoundError);
  });

  test("a registry refuses a second tool of the same name unless it replaces the first", () => {
    const registry = new ToolRegistry().register(tool("a"));
    expect(() => registry.register(tool("a"))).toThrow(DuplicateToolError);
    expect(() => registry.register(tool("a"))).toThrow(ToolRegistrationError);
    registry.register(
      hostTool(() => 2, { name: "a", description: "new" }),
      { replace: true },
    );
    expect(registry.get("a").description).toBe("new");
  });

  test("a registry unregisters a tool, and reports whether it was registered", () => {
    const registry = new ToolRegistry().register(tool("a"));
    expect([registry.unregister("a"), registry.unregister("a"), registry.isEmpty]).toEqual([
      true,
      false,
      true,
    ]);
  });

  test("a view of a registry has the visible tools only, follows the registry, and cannot be changed", async () => {
    const registry = new ToolRegistry().register(tool("a")).register(tool("b"));
    const view = registry.view(({ name }) => name !== "b");
    registry.register(tool("c"));
    expect([view.names, view.size, view.isEmpty, view.has("b")]).toEqual([["a", "c"], 2, false, false]);
    expect(view.definitions().map(({ name }) => name)).toEqual(["a", "c"]);
    expect(view.subjects.map(({ name }) => name)).toEqual(["a", "c"]);
    expect(() => view.get("b")).toThrow(ToolNotFoundError);
    expect(() => view.subset("b")).toThrow(ToolNotFoundError);
    expect(view.view(({ name }) => name !== "c").names).toEqual(["a"]);
    expect(() => view.register(tool("d"))).toThrow(/cannot be changed/);
    expect(() => view.unregister("a")).toThrow(/cannot be changed/);
    const { error } = await dispatchTool({ ...(await contextFor([])), registry: view });
    expect(error?.message).toBe("Tool 'tool' not found. Available: [a, c]");
  });

  test("a subset of a registry is independent of it", () => {
    const registry = new ToolRegistry().register(tool("a")).register(tool("b"));
    const subset = registry.subset("b");
    subset.register(tool("c"));
    expect([subset.names, registry.names]).toEqual([
      ["b", "c"],
      ["a", "b"],
    ]);
    expect(() => registry.subset("a", "x")).toThrow(ToolNotFoundError);
  });

  test("a registry gives a model names, descriptions and schemas only", () => {
    const inputSchema = { type: "object" };
    expect(new ToolRegistry().register(tool("a")).definitions()).toEqual([
      { name: "a", description: "A tool.", inputSchema },
    ]);
  });

  test("a registry can change while calls run", async () => {
    const ctx = await contextFor([
      hostTool(async () => {
        ctx.registry.unregister("tool");
        ctx.registry.register(tool("late"));
        return "still here";
      }),
    ]);
    expect((await dispatchTool(ctx)).output).toBe("still here");
    expect(ctx.registry.names).toEqual(["late"]);
  });
});

describe("registered tools", () => {
  test("a registered tool keeps its schema if the original object changes", () => {
    const inputSchema = { type: "object", properties: { a: { type: "string" } } };
    const registry = new ToolRegistry().register({ ...tool("a"), inputSchema });
    inputSchema.type = "array";
    const kept = { type: "object", properties: { a: { type: "string" } } };
    expect(registry.definitions()[0]?.inputSchema).toEqual(kept);
    expect(registry.subjects[0]?.inputSchema).toEqual(kept);
  });

  test.each([
    "math.factorial",
    "files/read:v2",
    "检索",
    "a",
    "x".repeat(128),
  ])("a tool can have a name such as %s", (name) => {
    expect(new ToolRegistry().register(tool(name)).names).toEqual([name]);
  });

  test.each([
    "",
    "a b",
    "a\nb",
    "a\u00a0b",
    "a\u202eb",
    "a\u200bb",
    "a\0",
    "\ud800",
    "x".repeat(129),
  ])("a tool cannot have a name such as %j", (name) => {
    expect(() => new ToolRegistry().register(tool(name))).toThrow(/the name must be 1 to 128 printable/);
  });

  test("the schema of a tool can refer to the schemas of its registry", () => {
    const schemas = { "https://example.org/id": { type: "string", minLength: 1 } };
    const registry = new ToolRegistry({ schemas });
    registry.register({
      ...tool("a"),
      inputSchema: { properties: { id: { $ref: "https://example.org/id" } } },
    });
    expect(registry.find("a")?.schema.validate({ id: "" })).toHaveLength(1);
  });
});

describe("side effects", () => {
  test.each(
    SIDE_EFFECTS,
  )("a tool of the class %s tells policies and listeners its class", async (sideEffects) => {
    const { events, seen } = recordEvents();
    const ctx = await contextFor([hostTool(() => 1, { sideEffects, tags: ["a"] })], { events });
    await dispatchTool(ctx);
    expect(ctx.registry.subjects[0]).toMatchObject({ sideEffects, tags: ["a"] });
    expect(seen[0]).toMatchObject({ type: "tool.started", sideEffects });
  });

  test("a tool without a class counts as destructive", () => {
    const { subjects } = new ToolRegistry().register(tool("a"));
    expect(subjects[0]?.sideEffects).toBe("destructive");
  });

  test("a registry refuses arguments with a repeated member name, unless the last one shall count", async () => {
    const read = async (options?: ToolRegistryOptions): Promise<ToolExecution> => {
      const registry = new ToolRegistry(options).register(hostTool((input) => input));
      return dispatchTool(await contextFor([], { registry }), '{"path":"ok.txt","path":"../secret"}');
    };
    for (const options of [undefined, { duplicateKeys: "refuse" } as const]) {
      expect((await read(options)).error).toMatchObject({
        code: "validation_error",
        message: "Invalid arguments: a member name that the object already has at position 17",
      });
    }
    expect((await read({ duplicateKeys: "last" })).output).toEqual({ path: "../secret" });
    expect(() => new ToolRegistry({ duplicateKeys: "first" as "last" })).toThrow(/"refuse" or "last"/);
  });

  test("a registry that requires classes refuses a tool without one", () => {
    const registry = new ToolRegistry({ requireSideEffects: true });
    expect(() => registry.register(tool("a"))).toThrow(
      /the tool must declare sideEffects: one of none, read/,
    );
    expect(registry.register({ ...tool("a"), sideEffects: "read" }).has("a")).toBe(true);
  });
});

describe("invalid tools", () => {
  const reasons = (broken: unknown): readonly string[] => {
    try {
      new ToolRegistry().register(broken as Tool);
      return [];
    } catch (error) {
      expect(error).toBeInstanceOf(ToolRegistrationError);
      return (error as ToolRegistrationError).reasons;
    }
  };

  test("a tool is refused with every reason at once", () => {
    expect(reasons({ name: "no spaces", inputSchema: { type: "strnig" }, sideEffects: "maybe" })).toEqual([
      "the name must be 1 to 128 printable characters without spaces",
      "the description must be a string",
      "sideEffects must be one of none, read, write, execute, network, destructive",
      "the tool has no implementation: add one of host, wasm, quickjs, process, microvm, remote",
      expect.stringMatching(/^the input schema does not compile: .*type/),
    ]);
  });

  test.each<[string, object, RegExp]>([
    [
      "a host that is a number",
      { host: 1 },
      /host must be a function, a factory with create\(\), or a module/,
    ],
    ["an empty host", { host: {} }, /host must be a function, a factory with create\(\), or a module/],
    ["only the name of an export", { host: { export: "run" } }, /host must be a function/],
    [
      "a factory that is a module too",
      { host: { create: () => ({}), module: "/m.js" } },
      /create\(\) or a module/,
    ],
    ["a factory whose create is not a function", { host: { create: 1 } }, /host.create must be a function/],
    [
      "a module on the web",
      { host: { module: new URL("https://example.org/m.js") } },
      /host.module must be a path/,
    ],
    ["a module that is a number", { host: { module: 1 } }, /host.module must be a path/],
    [
      "an export that is not a name",
      { host: { module: "/m.js", export: 1 } },
      /host.export must be a string/,
    ],
    ["a component that is a number", { wasm: { component: 1 } }, /wasm.component/],
    [
      "a component on the web",
      { wasm: { component: new URL("https://example.org/x.wasm") } },
      /wasm.component/,
    ],
    ["both source and file", { quickjs: { source: "", file: "x.js" } }, /exactly one of source and file/],
    ["an endpoint that is a path", { remote: { url: "/tool" } }, /remote.url/],
    ["an endpoint that is a file", { remote: { url: "file:///etc/passwd" } }, /remote.url must be http/],
    ["an endpoint with a password", { remote: { url: "http://me:secret@example.org" } }, /credentials/],
  ])("a tool is refused if it has %s", (_case, implementation, reason) => {
    const found = reasons({ name: "tool", description: "", inputSchema: {}, ...implementation });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(reason);
  });

  test.each([
    undefined,
    null,
    1,
    "tool",
    [],
    () => 1,
  ])("a tool is refused if it is not an object: %s", (nothing) => {
    expect(reasons(nothing).length).toBeGreaterThan(0);
  });

  test("a tool is refused if its schema is asynchronous, since a promise would count as valid", () => {
    const inputSchema = { $async: true, type: "object" };
    expect(reasons({ ...tool("a"), inputSchema })[0]).toMatch(/\$async/);
  });

  test("a tool is refused if its schema refers to a schema that would have to be fetched", () => {
    const inputSchema = { $ref: "https://example.org/schema.json" };
    expect(reasons({ ...tool("a"), inputSchema })[0]).toMatch(/does not compile/);
  });
});
