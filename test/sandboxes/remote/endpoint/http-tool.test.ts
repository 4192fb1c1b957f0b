import { createServer, type IncomingHttpHeaders, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import type { DispatchEvent } from "../../../../src/engine/call/events.ts";
import type { ToolExecution } from "../../../../src/engine/call/execution.ts";
import { defineTool } from "../../../../src/engine/tool.ts";
import type { JsonObject } from "../../../../src/json/value.ts";
import type { Capabilities } from "../../../../src/policy/grant/capabilities.ts";
import type { ResourceLimits } from "../../../../src/policy/grant/limits.ts";
import { allow } from "../../../../src/policy/policy.ts";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import type { HttpImplementation } from "../../../../src/tool/implementations/remote-implementation.ts";
import { contextFor, dispatchTool, recordEvents } from "../../../engine/helpers.ts";

const SECRET = 'p"ss/wörd\\1'.replace("ö", "o");
const secrets = async (name: string): Promise<string | undefined> =>
  ({ TOKEN: SECRET, OTHER: "other-value" })[name];
const resolve = async (): Promise<readonly string[]> => ["127.0.0.1"];
const sandboxes = await openSandboxes({ secrets, egress: { resolve } });

/** The last request that the server received. */
interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}
let seen: Seen | undefined;
let requests = 0;
let answer: RequestListener = (_request, response) => response.end("{}");
const server = createServer(async (request, response) => {
  requests++;
  let body = "";
  for await (const chunk of request) body += chunk;
  seen = { method: request.method, url: request.url, headers: request.headers, body };
  answer(request, response);
});
await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
const { port } = server.address() as AddressInfo;
const base = `http://api.test:${port}`;
const net = [{ origin: base, addresses: ["127.0.0.0/8"] }];
afterAll(async () => {
  await sandboxes.close();
  server.closeAllConnections();
  server.close();
});

interface Options {
  readonly input?: JsonObject;
  readonly capabilities?: Capabilities;
  readonly limits?: ResourceLimits;
  readonly reply?: RequestListener;
}

async function call(
  http: HttpImplementation,
  { input = {}, capabilities = { net }, limits = {}, reply }: Options = {},
): Promise<ToolExecution & { readonly events: readonly DispatchEvent[] }> {
  answer = reply ?? ((_request, response) => response.end('{"ok":true}'));
  seen = undefined;
  requests = 0;
  const tool = defineTool({ name: "tool", description: "", inputSchema: {}, remote: { http } });
  const policy = {
    check: () => allow({ sandbox: "remote", limits: { wallTimeMs: 2_000, ...limits }, capabilities }),
  };
  const { events, seen: emitted } = recordEvents();
  const execution = await dispatchTool(await contextFor([tool], { sandboxes, policy, events }), input);
  return { ...execution, events: emitted };
}

