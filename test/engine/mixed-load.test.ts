import { existsSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import type { ToolImplementations } from "../../src/tool/implementations/implementations.ts";
import { contractComponent } from "../fixtures/wasm/contract-component.ts";

const worker = new URL("../fixtures/worker/contract.ts", import.meta.url);
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  response.end(JSON.stringify(JSON.parse(Buffer.concat(chunks).toString()).arguments));
});
let tools: Record<string, ToolImplementations>;

beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const component = await contractComponent();
  tools = {
    host: { host: async (input) => input },
    host_fails: { host: () => Promise.reject(new Error("no")) },
    worker: { host: { module: worker, export: "echo" } },
    worker_exits: { host: { module: worker, export: "exit" } },
    quickjs: { quickjs: { source: "export default (input) => input" } },
    quickjs_loops: { quickjs: { source: "export default () => { for (;;); }" } },
    wasm: { wasm: { component, tool: "echo" } },
    wasm_traps: { wasm: { component, tool: "trap" } },
    remote: { remote: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` } },
  };
}, 120_000);
afterAll(() => void server.close());

/** The number of open sockets of this process, and of its threads if the system reports it. */
function held(): { sockets: number; threads: number | undefined } {
  const sockets = process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;
  const threads = existsSync("/proc/self/task") ? readdirSync("/proc/self/task").length : undefined;
  return { sockets, threads };
}

test("1,000 concurrent calls of all kinds get one result each, and leave no sockets, threads or memory", async () => {
  const registry = new ToolRegistry();
  for (const [name, implementations] of Object.entries(tools)) {
    registry.register({ name, description: "", inputSchema: { type: "object" }, ...implementations });
  }
  const engine = new ToolDispatchEngine();
  const names = registry.names;
  const wallTimeMs = 60_000;

  async function round(count: number): Promise<void> {
    await using sandboxes = await openSandboxes({ workers: { threads: 2, maxWaitMs: 120_000 } });
    const ctx = {
      registry,
      policy: {
        check: ({
          tool,
        }: {
          tool: {
            name: string;
            sandboxes: readonly ("host" | "wasm" | "quickjs" | "process" | "microvm" | "remote")[];
          };
        }) =>
          allow({
            sandbox: tool.sandboxes[0] ?? "host",
            limits: { wallTimeMs: tool.name.endsWith("_loops") ? 10 : wallTimeMs },
          }),
      },
      sandboxes,
      sessionId: "load",
    };
    const calls = Array.from({ length: count }, (_, n) => ({
      id: `call-${n}`,
      name: names[n % names.length] ?? "host",
      arguments: { n },
    }));
    const executions = await Promise.all(calls.map((call) => engine.dispatch(call, ctx)));
    for (const [n, execution] of executions.entries()) {
      expect(execution?.callId).toBe(`call-${n}`);
      const expected = {
        _fails: "execution_error",
        _exits: "execution_error",
        _traps: "execution_error",
        _loops: "timeout",
      };
      const kind = /_\w+$/.exec(execution?.toolName ?? "")?.[0] as keyof typeof expected | undefined;
      if (kind === undefined) expect(execution).toMatchObject({ success: true, output: { n } });
      else expect(execution?.error?.code).toBe(expected[kind]);
    }
  }

  await round(100);
  const idle = { sockets: 0, threads: held().threads };
  const rssBefore = process.memoryUsage().rss;
  await round(1_000);
  await expect.poll(held, { timeout: 5_000 }).toEqual(idle);
  // Threads and their heaps are gone; the rest is noise of the allocator.
  expect((process.memoryUsage().rss - rssBefore) / 2 ** 20).toBeLessThan(128);
}, 120_000);
