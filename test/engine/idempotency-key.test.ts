import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import type { DispatchContext } from "../../src/engine/call/context.ts";
import { defineTool, type Tool } from "../../src/engine/tool.ts";
import type { JsonObject } from "../../src/json/value.ts";
import { allow } from "../../src/policy/decision.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import type { HostContext } from "../../src/tool/implementations/host-implementation.ts";
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
    ...{ name: "tool", description: "", inputSchema: {}, idempotent: true },
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
    const tool = { ...{ name: "tool", description: "", inputSchema: {}, idempotent }, remote: { http } };
    return outputOf([defineTool(tool)], { sandboxes, policy, idempotencyKey: 'a"b' });
  };
  expect(await sent({}, true)).toBe('"a\\"b"');
  expect(await sent({ "Idempotency-Key": "mine" }, true)).toBe("mine");
  expect(await sent({}, false)).toBe(null);
  await sandboxes.close();
  server.close();
});

test("a call that a tool makes does not get the key of its caller", async () => {
  const sandboxes = await openSandboxes();
  const inner = { ...hostTool(keyOf, { idempotent: true }), name: "inner" };
  const outer = defineTool({
    ...{ name: "tool", description: "", inputSchema: {}, idempotent: true },
    quickjs: { source: 'export default async (input, { tools }) => [await tools.call("inner", {})]' },
  });
  const policy = {
    check: ({ tool }: { readonly tool: { readonly name: string } }) =>
      tool.name === "inner"
        ? allow({ sandbox: "host" })
        : allow({ sandbox: "quickjs", capabilities: { tools: ["inner"] } }),
  };
  expect(await outputOf([outer, inner], { sandboxes, policy, idempotencyKey: "key" })).toEqual([null]);
  await sandboxes.close();
});
