import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import type { NetGrant } from "../../../src/policy/grant/net-grant.ts";
import { allow } from "../../../src/policy/policy.ts";
import { Redaction } from "../../../src/redaction/redaction.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { openSessions } from "../../../src/sessions/sessions.ts";
import { registerToolset } from "../../../src/toolsets/toolsets.ts";
import { recordEvents } from "../../engine/helpers.ts";

let reply: (request: IncomingMessage, response: ServerResponse) => void;
let seen: { method: string; url: string; headers: IncomingMessage["headers"]; body: string }[] = [];
const server = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  seen.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body });
  reply(request, response);
});
await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
const { port } = server.address() as AddressInfo;
const sandboxes = await openSandboxes({ egress: { resolve: async () => ["127.0.0.1"] } });
afterAll(async () => {
  await sandboxes.close();
  server.closeAllConnections();
  server.close();
});

const ORIGIN = `http://docs.test:${port}`;
const LOCAL = ["127.0.0.0/8"];
const NET: readonly NetGrant[] = [{ origin: ORIGIN, addresses: LOCAL }];
const registry = new ToolRegistry();
registerToolset(registry, "web", { search: { url: `${ORIGIN}/v1{?query}`, response: { pointer: "/hits" } } });

beforeEach(() => {
  seen = [];
  reply = (_request, response) => response.setHeader("content-type", "text/html").end("<p>Hi</p>");
});

const policyOf = (net: readonly NetGrant[], limits = {}) => ({
  check: () => allow({ sandbox: "remote", capabilities: { net }, limits }),
});

async function call(
  name: string,
  args: JsonObject,
  net: readonly NetGrant[] = NET,
  limits = {},
): Promise<ToolExecution> {
  const ctx = { registry, policy: policyOf(net, limits), sandboxes, sessionId: "s" };
  const execution = await new ToolDispatchEngine().dispatch({ id: "c", name, arguments: args }, ctx);
  if (execution === null) throw new Error("aborted");
  return execution;
}

describe("web_fetch", () => {
  test("returns a text with its media type, as the server sends it", async () => {
    const { output } = await call("web_fetch", { url: `${ORIGIN}/a?b=c#d` });
    expect(output).toEqual({
      url: expect.stringContaining("/a?b=c"),
      status: 200,
      contentType: "text/html",
      text: "<p>Hi</p>",
    });
    expect(seen).toMatchObject([{ method: "GET", url: "/a?b=c", body: "" }]);
    expect(seen[0]?.headers).not.toHaveProperty("content-type");
  });

  test.each([
    ["text/plain; charset=iso-8859-1", Buffer.from([0xfc]), "ü"],
    ['text/plain; charset="UTF-16LE"', Buffer.from("ü", "utf16le"), "ü"],
    ["application/problem+json", Buffer.from("{}"), "{}"],
    ["text/plain", Buffer.from([0xff]), "\ufffd"],
    ["image/png", Buffer.alloc(0), ""],
  ])("reads %s", async (type, body, text) => {
    reply = (_request, response) => response.setHeader("content-type", type).end(body);
    expect((await call("web_fetch", { url: ORIGIN })).output).toMatchObject({ text });
  });

  test.each([
    ["image/png", "The response is image/png, not text: 3 B"],
    ["", "The response is of an unknown type, not text: 3 B"],
    ["text/plain; charset=nonsense", "The response is text in an unknown encoding: 3 B"],
  ])("refuses %j", async (type, message) => {
    reply = (_request, response) =>
      (type === "" ? response : response.setHeader("content-type", type)).end("abc");
    expect((await call("web_fetch", { url: ORIGIN })).error).toMatchObject({
      code: "execution_error",
      message,
      effect: "none",
    });
  });

  test("contacts only origins of the grant, at addresses of the grant, and nothing else by a redirect", async () => {
    for (const [url, net] of [
      ["http://evil.test", NET],
      [`http://docs.test:${port + 1}`, NET],
      [ORIGIN, []],
      [ORIGIN, [ORIGIN]],
      [`http://127.0.0.1:${port}`, ["http://*:*"]],
      [`http://[::1]:${port}`, ["http://*:*"]],
      ["http://169.254.169.254/latest/meta-data", ["http://*"]],
    ] as const) {
      const { error } = await call("web_fetch", { url }, net);
      expect([url, error]).toMatchObject([url, { code: "permission_denied", effect: "none" }]);
    }
    expect(seen).toEqual([]);
    reply = ({ url }, response) =>
      url === "/there"
        ? response.setHeader("content-type", "text/plain").end("there")
        : response.writeHead(302, { location: url === "/" ? "/there" : `http://evil.test:${port}/` }).end();
    expect((await call("web_fetch", { url: ORIGIN })).output).toMatchObject({
      url: `${ORIGIN}/there`,
      text: "there",
    });
    expect((await call("web_fetch", { url: `${ORIGIN}/out` })).success).toBe(false);
    expect(seen.map(({ url }) => url)).toEqual(["/", "/there", "/out"]);
  });

  test.each([
    ["file:///etc/passwd", "/url must be an http: or https: URL"],
    ["nonsense", "/url must be an http: or https: URL"],
    ["http://ann:secret@docs.test", "/url must be a URL without user name and password"],
  ])("refuses %s", async (url, message) => {
    expect((await call("web_fetch", { url })).error?.message).toContain(`Invalid arguments: ${message}`);
    expect(seen).toEqual([]);
  });

  test("bounds the body by the limit of the output", async () => {
    reply = (_request, response) => response.setHeader("content-type", "text/plain").end("x".repeat(2_000));
    const { error } = await call("web_fetch", { url: ORIGIN }, NET, { outputBytes: 1_000 });
    expect(error).toMatchObject({ code: "limit_exceeded", limit: "outputBytes", effect: "none" });
  });
});

