import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import type { ToolRegistryOptions } from "../../../src/engine/registered-tool.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import type { CanonicalJson } from "../../../src/json/canonical.ts";
import type { JsonObject, JsonValue } from "../../../src/json/value.ts";
import { allow, type PolicyRequest } from "../../../src/policy/policy.ts";
import type { SandboxMode } from "../../../src/tool/sandbox-mode.ts";
import { contextFor, dispatchTool, hostTool, recordEvents } from "../helpers.ts";

const inputSchema = {
  type: "object",
  properties: { a: { type: "string" }, b: { type: "integer" } },
  additionalProperties: false,
};

const messageOf = async (args: JsonValue, schema: JsonObject = inputSchema): Promise<string | undefined> =>
  (await dispatchTool(await contextFor([hostTool(() => 1, { inputSchema: schema })]), args)).error?.message;

describe("invalid arguments", () => {
  test.each<[string, string, string]>([
    ["a JSON syntax error", '{"a":"é😀",}', "Invalid JSON: unexpected token at position 11"],
    ["an empty text", "", "Invalid JSON: unexpected end at position 0"],
    [
      "a number that would lose precision",
      '{"b":9007199254740993}',
      "Invalid arguments: an integer that a double cannot hold exactly (send it as a string) at position 5",
    ],
    [
      "a number that overflows",
      '{"b":1e999}',
      "Invalid arguments: a number that is too large for a double at position 5",
    ],
    [
      "an object within a string",
      '"{\\"a\\":\\"x\\"}"',
      "Invalid arguments: the arguments are a string that holds JSON: send the object itself; must be object",
    ],
    ["an unknown argument", '{"c":1}', "Invalid arguments: must NOT have additional properties: 'c'"],
  ])("%s is refused with a text that says what to correct", async (_case, text, message) => {
    expect(await messageOf(text)).toBe(message);
  });

  test("unknown arguments reach the tool if the schema allows them", async () => {
    const ctx = await contextFor([hostTool((input) => input)]);
    expect((await dispatchTool(ctx, '{"extra":1}')).output).toEqual({ extra: 1 });
  });
});

describe("null in an optional argument", () => {
  const outputOf = async (more: Partial<Tool>, options: ToolRegistryOptions = {}): Promise<unknown> => {
    const registry = new ToolRegistry(options).register(hostTool((input) => input, { inputSchema, ...more }));
    const { output, error } = await dispatchTool(await contextFor([], { registry }), '{"a":"x","b":null}');
    return error?.message ?? output;
  };

  test("null in an optional argument is dropped by default, for the tool and in the execution", async () => {
    const ctx = await contextFor([hostTool((input) => input, { inputSchema })]);
    const execution = await dispatchTool(ctx, '{"a":"x","b":null}');
    expect([execution.output, execution.arguments]).toEqual([{ a: "x" }, { a: "x" }]);
  });

  test("null in an optional argument follows the rule of the registry unless the tool has one", async () => {
    expect(await outputOf({}, { nullForOptional: "reject" })).toBe("Invalid arguments: /b must be integer");
    expect(await outputOf({ nullForOptional: "absent" }, { nullForOptional: "reject" })).toEqual({ a: "x" });
    expect(await outputOf({ nullForOptional: "reject" })).toBe("Invalid arguments: /b must be integer");
  });

  test("null in an optional argument follows the same rule in a subset of the registry", async () => {
    const whole = new ToolRegistry({ nullForOptional: "reject" });
    const registry = whole.subset().register(hostTool((input) => input, { inputSchema }));
    const { error } = await dispatchTool(await contextFor([], { registry }), { b: null });
    expect(error?.message).toBe("Invalid arguments: /b must be integer");
  });

  test("an unknown rule for arguments is refused", () => {
    expect(() => new ToolRegistry({ nullForOptional: "maybe" as "absent" })).toThrow(
      /nullForOptional must be/,
    );
    expect(() => new ToolRegistry().register(hostTool(() => 1, { coerce: 1 as unknown as boolean }))).toThrow(
      /coerce must be/,
    );
  });
});

test("a number given as a string is coerced if the tool has the rule", async () => {
  const tool = hostTool((input) => input, { inputSchema, coerce: true });
  expect((await dispatchTool(await contextFor([tool]), { b: "5" })).output).toEqual({ b: 5 });
});

describe("the canonical form", () => {
  test("the canonical form is the same for the policy and listeners, and matches what runs", async () => {
    const { events, seen } = recordEvents();
    let asked: PolicyRequest | undefined;
    const policy = {
      check: (request: PolicyRequest) => {
        asked = request;
        return allow({ sandbox: "host" });
      },
    };
    const ctx = await contextFor([hostTool((input) => Object.keys(input))], { policy, events });
    await dispatchTool(ctx, '{"b":1,"a":-0}');
    const started = seen.find(({ type }) => type === "tool.started") as unknown as {
      canonical: CanonicalJson;
    };
    expect(asked?.canonical.text).toBe('{"a":0,"b":1}');
    expect(started.canonical).toBe(asked?.canonical);
    expect(JSON.parse(JSON.stringify(started))).toMatchObject({
      canonical: { digest: asked?.canonical.digest },
    });
  });

  test("the canonical form is what is sent to QuickJS and to a remote endpoint", async () => {
    const bodies: string[] = [];
    const server = createServer(async (request, response) => {
      bodies.push(Buffer.concat(await request.toArray()).toString());
      response.end("null");
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    let sandbox: SandboxMode = "quickjs";
    const policy = { check: () => allow({ sandbox }) };
    const source = "export default (input) => JSON.stringify(input)";
    const tool = hostTool(() => 1, { quickjs: { source }, remote: { url } } as Partial<Tool>);
    const ctx = await contextFor([tool], { policy });
    expect((await dispatchTool(ctx, '{"b":[2,1],"a":"é"}')).output).toBe('{"a":"é","b":[2,1]}');
    sandbox = "remote";
    await dispatchTool(ctx, '{"b":[2,1],"a":"é"}');
    expect(bodies).toEqual([expect.stringMatching(/"arguments":\{"a":"é","b":\[2,1\]\}\}$/)]);
    server.close();
    await (ctx.sandboxes as unknown as AsyncDisposable)[Symbol.asyncDispose]();
  });
});
