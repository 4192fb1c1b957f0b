import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import {
  isMcpImplementation,
  type McpServerState,
} from "../../../src/tool/implementations/remote-implementation.ts";
import { unavailable } from "../../sandboxes/process/availability.ts";
import { bodyOf, serve } from "./http-servers.ts";
import { hostile, type OpenedMcp, open } from "./open-hostile.ts";

const PAUSED = /did not answer several calls in a row.*this call was not sent\. Call the tool again later/;
const BUSY = /is busy with other calls: this one was not sent\. Call the tool again later/;

function stateOf(opened: OpenedMcp, name: string): McpServerState {
  const { remote } = opened.registry.find(name)?.tool ?? {};
  if (!isMcpImplementation(remote)) throw new Error(`${name} is no tool of an MCP server`);
  return remote.mcp.state;
}

function errorOf({ error }: ToolExecution): string {
  return `${error?.code}, ${error?.effect}: ${error?.message}`;
}

/** Makes calls until whose end, and for so many pings, the server says nothing. */
async function silence(
  opened: OpenedMcp,
  { count, pings, wallTimeMs = 300 }: { count: number; pings: number; wallTimeMs?: number },
): Promise<readonly ToolExecution[]> {
  const calls = Array.from({ length: count }, () =>
    opened.call("mcp_h_x", { a: `silence ${pings}` }, { wallTimeMs }),
  );
  return await Promise.all(calls);
}

const isPaused = (opened: OpenedMcp) => () => stateOf(opened, "mcp_h_x").isPaused;

describe.skipIf(unavailable !== undefined)("A server that does not answer", () => {
  test("gets no calls after some that it did not answer, and is tried again, while another one works", async () => {
    await using opened = await open({ h: hostile("call-some", "0"), good: hostile("ok") });
    for (const { error } of await silence(opened, { count: 5, pings: 5 }))
      expect(error?.code).toBe("timeout");
    await expect.poll(isPaused(opened), { timeout: 10_000 }).toBe(true);
    expect(stateOf(opened, "mcp_h_x")).toMatchObject({ isConnected: true, running: 0 });
    const refused = await opened.call("mcp_h_x", { a: "hang" });
    expect(errorOf(refused)).toMatch(/^sandbox_unavailable, none/);
    expect(errorOf(refused)).toMatch(PAUSED);
    expect(stateOf(opened, "mcp_h_x").refusedPaused).toBe(1);
    expect((await opened.call("mcp_good_x")).success).toBe(true);
    await opened.notice(({ server, message }) => server === "h" && message.includes("5 calls in a row"));
    await expect
      .poll(() => opened.call("mcp_h_x").then(({ success }) => success), { timeout: 10_000 })
      .toBe(true);
    await opened.notice(({ message }) => message === "it answers calls again");
    expect(stateOf(opened, "mcp_h_x").isPaused).toBe(false);
  });

  test("remains paused if the call that tries it is not answered either, and one that tries it is the only one", async () => {
    await using opened = await open({ h: { ...hostile("call-some", "0"), calls: { maxFaults: 2 } } });
    await silence(opened, { count: 2, pings: 3 });
    await expect.poll(isPaused(opened), { timeout: 10_000 }).toBe(true);
    let tried: readonly ToolExecution[] = [];
    await expect
      .poll(
        async () => {
          tried = await silence(opened, { count: 3, pings: 3 });
          return tried.some(({ error }) => error?.code === "timeout");
        },
        { timeout: 10_000 },
      )
      .toBe(true);
    expect(tried.map(({ error }) => error?.code).sort()).toEqual([
      "sandbox_unavailable",
      "sandbox_unavailable",
      "timeout",
    ]);
    expect(stateOf(opened, "mcp_h_x").isPaused).toBe(true);
    const announced = opened.notices.filter(({ message }) => message.includes("calls in a row"));
    expect(announced).toHaveLength(1);
  });

  test("is not paused by calls that take longer than their callers allow", async () => {
    await using opened = await open({ h: { ...hostile("call-some", "0"), calls: { maxFaults: 1 } } });
    for (let round = 0; round < 3; round++) {
      expect((await opened.call("mcp_h_x", { a: "hang" }, { wallTimeMs: 200 })).error?.code).toBe("timeout");
      expect((await opened.call("mcp_h_x")).success).toBe(true);
      expect(stateOf(opened, "mcp_h_x")).toMatchObject({ isPaused: false, refusedPaused: 0 });
    }
  });

  test("is not paused by calls that someone cancelled, nor by errors that it answered", async () => {
    await using opened = await open({
      h: { ...hostile("call-some", "0"), calls: { maxFaults: 1 } },
      errors: { ...hostile("call-error"), calls: { maxFaults: 1 } },
    });
    const calls = Array.from({ length: 3 }, () => {
      const stopping = new AbortController();
      setTimeout(() => stopping.abort(), 100);
      return opened.call("mcp_h_x", { a: "hang" }, { signal: stopping.signal });
    });
    for (const { error } of await Promise.all(calls)) expect(error?.code).toBe("cancelled");
    expect((await opened.call("mcp_errors_x")).error?.code).toBe("execution_error");
    expect(stateOf(opened, "mcp_h_x").isPaused).toBe(false);
    expect(stateOf(opened, "mcp_errors_x").isPaused).toBe(false);
    expect((await opened.call("mcp_h_x")).success).toBe(true);
  });
});