describe("an HTTP tool", () => {
  test("an HTTP tool inserts arguments into its templates, and the others into the body", async () => {
    const http = {
      method: "POST",
      url: `${base}/repos/{owner}/issues{?draft}`,
      headers: { "X-Trace": "t-{trace}", Accept: "application/vnd.test+json" },
    };
    const input = { owner: "a b", draft: true, trace: 7, title: "héllo", labels: ["x"] };
    const { output, receipt, error } = await call(http, { input });
    expect(error).toBeUndefined();
    expect(output).toEqual({ ok: true });
    expect(seen).toMatchObject({
      method: "POST",
      url: "/repos/a%20b/issues?draft=true",
      headers: {
        "x-trace": "t-7",
        accept: "application/vnd.test+json",
        "content-type": "application/json",
        host: `api.test:${port}`,
      },
    });
    expect(JSON.parse(seen?.body ?? "")).toEqual({ title: "héllo", labels: ["x"] });
    expect(receipt.used).toMatchObject({
      contacted: [{ origin: base, address: "127.0.0.1" }],
      attempts: 1,
      outputBytes: 11,
    });
    expect(receipt.used.bytesUp).toBeGreaterThan(100);
    expect(receipt.used.bytesDown).toBeGreaterThan(11);
  });

  test("an HTTP tool fills a body template", async () => {
    const body = {
      query: "query { x }",
      variables: { id: "{id}", missing: "{no}", list: ["{id}", "{no}", "as {id}"] },
    };
    await call({ method: "POST", url: `${base}/graphql`, body }, { input: { id: { deep: [1] } } });
    expect(JSON.parse(seen?.body ?? "")).toEqual({
      query: "query { x }",
      variables: { id: { deep: [1] }, list: [{ deep: [1] }, "as {id}"] },
    });
  });

  test("an HTTP tool sends forms, without what is null, and nothing that changes another field", async () => {
    const input = { a: 'x"\r\n--y', n: null, list: [1, 2], maps: [{ b: [true, null] }], "k&=": "v&w=1" };
    const url = `${base}/f{?n}`;
    await call({ method: "POST", url, bodyFormat: "form" }, { input });
    expect(seen?.headers["content-type"]).toBe("application/x-www-form-urlencoded");
    expect([...new URLSearchParams(seen?.body)]).toEqual([
      ["a", 'x"\r\n--y'],
      ["list", "1"],
      ["list", "2"],
      ["maps[0][b][0]", "true"],
      ["k&=", "v&w=1"],
    ]);
    await call({ method: "POST", url, bodyFormat: "multipart" }, { input: { ...input, 'q"\r\nx: y': "z" } });
    const type = String(seen?.headers["content-type"]);
    const form = await new Response(seen?.body, { headers: { "content-type": type } }).formData();
    expect([...form].map(([name]) => name)).toEqual(["a", "list", "list", "maps", "k&=", 'q"\r\nx: y']);
    expect(form.get("a")).toBe('x"\r\n--y');
  });

  test.each<[string, JsonObject | string, string]>([
    ["a form that is not a map", "{body}", "a form must be a map of its fields"],
    ["half a surrogate pair", { a: "\ud800" }, "half a surrogate pair"],
  ])("an HTTP tool sends nothing for %s", async (_, body, reason) => {
    const http = { method: "POST", url: base, body, bodyFormat: "form" } as const;
    const { error } = await call(http, { input: { body: 1 } });
    expect(error).toMatchObject({ effect: "none", message: expect.stringContaining(reason) });
    expect(requests).toBe(0);
  });

  test("an HTTP tool adds names to the query that no URL template can have", async () => {
    const query = { "filter[a]": "{a}", $top: "{top}", range: "{range}", none: "{none}", fixed: 1 };
    const input = { a: "x#y&z", top: 5, range: { from: 1, to: [2] } };
    await call({ url: `${base}/q{?b}`, query }, { input: { ...input, b: "c" } });
    expect(seen?.url).toBe(
      "/q?b=c&filter%5Ba%5D=x%23y%26z&%24top=5&range%5Bfrom%5D=1&range%5Bto%5D%5B0%5D=2&fixed=1",
    );
    await call({ method: "POST", url: base, query: { a: "{a}" } }, { input: { a: 1, b: 2 } });
    expect([seen?.url, seen?.body]).toEqual(["/?a=1", '{"b":2}']);
  });

  test("an HTTP tool is a GET without a body by default, and omits headers without a value", async () => {
    await call(
      { url: `${base}/x{?q}`, headers: { "x-a": "{a}", "x-b": "b" } },
      { input: { q: "é", a: null } },
    );
    expect(seen).toMatchObject({ method: "GET", url: "/x?q=%C3%A9", body: "", headers: { "x-b": "b" } });
    expect(seen?.headers).not.toHaveProperty("x-a");
    expect(seen?.headers).not.toHaveProperty("content-type");
  });

  test("an HTTP tool returns the part of the response at its pointer, or the response as text", async () => {
    const reply: RequestListener = (_request, response) => response.end('{"data":{"items":[1,2]}}');
    const part = await call({ url: base, response: { pointer: "/data/items" } }, { reply });
    expect([part.output, part.receipt.used.outputBytes]).toEqual([[1, 2], 5]);
    const nothing = await call({ url: base, response: { pointer: "/data/none" } }, { reply });
    expect(nothing.error).toMatchObject({ message: "Tool returned nothing at /data/none", effect: "none" });
    const text = await call({ url: base, response: { text: true } }, { reply });
    expect(text.output).toBe('{"data":{"items":[1,2]}}');
    const empty: RequestListener = (_request, response) => response.writeHead(204).end();
    expect((await call({ url: base, response: { text: true } }, { reply: empty })).output).toBe("");
    expect((await call({ url: base }, { reply: empty })).output).toBeNull();
  });

  test("an HTTP tool refuses a response with a number that no double can hold", async () => {
    const reply: RequestListener = (_request, response) => response.end('{"total":[1e999]}');
    for (const http of [{ url: base }, { url: base, response: { pointer: "/total" } }]) {
      const { output, error } = await call(http, { reply });
      expect(output).toBeNull();
      expect(error).toMatchObject({
        code: "execution_error",
        message: "Tool returned an invalid output: a number that is too large for a double at position 10",
      });
    }
  });

  test("an HTTP tool reads a compressed response", async () => {
    const reply: RequestListener = (_request, response) =>
      response.setHeader("content-encoding", "gzip").end(gzipSync("[1]"));
    expect((await call({ url: base }, { reply })).output).toEqual([1]);
  });

  test("the model reads the status and the server's message", async () => {
    const reply: RequestListener = (_request, response) =>
      response.writeHead(422).end('{"message":"no such user"}');
    const { error } = await call({ method: "DELETE", url: base }, { reply });
    expect(error).toMatchObject({
      code: "execution_error",
      message: "HTTP 422: no such user",
      effect: "unknown",
    });
  });

  test("an HTTP tool follows a redirect only if it is configured to and the grant allows it", async () => {
    const reply: RequestListener = (request, response) => {
      if (request.url === "/") response.writeHead(302, { location: "/next" }).end();
      else response.end("1");
    };
    const unfollowed = await call({ url: `${base}/` }, { reply });
    expect(unfollowed.error).toMatchObject({
      message: "HTTP 302: redirects are not followed",
      effect: "none",
    });
    expect(requests).toBe(1);
    const followed = await call({ url: `${base}/`, maxRedirects: 1 }, { reply });
    expect([followed.output, followed.receipt.used.attempts]).toEqual([1, 2]);
    const away: RequestListener = (_request, response) =>
      response.writeHead(302, { location: "http://169.254.169.254/" }).end();
    const { error, events } = await call(
      { method: "POST", url: `${base}/`, maxRedirects: 1 },
      { reply: away },
    );
    expect(error).toMatchObject({
      code: "execution_error",
      message: "The tool's server redirected to a location that the tool may not access",
      effect: "unknown",
    });
    expect(JSON.stringify(events)).toContain("http://169.254.169.254");
  });
});

