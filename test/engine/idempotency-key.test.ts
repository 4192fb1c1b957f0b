import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import type { DispatchContext } from "../../src/engine/call/context.ts";
import { defineTool, type Tool } from "../../src/engine/tool.ts";
import type { JsonObject } from "../../src/json/value.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import type { HostContext } from "../../src/tool/implementations/implementations.ts";
import { contextFor, dispatchTool, hostTool } from "./helpers.ts";

const keyOf = (
  _input: JsonObject,
  { idempotencyKey = null }: { idempotencyKey?: HostContext["idempotencyKey"] | null },
) => idempotencyKey;
const outputOf = async (tools: readonly Tool[], more: Partial<DispatchContext>) =>
  (await dispatchTool(await contextFor(tools, more))).output;

test("an idempotent tool gets the key of the context, and another tool does not", async () => {
  const more = { idempotencyKey: "key" };
  expect(await outputOf([hostTool(keyOf, { idempotent: true })], more)).toBe("key");
  expect(await outputOf([hostTool(keyOf)], more)).toBe(null);
  expect(await outputOf([hostTool(keyOf, { idempotent: true })], {})).toBe(null);
});

test("an idempotent module in a thread gets the key", async () => {
  const sandboxes = await openSandboxes({ workers: { threads: 1 } });
  const module = new URL("../fixtures/worker/contract.ts", import.meta.url);
  const tool = defineTool({
    name: "tool",
    description: "",
    inputSchema: {},
    idempotent: true,
    host: { module, export: "keyOf" },
  });
  expect(await outputOf([tool], { sandboxes, idempotencyKey: "key" })).toBe("key");
  await sandboxes.close();
});

test("an idempotent HTTP tool sends the key as a header, unless it has a header of this name", async () => {
  const sandboxes = await openSandboxes();
  const server = createServer(({ headers }, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(headers["idempotency-key"] ?? null));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const net = [{ origin, addresses: ["127.0.0.0/8"] }];
  const policy = { check: () => allow({ sandbox: "remote", capabilities: { net } }) };
  const sent = (headers: Record<string, string>, idempotent: boolean) => {
    const http = { method: "POST", url: `${origin}/`, headers } as const;
    const tool = { name: "tool", description: "", inputSchema: {}, idempotent, remote: { http } };
    return outputOf([defineTool(tool)], { sandboxes, policy, idempotencyKey: 'a"b' });
  };
  expect(await sent({}, true)).toBe('"a\\"b"');
  expect(await sent({ "Idempotency-Key": "mine" }, true)).toBe("mine");
  expect(await sent({}, false)).toBe(null);
  await sandboxes.close();
  server.close();
});

describe("a call that a tool makes", () => {
  /** Has a program call an idempotent tool and another one, and returns the keys that they get. */
  const keysOf = async (more: Partial<DispatchContext>, code: string): Promise<unknown> => {
    const sandboxes = await openSandboxes();
    const inner = { ...hostTool(keyOf, { idempotent: true }), name: "inner" };
    const other = { ...hostTool(keyOf), name: "other" };
    const outer = defineTool({
      name: "tool",
      description: "",
      inputSchema: {},
      idempotent: true,
      quickjs: { source: `export default async (input, { tools }) => ${code}` },
    });
    const policy = {
      check: ({ tool }: { readonly tool: { readonly name: string } }) =>
        tool.name === "tool"
          ? allow({ sandbox: "quickjs", capabilities: { tools: ["inner", "other"] } })
          : allow({ sandbox: "host" }),
    };
    const output = await outputOf([outer, inner, other], { sandboxes, policy, ...more });
    await sandboxes.close();
    return output;
  };
  const TWO = '[await tools.call("inner", {}), await tools.call("inner", {})]';

  test("gets a key of its own, the same when its caller runs again", async () => {
    const keys = await keysOf({ idempotencyKey: "key" }, TWO);
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect(new Set(keys as string[]).size).toBe(2);
    expect(await keysOf({ idempotencyKey: "key" }, TWO)).toEqual(keys);
    expect(await keysOf({ idempotencyKey: "another" }, TWO)).not.toEqual(keys);
  });

  test("gets one of its message, where the context has none for the caller", async () => {
    const place = { sessionId: "s", turnId: "t", messageId: "m" };
    const keys = await keysOf(place, TWO);
    expect(await keysOf(place, TWO)).toEqual(keys);
    for (const other of [{ sessionId: "s2" }, { turnId: "t2" }, { messageId: "m2" }])
      expect(await keysOf({ ...place, ...other }, TWO)).not.toEqual(keys);
  });

  test("gets none where nothing tells calls apart, or if its tool is not idempotent", async () => {
    expect(await keysOf({}, TWO)).toEqual([null, null]);
    expect(await keysOf({ idempotencyKey: "key" }, '[await tools.call("other", {})]')).toEqual([null]);
  });
});
