import { generateKeyPairSync } from "node:crypto";
import { createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Executor } from "../../src/executor/executor.ts";
import { isBasePath } from "../../src/http/listen-address.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { openSandboxes, type Sandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { CountingTool, startExecutor } from "../executor/harness.ts";
import { callOn } from "../sandboxes/remote/executor-client/setting.ts";

const { publicKey, privateKey } = generateKeyPairSync("ed25519");

/** A reverse proxy that keeps the host of requests. */
class PrefixProxy {
  /** The values of the header `sandgate-session`. */
  readonly sessions: unknown[] = [];
  /** The executors by the prefixes of their paths. */
  readonly executors = new Map<string, Executor>();
  /** @param strips Whether it removes the prefix. */
  static async start(strips: boolean): Promise<{ proxy: PrefixProxy; host: string }> {
    const proxy = new PrefixProxy();
    const server = createServer((incoming, outgoing) => {
      proxy.sessions.push(incoming.headers["sandgate-session"]);
      const [, prefix = "", path = ""] = /^(\/[a-z]+)(\/.*)$/.exec(incoming.url ?? "") ?? [];
      const { hostname, port } = new URL(`http://${proxy.executors.get(prefix)?.address}`);
      const target = { hostname, port, path: strips ? path : incoming.url };
      const { method, headers } = incoming;
      const passed = send({ ...target, method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(outgoing);
      });
      incoming.pipe(passed);
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return { proxy, host: `127.0.0.1:${(server.address() as AddressInfo).port}` };
  }
}

async function signing(): Promise<Sandboxes> {
  const sandboxes = await openSandboxes({ remote: { signingKey: privateKey, keyId: "k" } });
  onTestFinished(() => sandboxes.close());
  return sandboxes;
}

const started = (counting: CountingTool, host: string, basePath: string): Promise<Executor> =>
  startExecutor([counting.tool], { keys: new Map([["k", publicKey]]), hosts: [host], basePath });

describe("an executor with a base path", () => {
  test.each([
    ["removes", true],
    ["keeps", false],
  ])("signed calls arrive through a proxy that %s the base path, and directly", async (_case, strips) => {
    const { proxy, host } = await PrefixProxy.start(strips);
    const executor = await started(new CountingTool(), host, "/base");
    proxy.executors.set("/base", executor);
    const sandboxes = await signing();
    for (const authority of [host, executor.address]) {
      const { success, error } = await callOn(`http://${authority}/base/`, "count", sandboxes);
      expect(error).toBeUndefined();
      expect(success).toBe(true);
    }
  });

  test("a signature for another base path of the same host is refused", async () => {
    const { proxy, host } = await PrefixProxy.start(true);
    const counting = new CountingTool();
    proxy.executors.set("/staging", await started(counting, host, "/production"));
    const sandboxes = await signing();
    const { error } = await callOn(`http://${host}/staging`, "count", sandboxes);
    expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    expect(error?.message).toMatch(/signature/);
    expect(counting.calls).toBe(0);
  });

  test("a signature without the base path is refused", async () => {
    const counting = new CountingTool();
    const executor = await started(counting, "unused", "/base");
    const { error } = await callOn(`http://${executor.address}`, "count", await signing());
    expect([error?.effect, counting.calls]).toEqual(["none", 0]);
  });

  test("a reload keeps the base path", async () => {
    const executor = await started(new CountingTool(), "unused", "/base");
    const registry = new ToolRegistry().register(new CountingTool().tool);
    executor.reload({ registry, policy: new HostPolicy(), keys: new Map([["k", publicKey]]) });
    const { success } = await callOn(`http://${executor.address}/base`, "count", await signing());
    expect(success).toBe(true);
  });

  test.each([
    "base",
    "/",
    "/base/",
    "/a/../b",
    "/a//b",
    "/a b",
    "/a?b",
    "/.hidden",
    `/${"a".repeat(300)}`,
  ])("the base path %j is refused", async (basePath) => {
    expect(isBasePath(basePath)).toBe(false);
    await expect(startExecutor([], { basePath })).rejects.toThrow(/^basePath must be a path/);
  });
});

test("a proxy can route by session: calls of a session have the same header, and others do not", async () => {
  const { proxy, host } = await PrefixProxy.start(true);
  proxy.executors.set("/base", await started(new CountingTool(), host, "/base"));
  const sandboxes = await signing();
  for (const sessionId of ["one", "two\r\nx: y", "one"]) {
    await callOn(`http://${host}/base`, "count", sandboxes, { context: { sessionId } });
  }
  const [first, second, third] = proxy.sessions;
  expect(first).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(third).toBe(first);
  expect(second).not.toBe(first);
});