describe("an HTTP tool without a grant", () => {
  test.each<[string, Capabilities, string]>([
    ["for the network", {}, "the grant does not name the origin"],
    [
      "for this origin",
      { net: ["https://api.test", "http://other.test:*"] },
      "the grant does not name the origin",
    ],
    ["for this address", { net: [base] }, "which is not public"],
  ])("an HTTP tool without a grant %s sends nothing, and the operator reads why", async (_case, capabilities, why) => {
    const { error, events } = await call({ url: base }, { capabilities });
    expect(error).toMatchObject({
      code: "permission_denied",
      message: "Permission denied: the tool may not contact its server",
      effect: "none",
    });
    expect(requests).toBe(0);
    expect(events.at(-1)).toMatchObject({ type: "tool.failed", detail: expect.stringContaining(why) });
  });

  test("an HTTP tool without a grant for its secret sends nothing, and does not look it up", async () => {
    const http = { url: base, headers: { authorization: "Bearer {secret:TOKEN}" } };
    const { error, events } = await call(http, { capabilities: { net, secrets: ["OTHER"] } });
    expect(error).toMatchObject({
      code: "permission_denied",
      message: "Permission denied: the tool may not use a secret that it needs",
      effect: "none",
    });
    expect(requests).toBe(0);
    expect(JSON.stringify(events)).toContain("the grant does not name the secret 'TOKEN'");
  });
});