test("web_post sends a text once, with its media type, and follows no redirect", async () => {
  const url = `${ORIGIN}/form`;
  expect((await call("web_post", { url, body: '{"a":1}' })).success).toBe(true);
  await call("web_post", { url, body: "a=1", contentType: "application/x-www-form-urlencoded" });
  expect(seen.map(({ method, headers, body }) => [method, headers["content-type"], body])).toEqual([
    ["POST", "application/json", '{"a":1}'],
    ["POST", "application/x-www-form-urlencoded", "a=1"],
  ]);
  reply = (_request, response) => response.writeHead(307, { location: "/again" }).end();
  expect((await call("web_post", { url, body: "" })).error).toMatchObject({ effect: "unknown" });
  expect(seen).toHaveLength(3);
  const injected = { url, body: "", contentType: "text/plain\r\nx-a: b" };
  expect((await call("web_post", injected)).error?.code).toBe("validation_error");
});

test("web_search asks the endpoint of its options", async () => {
  reply = (_request, response) => response.end('{"hits":[{"title":"a"}]}');
  expect((await call("web_search", { query: "a b&c" })).output).toEqual([{ title: "a" }]);
  expect(seen.map(({ url }) => url)).toEqual(["/v1?query=a%20b%26c"]);
});

test("web_search does not exist without an endpoint", () => {
  const plain = new ToolRegistry();
  registerToolset(plain, "web");
  expect(plain.names).toEqual(["web_fetch", "web_post", "display_diagram"]);
});

describe("A session", () => {
  const anywhere = { origin: "http://*:*", addresses: LOCAL };
  test.each<[string, string, JsonObject, readonly NetGrant[], boolean]>([
    ["fetches from an origin that the policy names", "web_fetch", { url: ORIGIN }, NET, false],
    ["asks about one that it does not name", "web_fetch", { url: ORIGIN }, [anywhere], true],
    ["asks if a redirect could lead anywhere", "web_fetch", { url: ORIGIN }, [...NET, anywhere], true],
    ["asks about another origin", "web_fetch", { url: "http://evil.test" }, NET, true],
    ["asks before it posts anywhere", "web_post", { url: ORIGIN, body: "" }, NET, true],
  ])("%s", async (_, name, args, net, asks) => {
    await using sessions = await openSessions({ registry, policy: policyOf(net), sandboxes });
    let asked = 0;
    sessions.onConfirmation(({ type, confirmation: { id, digest } }) => {
      if (type !== "requested") return;
      asked++;
      void sessions.answer(id, { decision: "deny", digest, by: "ann" });
    });
    const session = await sessions.open();
    const execution = await session.turn().dispatch({ id: "c", name, arguments: args });
    expect([asked, execution?.error?.code]).toEqual(asks ? [1, "user_denied"] : [0, undefined]);
  });
});

describe("display_diagram", () => {
  const dispatchOne = async (name: string, args: JsonObject, redaction?: Redaction) => {
    const { events, seen } = recordEvents();
    const policy = { check: () => allow({ sandbox: "host" }) };
    const ctx = { registry, policy, sandboxes, sessionId: "s", events, ...(redaction && { redaction }) };
    const execution = await new ToolDispatchEngine().dispatch({ id: "c", name, arguments: args }, ctx);
    return { execution, displayed: seen.filter(({ type }) => type === "tool.display") };
  };

  test("shows the source to those who follow the session, without secrets", async () => {
    const diagram = { source: "graph TD; a --> <b onclick=x()>", format: "mermaid" };
    const { execution, displayed } = await dispatchOne("display_diagram", diagram);
    expect(execution?.output).toEqual({ displayed: true });
    expect(displayed).toMatchObject([{ ...diagram, toolName: "display_diagram", callId: "c" }]);
    const secret = { source: "a -> AKIAIOSFODNN7EXAMPLE", format: "dot" };
    const redacted = await dispatchOne("display_diagram", secret, new Redaction());
    expect(JSON.stringify(redacted.displayed)).not.toContain("AKIA");
  });

  test("takes every text that its schema accepts, which counts code points", async () => {
    const diagram = { source: "\u{1f600}".repeat(100_000), format: "dot" };
    const { execution, displayed } = await dispatchOne("display_diagram", diagram);
    expect(execution?.output).toEqual({ displayed: true });
    expect(displayed).toMatchObject([diagram]);
  });

  test.each([
    [{ source: "", format: "dot" }],
    [{ source: "a", format: "<b>" }],
    [{ source: "x".repeat(100_001), format: "dot" }],
  ])("refuses what is not one", async (diagram) => {
    const { execution, displayed } = await dispatchOne("display_diagram", diagram);
    expect(execution?.error?.code).toBe("validation_error");
    expect(displayed).toEqual([]);
  });
});