describe.skipIf(unavailable !== undefined)("A server that is full", () => {
  test("gets as many calls at once as it may have, and others wait, or fail at once", async () => {
    const calls = { maxConcurrent: 2, maxWaiting: 3 };
    await using opened = await open({ h: { ...hostile("call-some", "200"), calls } });
    const executions = await Promise.all(Array.from({ length: 7 }, () => opened.call("mcp_h_x")));
    const done = executions.filter(({ success }) => success);
    expect(done.map(({ output }) => JSON.stringify(output))).toEqual(
      Array.from({ length: 5 }, () => expect.stringMatching(/at most [12] at once/)),
    );
    const failed = executions.filter(({ success }) => !success);
    expect(failed).toHaveLength(2);
    for (const execution of failed) {
      expect(errorOf(execution)).toMatch(/^sandbox_unavailable, none/);
      expect(errorOf(execution)).toMatch(BUSY);
    }
    expect(stateOf(opened, "mcp_h_x")).toMatchObject({ running: 0, waiting: 0, refusedBusy: 2 });
  });

  test("has calls wait no longer than they may, without their wall time, and lets go of those that are cancelled", async () => {
    const calls = { maxConcurrent: 1, maxWaitMs: 600, maxFaults: 100 };
    await using opened = await open({ h: { ...hostile("call-some", "0"), calls }, good: hostile("ok") });
    const first = opened.call("mcp_h_x", { a: "hang" }, { wallTimeMs: 5_000 });
    await expect.poll(() => stateOf(opened, "mcp_h_x").running).toBe(1);
    const stopping = new AbortController();
    const waiting = opened.call("mcp_h_x", {}, { wallTimeMs: 100 });
    const cancelled = opened.call("mcp_h_x", {}, { signal: stopping.signal });
    await expect.poll(() => stateOf(opened, "mcp_h_x").waiting).toBe(2);
    stopping.abort();
    expect(errorOf(await cancelled)).toMatch(/^cancelled, none/);
    expect(errorOf(await waiting)).toMatch(
      /^sandbox_unavailable, none: .*never began: it waited 6\d\dms for its turn/,
    );
    expect((await opened.call("mcp_good_x")).success).toBe(true);
    expect((await first).error?.code).toBe("timeout");
    expect((await opened.call("mcp_h_x")).success).toBe(true);
  });

  test("has those fail at once that wait when it turns out not to answer", async () => {
    const calls = { maxConcurrent: 2, maxFaults: 2 };
    await using opened = await open({ h: { ...hostile("call-some", "0"), calls } });
    const executions = await silence(opened, { count: 20, pings: 100, wallTimeMs: 1_500 });
    const codes = Map.groupBy(executions, ({ error }) => error?.code);
    expect(codes.get("timeout")?.length).toBeLessThan(20);
    for (const execution of codes.get("sandbox_unavailable") ?? [])
      expect(errorOf(execution)).toMatch(PAUSED);
    expect(stateOf(opened, "mcp_h_x")).toMatchObject({ running: 0, waiting: 0, isPaused: true });
  });

  test("is no server with such numbers", async () => {
    const server = { ...hostile("ok"), calls: { maxConcurrent: 0 } };
    await expect(open({ h: server })).rejects.toThrow(
      "calls.maxConcurrent of the MCP server 'h' must be a whole number from 1",
    );
    await expect(open({ h: { ...hostile("ok"), calls: { most: 1 } as object } })).rejects.toThrow("most");
  });
});