describe("a secret", () => {
  const http: HttpImplementation = {
    method: "POST",
    url: `${base}/`,
    headers: { authorization: "Bearer {secret:TOKEN}" },
  };
  const capabilities = { net, secrets: ["TOKEN"] };

  test("a secret is sent, but is in no event, log, error or result, whatever the server echoes", async () => {
    for (const status of [200, 500, 404]) {
      const reply: RequestListener = (_request, response) => {
        const echoed = { sent: seen?.headers.authorization, [`key ${SECRET}`]: [SECRET] };
        // With escapes that other encoders use.
        const text = JSON.stringify(echoed).replaceAll("/", "\\/");
        response.writeHead(status).end(status === 404 ? `no JSON: ${text}` : text);
      };
      const execution = await call(http, { capabilities, reply });
      expect(seen?.headers.authorization).toBe(`Bearer ${SECRET}`);
      const everything = JSON.stringify(execution);
      expect(everything).not.toContain(JSON.stringify(SECRET).slice(1, -1));
      expect(everything).not.toContain(SECRET);
      if (status !== 404) expect(everything).toContain("[secret TOKEN]");
      if (status === 200) {
        expect(execution.output).toEqual({
          sent: "Bearer [secret TOKEN]",
          "key [secret TOKEN]": ["[secret TOKEN]"],
        });
      }
    }
  });

  test("a secret without a value, or with one that is invalid in a header, sends nothing", async () => {
    const none = { ...http, headers: { authorization: "{secret:NONE}" } };
    const missing = await call(none, { capabilities: { net, secrets: ["NONE"] } });
    expect(missing.error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    expect(JSON.stringify(missing.events)).toContain("the secret 'NONE' has no value");
    const own = await openSandboxes({ secrets: () => "line\nfeed", egress: { resolve } });
    const tool = defineTool({ name: "tool", description: "", inputSchema: {}, remote: { http } });
    const policy = { check: () => allow({ sandbox: "remote", capabilities }) };
    const { error } = await dispatchTool(await contextFor([tool], { sandboxes: own, policy }));
    await own.close();
    expect(error).toMatchObject({ code: "execution_error", effect: "none" });
    expect(error?.message).not.toContain("feed");
    expect(requests).toBe(0);
  });

  test("a secret that is not found in time ends the call", async () => {
    const own = await openSandboxes({ secrets: () => new Promise(() => {}), egress: { resolve } });
    const tool = defineTool({ name: "tool", description: "", inputSchema: {}, remote: { http } });
    const policy = { check: () => allow({ sandbox: "remote", capabilities, limits: { wallTimeMs: 50 } }) };
    const { error } = await dispatchTool(await contextFor([tool], { sandboxes: own, policy }));
    await own.close();
    expect(error).toMatchObject({ code: "timeout", effect: "none" });
  });

  test("a secret that is found after the sandboxes began to close is not sent", async () => {
    const asked = Promise.withResolvers<void>();
    const found = Promise.withResolvers<string>();
    const secrets = (): Promise<string> => {
      asked.resolve();
      return found.promise;
    };
    const own = await openSandboxes({ secrets, egress: { resolve }, workers: { threads: 1 } });
    // The egress stays open until this sandbox has ended its thread.
    await own.prepare({ quickjs: { source: "export default () => 1" } });
    const tool = defineTool({ name: "tool", description: "", inputSchema: {}, remote: { http } });
    const policy = { check: () => allow({ sandbox: "remote", capabilities }) };
    const calling = dispatchTool(await contextFor([tool], { sandboxes: own, policy }));
    await asked.promise;
    const closing = own.close();
    found.resolve("value");
    const { error, receipt } = await calling;
    expect(error).toMatchObject({ code: "cancelled", effect: "none" });
    // The egress, which reports the connections of a request, was not called.
    expect(receipt.used).not.toHaveProperty("contacted");
    await closing;
  });

  test("a secret comes from the environment by default", async () => {
    const { environmentSecrets } = await import("../../../../src/sandboxes/remote/endpoint/secrets.ts");
    expect(environmentSecrets("PATH")).toBe(process.env["PATH"]);
    expect(environmentSecrets("toString")).toBeUndefined();
  });
});

describe("the effect of a failed request", () => {
  test.each([
    ["GET", "none"],
    ["POST", "unknown"],
  ])("a failed %s that was sent has the effect %s", async (method, effect) => {
    const http = { method, url: base };
    const broken = await call(http, { reply: (request) => request.socket.destroy() });
    expect(broken.error).toMatchObject({ message: "The connection to the tool's server was lost", effect });
    const late = await call(http, { reply: () => {}, limits: { wallTimeMs: 50 } });
    expect(late.error).toMatchObject({ code: "timeout", effect });
    expect([broken.receipt.mayStillRun, late.receipt.mayStillRun]).toEqual([true, true]);
    const failed = await call(http, { reply: (_request, response) => response.writeHead(503).end() });
    expect(failed.error).toMatchObject({ message: "HTTP 503", effect });
    expect(failed.receipt).not.toHaveProperty("mayStillRun");
  });

  test("a POST that was not sent has no effect", async () => {
    const capabilities = { net: [{ origin: "http://api.test:1", addresses: ["127.0.0.0/8"] }] };
    const { error, receipt } = await call({ method: "POST", url: "http://api.test:1/" }, { capabilities });
    expect(error).toMatchObject({
      code: "execution_error",
      message: "Cannot reach the tool's server: connection refused",
      effect: "none",
    });
    expect(receipt.used).toMatchObject({ contacted: [], attempts: 0, bytesUp: 0 });
  });
});

describe("arguments of an HTTP tool", () => {
  test.each<[string, JsonObject, RegExp]>([
    ["that would leave the path", { id: "../admin" }, /must not add '\.' or '\.\.' segments/],
    ["that leave a path segment empty", { id: "" }, /'id' must not be empty/],
    ["that cannot be part of a path", { id: { a: { b: 1 } } }, /'id' cannot be inserted/],
    [
      "that would make a header of their own",
      { id: "1", trace: "x\r\ny: z" },
      /'trace' cannot be sent in a header/,
    ],
    ["that cannot be a header", { id: "1", trace: ["x"] }, /'trace' cannot be sent in a header/],
  ])("arguments %s are refused before a byte is sent", async (_case, input, message) => {
    const { error } = await call({ url: `${base}/x/{id}`, headers: { "x-trace": "{trace}" } }, { input });
    expect(error).toMatchObject({ code: "execution_error", effect: "none" });
    expect(error?.message).toMatch(message);
    expect(requests).toBe(0);
  });
});

describe("limits of an HTTP tool", () => {
  const flood: RequestListener = (_request, response) => response.end("x".repeat(300_000));
  test("limits bound the response before and after decompression", async () => {
    const large = await call({ url: base }, { reply: flood, limits: { outputBytes: 100_000 } });
    expect(large.error).toMatchObject({
      code: "limit_exceeded",
      message: expect.stringContaining("output limit"),
    });
    const bomb: RequestListener = (_request, response) =>
      response.setHeader("content-encoding", "gzip").end(gzipSync(Buffer.alloc(10_000_000)));
    const burst = await call({ url: base }, { reply: bomb, limits: { outputBytes: 100_000 } });
    expect(burst.error).toMatchObject({
      code: "limit_exceeded",
      message: expect.stringContaining("output limit"),
    });
    const spent = await call({ url: base }, { reply: flood, limits: { netBytes: 10_000 } });
    expect(spent.error?.code).toBe("limit_exceeded");
    expect(spent.receipt.enforced.netBytes).toBe(10_000);
  });

  test("limits that another machine would have to enforce are refused", async () => {
    const { error } = await call({ url: base }, { limits: { memoryBytes: 1e9 } });
    expect(error).toMatchObject({ code: "limit_unenforceable", effect: "none" });
  });
});
