import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { defineTool } from "../../../src/engine/tool.ts";
import type { ResourceLimits } from "../../../src/policy/grant/limits.ts";
import { allow } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { contextFor, dispatchTool } from "../../engine/helpers.ts";

const sandboxes = await openSandboxes();
let answer: (request: IncomingMessage, response: ServerResponse) => void = () => {};
const server = createServer((request, response) => answer(request, response));
await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
afterAll(async () => {
  await sandboxes.close();
  server.closeAllConnections();
  server.close();
});

async function call(
  reply: typeof answer,
  limits: ResourceLimits = {},
  url = `${origin}/tool?version=1`,
): Promise<ToolExecution> {
  answer = reply;
  const tool = defineTool({ name: "tool", description: "", inputSchema: {}, remote: { url } });
  const policy = { check: () => allow({ sandbox: "remote", limits: { wallTimeMs: 1_000, ...limits } }) };
  return dispatchTool(await contextFor([tool], { sandboxes, policy }), { n: 1 });
}

describe("a remote tool", () => {
  test("a call of an endpoint is one POST to its URL", async () => {
    let seen: unknown;
    await call(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const { method, url, headers } = request;
      seen = {
        method,
        url,
        type: headers["content-type"],
        body: JSON.parse(Buffer.concat(chunks).toString()),
      };
      response.end("1");
    });
    expect(seen).toEqual({
      method: "POST",
      url: "/tool?version=1",
      type: "application/json",
      body: { id: "call", name: "tool", session: "session", arguments: { n: 1 } },
    });
  });

  test.each<[string, number, string, string]>([
    ["text", 500, "connection refused", "HTTP 500: connection refused"],
    ["{ error }", 503, '{"error":"too busy"}', "HTTP 503: too busy"],
    ["{ error: { message } }", 400, '{"error":{"message":"no such user"}}', "HTTP 400: no such user"],
    ["{ message }", 403, '{"message":"not yours"}', "HTTP 403: not yours"],
    ["nothing", 502, "", "HTTP 502"],
  ])("an endpoint that fails with %s is quoted with its status", async (_case, status, body, message) => {
    const { error } = await call((_request, response) => response.writeHead(status).end(body));
    expect(error).toMatchObject({ code: "execution_error", message, effect: "unknown" });
  });

  test("a response that is not UTF-8 fails the call, instead of losing bytes", async () => {
    const { error } = await call((_request, response) => response.end(Buffer.from([0x22, 0xff, 0x22])));
    expect(error).toMatchObject({ code: "execution_error", message: "Tool returned invalid UTF-8" });
  });

  test.each([
    ["an endpoint", { url: `${origin}/tool`, http: undefined, executor: undefined }],
    ["an HTTP tool", { url: undefined, http: { url: `${origin}/tool` }, executor: undefined }],
  ])("a remote tool that is %s may have the members of other kinds as undefined", async (_kind, remote) => {
    answer = (_request, response) => response.end("1");
    const tool = defineTool({ name: "tool", description: "", inputSchema: {}, remote: remote as never });
    const capabilities = { net: [{ origin, addresses: ["127.0.0.1/32"] }] };
    const policy = { check: () => allow({ sandbox: "remote", capabilities }) };
    expect(await dispatchTool(await contextFor([tool], { sandboxes, policy }))).toMatchObject({ output: 1 });
  });

  test("an empty response gives null", async () => {
    const { success, output } = await call((_request, response) => response.writeHead(204).end());
    expect({ success, output }).toEqual({ success: true, output: null });
  });

  test("redirects of an endpoint are not followed", async () => {
    let requests = 0;
    const { error } = await call((_request, response) => {
      requests++;
      response.writeHead(302, { location: `${origin}/elsewhere` }).end();
    });
    expect(error?.message).toBe("HTTP 302: redirects are not followed");
    expect(requests).toBe(1);
  });

  test("an unreachable endpoint has no effect, and its address is not revealed", async () => {
    const { error } = await call(() => {}, {}, "http://127.0.0.1:1/");
    expect(error).toMatchObject({
      code: "execution_error",
      message: "Cannot reach the tool's server: connection refused",
      effect: "none",
    });
  });

  test("a call whose connection is lost may have had an effect", async () => {
    const { error } = await call((request) => request.socket.destroy());
    expect(error).toMatchObject({
      code: "execution_error",
      message: "The connection to the tool's server was lost",
      effect: "unknown",
    });
  });

  test("an endless response is cut off at the output budget", async () => {
    const { error } = await call(
      (_request, response) => {
        const more = (): void => {
          while (response.write("x".repeat(65_536)));
          response.once("drain", more);
        };
        more();
      },
      { outputBytes: 100_000 },
    );
    expect(error).toMatchObject({ code: "limit_exceeded", effect: "committed" });
  });

  test("a long error response is quoted in part", async () => {
    const { error } = await call((_request, response) => response.writeHead(500).end("x".repeat(1e6)));
    expect(error?.message.length).toBeLessThan(5_000);
  });

  test("a response that drips is ended at the deadline", async () => {
    const { error } = await call(
      (_request, response) => {
        const drip = setInterval(() => response.write(" "), 10);
        response.on("close", () => clearInterval(drip));
      },
      { wallTimeMs: 100 },
    );
    expect(error).toMatchObject({ code: "timeout", effect: "unknown" });
  });
});