describe("A server over HTTP", () => {
  let requests = 0;
  let server: Server;

  /** Answers as a server of 2025-11-25, until `isDown`. */
  async function start(respond: () => number): Promise<string> {
    server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => {
        if (request.method !== "POST") return void response.writeHead(405).end();
        const { id, method } = JSON.parse(body) as { id?: number; method: string };
        const results: Record<string, object> = {
          initialize: {
            protocolVersion: "2025-11-25",
            capabilities: { tools: {} },
            serverInfo: { name: "s", version: "1" },
          },
          "tools/list": { tools: [{ name: "x", inputSchema: { type: "object" } }] },
          "tools/call": { content: [] },
        };
        if (method === "tools/call") requests++;
        const status = method === "tools/call" ? respond() : 200;
        const result = results[method];
        if (id === undefined) return void response.writeHead(202).end();
        if (status !== 200) return void response.writeHead(status).end("no");
        const answer = result ? { result } : { error: { code: -32_601, message: "no" } };
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  }

  test("that does not know pings, and says so with HTTP 400, stays connected after a call that ran out of time", async () => {
    let hangs = true;
    const methods: string[] = [];
    await using served = await serve(async (request, response) => {
      const { id, method } = await bodyOf(request);
      methods.push(method);
      if (request.method !== "POST") return void response.writeHead(405).end();
      if (id === undefined) return void response.writeHead(202).end();
      if (method === "ping") return void response.writeHead(400).end("no");
      if (method === "tools/call" && hangs) return;
      const results: Record<string, object> = {
        initialize: {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "s", version: "1" },
        },
        "tools/list": { tools: [{ name: "x", inputSchema: { type: "object" } }] },
        "tools/call": { content: [] },
      };
      const result = results[method];
      const answer = result ? { result } : { error: { code: -32_601, message: "no" } };
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "s1" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
    });
    await using opened = await open({ web: { ...served.options, calls: { maxFaults: 1 } } });
    expect((await opened.call("mcp_web_x", {}, { wallTimeMs: 100 })).error?.code).toBe("timeout");
    await expect.poll(() => methods).toContain("ping");
    hangs = false;
    expect((await opened.call("mcp_web_x")).success).toBe(true);
    expect(stateOf(opened, "mcp_web_x").isPaused).toBe(false);
    expect(methods.filter((each) => each === "initialize")).toHaveLength(1);
  });

  test.each([429, 502, 503])("that says %d gets no calls for a while, too", async (status) => {
    requests = 0;
    let isFull = true;
    const url = await start(() => (isFull ? status : 200));
    const calls = { maxFaults: 3 };
    await using opened = await open({ web: { url, addresses: ["127.0.0.1/32"], calls } });
    for (let call = 0; call < 3; call++) expect((await opened.call("mcp_web_x")).success).toBe(false);
    const sent = requests;
    expect(errorOf(await opened.call("mcp_web_x"))).toMatch(PAUSED);
    expect(requests).toBe(sent);
    isFull = false;
    await expect
      .poll(() => opened.call("mcp_web_x").then(({ success }) => success), { timeout: 15_000 })
      .toBe(true);
    server.closeAllConnections();
    server.close();
  });
});
