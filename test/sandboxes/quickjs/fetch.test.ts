import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { NetGrant } from "../../../src/policy/grant/net-grant.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { echo, serve, serveBytes } from "../../egress/servers.ts";
import { type CallSetting, GrantedTool } from "./granted-tool.ts";

const resolve = async (name: string): Promise<readonly string[]> => {
  if (name.endsWith(".test")) return ["127.0.0.1"];
  throw new Error("no such name");
};
const sandboxes = await openSandboxes({ workers: { threads: 1 }, egress: { resolve } });
afterAll(() => sandboxes.close());

/** Grants ports of 127.0.0.1 under the name `api.test`. */
function ports(...granted: readonly number[]): readonly NetGrant[] {
  return granted.map((port) => ({ origin: `http://api.test:${port}`, addresses: ["127.0.0.1/32"] }));
}

/** Runs a tool whose function has this body and the parameter `input`. */
function run(body: string, setting: CallSetting = {}): Promise<ToolExecution> {
  return new GrantedTool(sandboxes, `export default async (input, { tools }) => { ${body} }`).call(setting);
}

/** Sends one request to a granted port, and returns the status or the error. */
function send(
  port: number,
  path = "/",
  init: object = {},
  setting: CallSetting = {},
): Promise<ToolExecution> {
  return run(
    `try {
      const response = await fetch(input.url, input.init);
      return { status: response.status, ok: response.ok, text: await response.text() };
    } catch ({ name, code, message }) {
      return { name, code, message };
    }`,
    {
      capabilities: { net: ports(port) },
      input: { url: `http://api.test:${port}${path}`, init },
      ...setting,
    },
  );
}

describe("fetch", () => {
  test("returns the reason phrase of the server", async () => {
    const port = await serve((request, response) => {
      const status = Number(request.url?.slice(1));
      if (status === 418) response.writeHead(status, "Short and stout");
      else response.writeHead(status);
      response.end();
    });
    const { output } = await run(
      `const texts = [];
      for (const status of [200, 404, 418, 503]) {
        const response = await fetch(input.url + status);
        texts.push(response.statusText, response.clone().statusText);
      }
      return texts;`,
      { capabilities: { net: ports(port) }, input: { url: `http://api.test:${port}/` } },
    );
    const texts = ["OK", "Not Found", "Short and stout", "Service Unavailable"];
    expect(output).toEqual(texts.flatMap((text) => [text, text]));
  });

  test("an abort before the next microtask ends a request that was not sent", async () => {
    let requests = 0;
    const port = await serve((_, response) => {
      requests++;
      response.end();
    });
    const { output } = await run(
      `const controller = new AbortController();
      const sent = fetch(input.url, { signal: controller.signal });
      controller.abort();
      try { await sent; } catch (error) { return [error.name, error === controller.signal.reason]; }`,
      { capabilities: { net: ports(port) }, input: { url: `http://api.test:${port}/` } },
    );
    expect(output).toEqual(["AbortError", true]);
    expect(requests).toBe(0);
  });

  test("a failure is a TypeError", async () => {
    const { output } = await run(
      `try { await fetch("http://api.test:1/"); } catch (error) { return [error instanceof TypeError, error.name, error.code]; }`,
    );
    expect(output).toEqual([true, "TypeError", "origin_denied"]);
  });

  test("fetch works only in calls whose grant gives the network, also of the same tool", async () => {
    const port = await serve(echo);
    const tool = new GrantedTool(
      sandboxes,
      `const early = await fetch("http://api.test").catch(({ code }) => code);
      const kept = fetch;
      export default async ({ url }) => [early, await kept(url).then(({ status }) => status, ({ message }) => message)];`,
    );
    const input = { url: `http://api.test:${port}` };
    const refused = [
      "origin_denied",
      "fetch: this call may not use the network (capabilities.net is not granted)",
    ];
    for (let round = 0; round < 2; round++) {
      expect((await tool.call({ input })).output).toEqual(refused);
      const granted = await tool.call({ input, capabilities: { net: ports(port) } });
      expect(granted.output).toEqual(["origin_denied", 200]);
    }
    expect((await tool.call({ input, capabilities: { tools: ["*"] } })).output).toEqual(refused);
  });

  test("fetch fails while the module is evaluated, and says so", async () => {
    const source = "const page = await fetch('https://api.test'); export default () => 1;";
    const { error } = await new GrantedTool(sandboxes, source).call();
    expect(error?.message).toBe(
      "fetch: a module cannot send requests while it is evaluated, only during a call",
    );
  });

  test("fetch sends a method, headers and a text body, and returns the response", async () => {
    const port = await serve((request, response) => {
      response.setHeader("x-many", ["one", "two"]);
      response.setHeader("content-type", "application/json");
      void echo(request, response);
    });
    const { output, receipt } = await run(
      `const response = await fetch(input.url, {
        method: "post", headers: { "X-Own": "value" }, body: "grüße 🦊", redirect: "manual",
      });
      const seen = [];
      response.headers.forEach((value, name) => { if (name === "x-many") seen.push(value); });
      const { headers } = response;
      return {
        ok: response.ok, status: response.status, url: response.url, seen,
        headers: [headers.get("X-Many"), headers.get("none"), headers.has("Content-Type"), headers.has("none"), [...headers][0].length],
        same: (await response.clone().text()) === JSON.stringify(await response.clone().json()),
        json: await response.json(),
      };`,
      { capabilities: { net: ports(port) }, input: { url: `http://api.test:${port}/a?b=c` } },
    );
    expect(output).toMatchObject({
      ok: true,
      status: 200,
      url: `http://api.test:${port}/a?b=c`,
      seen: ["one, two"],
      headers: ["one, two", null, true, false, 2],
      same: true,
      json: { method: "POST", url: "/a?b=c", body: "grüße 🦊", headers: { "x-own": "value" } },
    });
    const origin = `http://api.test:${port}`;
    expect(receipt.used).toMatchObject({ nestedCalls: 0, contacted: [{ origin, address: "127.0.0.1" }] });
    expect(receipt.used.bytesUp).toBeGreaterThan(60);
    expect(receipt.used.bytesDown).toBeGreaterThan(100);
  });

  test("fetch joins cookies with semicolons, and other fields of one name with commas", async () => {
    const port = await serve(echo);
    const headers = [
      ["Cookie", "a=1"],
      ["x-own", "1"],
      ["cookie", "b=2"],
      ["X-Own", "2"],
    ];
    const { output } = await send(port, "/", { headers });
    const { text } = output as { readonly text: string };
    expect(JSON.parse(text)).toMatchObject({ headers: { cookie: "a=1; b=2", "x-own": "1, 2" } });
  });

  test("fetch returns error responses, and decodes bodies", async () => {
    const port = await serve((request, response) => {
      response.statusCode = request.url === "/gzip" ? 200 : 404;
      if (request.url === "/gzip") response.setHeader("content-encoding", "gzip");
      response.end(request.url === "/gzip" ? gzipSync("x".repeat(100_000)) : "not here");
    });
    expect((await send(port)).output).toEqual({ status: 404, ok: false, text: "not here" });
    expect((await send(port, "/gzip")).output).toMatchObject({ text: "x".repeat(100_000) });
  });

  test("fetch follows redirects only on request, and only to granted origins", async () => {
    const elsewhere = await serve((_request, response) => response.end("CANARY"));
    const port = await serve((request, response) => {
      const target = { "/in": "/end", "/out": `http://api.test:${elsewhere}/` }[request.url ?? ""];
      if (request.url === "/round") response.writeHead(302, { location: "/round" });
      else if (target !== undefined) response.writeHead(302, { location: target });
      response.end("here");
    });
    expect((await send(port, "/in")).output).toMatchObject({ status: 302 });
    const follow = { redirect: "follow" };
    expect((await send(port, "/in", follow)).output).toMatchObject({ status: 200, text: "here" });
    expect((await send(port, "/out", follow)).output).toMatchObject({ code: "origin_denied" });
    expect((await send(port, "/round", follow)).output).toMatchObject({ code: "too_many_redirects" });
    const both = { capabilities: { net: ports(port, elsewhere) } };
    const input = { url: `http://api.test:${port}/out`, init: follow };
    expect((await send(port, "", {}, { ...both, input })).output).toMatchObject({ text: "CANARY" });
  });

  test("fetch rejects requests that are not granted, with advice but without addresses", async () => {
    const port = await serve(echo);
    const other = await serve(echo);
    const denied = await send(port, "/", {}, { capabilities: { net: ports(other) } });
    expect(denied.output).toEqual({
      name: "TypeError",
      code: "origin_denied",
      message: "the call may not send requests to this origin: its grant (capabilities.net) does not name it",
    });
    expect(denied.receipt.used.contacted).toBeUndefined();
    const net = [`http://api.test:${port}`];
    const address = await send(port, "/", {}, { capabilities: { net } });
    expect(address.output).toMatchObject({ name: "TypeError", code: "address_denied" });
    expect(JSON.stringify(address.output)).not.toContain("127.0.0.1");
    expect((await send(port)).output).toMatchObject({ status: 200 });
  });

  test.each<[string, string, string]>([
    ["a name that cannot be resolved", "http://none.invalid/", "name_not_resolved"],
    ["credentials in the URL", "http://a:b@api.test/", "request_invalid"],
    ["an invalid URL", "somewhere", "ERR_INVALID_URL"],
    ["a file", "file:///etc/passwd", "origin_denied"],
    ["a data URL", "data:text/plain,x", "origin_denied"],
  ])("fetch rejects %s", async (_case, url, code) => {
    const capabilities = { capabilities: { net: ["http://*:*", "https://*:*"] } };
    expect((await send(1, "", {}, { ...capabilities, input: { url } })).output).toMatchObject({ code });
  });

  test.each<[string, string]>([
    ["a body of a GET request", "{ body: 'a' }"],
    ["a method that is none", "{ method: 'a b' }"],
    ["a header value with a line break", "{ headers: { 'x-a': 'b\\r\\nx-c: d' } }"],
    ["an unsupported redirect mode", "{ redirect: 'error' }"],
  ])("fetch rejects %s with a TypeError", async (_case, init) => {
    const { output } = await run(`return fetch("http://api.test/", ${init}).catch(({ name }) => name)`, {
      capabilities: { net: ports(80) },
    });
    expect(output).toBe("TypeError");
  });

  test.each([
    ["of the connection", { headers: { Host: "other.test" } }],
    ["that is not allowed", { method: "CONNECT" }],
  ])("fetch rejects a header or a method %s", async (_case, init) => {
    const port = await serve(echo);
    expect((await send(port, "/", init)).output).toMatchObject({ code: "request_invalid" });
    expect((await send(port, "/", { headers: { "x-a": "b" } })).output).toMatchObject({ status: 200 });
  });

  test("fetch returns and sends bytes as they are", async () => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const received: Buffer[] = [];
    const port = await serve(async (request, response) => {
      for await (const chunk of request) received.push(chunk as Buffer);
      response.end(all);
    });
    const { output } = await run(
      `const response = await fetch(input.url);
      const bytes = await response.clone().bytes();
      const blob = await response.clone().blob();
      const streamed = [];
      for await (const chunk of response.body) streamed.push(...chunk);
      await fetch(input.url, { method: "POST", body: bytes.subarray(1) });
      const empty = await (await fetch(input.url, { method: "POST", body: new Blob([bytes.subarray(0, 1)]) })).arrayBuffer();
      return [bytes.join(), blob.size, streamed.join(), empty.byteLength];`,
      { capabilities: { net: ports(port) }, input: { url: `http://api.test:${port}` } },
    );
    expect(output).toEqual([[...all].join(), 256, [...all].join(), 256]);
    expect(Buffer.concat(received)).toEqual(Buffer.concat([all.subarray(1), all.subarray(0, 1)]));
  });

  test("fetch rejects when its signal aborts, and the tool continues", async () => {
    const port = await serve(() => {});
    const { output } = await run(
      `return fetch(input.url, { signal: AbortSignal.timeout(10) }).catch(({ name }) => name)`,
      { capabilities: { net: ports(port) }, input: { url: `http://api.test:${port}` } },
    );
    expect(output).toBe("TimeoutError");
  });

  test("fetch rejects if the connection is lost, and the tool continues", async () => {
    const port = await serveBytes((socket) => socket.destroy());
    expect((await send(port)).output).toMatchObject({ code: "connection_lost" });
  });
});

describe("requests of a call", () => {
  test("requests of a call run concurrently with each other and with nested calls", async () => {
    let inFlight = 0;
    let most = 0;
    const port = await serve((_request, response) => {
      most = Math.max(most, ++inFlight);
      setTimeout(() => {
        inFlight--;
        response.end("x");
      }, 20);
    });
    const { output } = await run(
      `const answers = await Promise.all([
        ...Array.from({ length: 10 }, () => fetch(input.url).then((response) => response.text())),
        tools.call("none", {}).catch(({ code }) => code),
      ]);
      return answers.join();`,
      { capabilities: { net: ports(port), tools: ["none"] }, input: { url: `http://api.test:${port}` } },
    );
    expect(output).toBe(`${"x,".repeat(10)}not_found`);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(6);
  });

  test("a call can send at most 64 requests", async () => {
    let served = 0;
    const port = await serve((_request, response) => response.end(String(++served)));
    const { output } = await run(
      `let sent = 0;
      for (;;) try { await fetch(input.url); sent++; } catch ({ code }) { return [sent, code]; }`,
      { capabilities: { net: ports(port) }, input: { url: `http://api.test:${port}` } },
    );
    expect(output).toEqual([64, "too_many_requests"]);
    expect(served).toBe(64);
    const all = `const settled = await Promise.allSettled(Array.from({ length: 70 }, () => fetch(input.url)));
      return settled.filter(({ status }) => status === "fulfilled").length;`;
    const setting = { capabilities: { net: ports(port) }, input: { url: `http://api.test:${port}` } };
    expect((await run(all, setting)).output).toBe(64);
  });

  test("requests of a call share the network budget, sequentially and concurrently", async () => {
    const port = await serve((_request, response) => response.end("x".repeat(10_000)));
    const setting: CallSetting = {
      capabilities: { net: ports(port) },
      limits: { netBytes: 25_000 },
      input: { url: `http://api.test:${port}` },
    };
    const one = await run(
      `let got = 0;
      for (;;) try { got += (await (await fetch(input.url)).text()).length; } catch ({ code }) { return [got, code]; }`,
      setting,
    );
    expect(one.output).toEqual([20_000, "budget_exceeded"]);
    expect(one.receipt.enforced.netBytes).toBe(25_000);
    const all = await run(
      `const settled = await Promise.allSettled(Array.from({ length: 10 }, () => fetch(input.url)));
      return settled.filter(({ status }) => status === "fulfilled").length;`,
      setting,
    );
    expect(all.output).toBe(2);
    expect((await run("return (await fetch(input.url)).status", { ...setting, limits: {} })).output).toBe(
      200,
    );
  });

  test("a slow request of a call does not delay later ones", async () => {
    const asked = Promise.withResolvers<void>();
    const port = await serve(async (request, response) => {
      if (request.url === "/slow") await asked.promise;
      else asked.resolve();
      response.end(request.url);
    });
    const { output } = await run(
      `const slow = fetch(input.url + "/slow");
      await tools.call("none").catch(() => {});
      const later = await fetch(input.url + "/later");
      return [await later.text(), await (await slow).text()];`,
      { capabilities: { net: ports(port), tools: ["none"] }, input: { url: `http://api.test:${port}` } },
    );
    expect(output).toEqual(["/later", "/slow"]);
  });

  test("requests that exceed the network budget are not sent", async () => {
    let served = 0;
    const port = await serve((_request, response) => response.end(String(++served)));
    const init = { method: "POST", body: "x".repeat(2_000) };
    const limits = { netBytes: 1_500 };
    const input = { url: `http://api.test:${port}`, init };
    const outcome = await send(port, "", {}, { capabilities: { net: ports(port) }, limits, input });
    expect(outcome.output).toMatchObject({ code: "request_too_large" });
    expect(served).toBe(0);
  });

  test("a text that exceeds the guest's memory is an error that a tool can catch", async () => {
    const port = await serve((request, response) => {
      response.setHeader("content-encoding", "gzip");
      response.end(gzipSync("\u0001".repeat(request.url === "/small" ? 1e5 : 7e6)));
    });
    const limits = { memoryBytes: 20 * 2 ** 20, wallTimeMs: 20_000 };
    const large = await send(port, "/", {}, { limits });
    // It is decoded in pieces: either the next piece has no place, or the text that they make.
    expect(large.output).toMatchObject({ message: expect.stringContaining("out of memory") });
    const small = await send(port, "/small", {}, { limits: { ...limits, outputBytes: 2 ** 20 } });
    expect(small.output).toMatchObject({ status: 200 });
  });

  test("requests are cancelled when their call ends, normally or at its deadline", async () => {
    let closed = 0;
    let served = 0;
    const port = await serve((request, response) => {
      served++;
      if (request.url === "/fast") response.end("fast");
      else response.on("close", () => closed++);
    });
    const setting = { capabilities: { net: ports(port) }, input: { url: `http://api.test:${port}` } };
    const left = await run(`fetch(input.url); return (await fetch(input.url + "/fast")).text();`, setting);
    expect(left.output).toBe("fast");
    const late = await run("await fetch(input.url)", { ...setting, limits: { wallTimeMs: 200 } });
    expect(late.error).toMatchObject({ code: "timeout", effect: "none" });
    expect(late.receipt.used.contacted).toHaveLength(1);
    const controller = new AbortController();
    const cancelling = run("await fetch(input.url)", { ...setting, signal: controller.signal });
    while (served < 4) await new Promise((done) => setTimeout(done, 5));
    controller.abort();
    expect((await cancelling).error?.code).toBe("cancelled");
    while (closed < 3) await new Promise((done) => setTimeout(done, 5));
    expect(closed).toBe(3);
  });

  test("a call at its deadline says so, and its tool does not see that requests took too long", async () => {
    const port = await serve(() => {});
    const setting = { capabilities: { net: ports(port) }, input: { url: `http://api.test:${port}` } };
    const body = "return (await Promise.allSettled([1, 2].map(() => fetch(input.url)))).length";
    const calls = Array.from({ length: 30 }, (_, n) =>
      run(body, { ...setting, limits: { wallTimeMs: 400 + n } }),
    );
    const codes = (await Promise.all(calls)).map(({ error }) => error?.code);
    expect([...new Set(codes)]).toEqual(["timeout"]);
  });

  test("requests are cancelled when the sandboxes close", async () => {
    const arrived = Promise.withResolvers<void>();
    const port = await serve(() => arrived.resolve());
    const own = await openSandboxes({ workers: { threads: 1 }, egress: { resolve } });
    const tool = new GrantedTool(own, "export default ({ url }) => fetch(url, { method: 'PUT', body: 'x' })");
    const calling = tool.call({
      capabilities: { net: ports(port) },
      input: { url: `http://api.test:${port}` },
    });
    await arrived.promise;
    await own.close();
    const { error, receipt } = await calling;
    expect(error).toMatchObject({ code: "cancelled", effect: "unknown" });
    expect(receipt.used.contacted).toHaveLength(1);
  });

  test("requests with safe methods leave no effect, and others an unknown one", async () => {
    const port = await serve(echo);
    const effectOf = async (init: string): Promise<unknown> => {
      const setting = { capabilities: { net: ports(port) }, input: { url: `http://api.test:${port}` } };
      return (await run(`await fetch(input.url, ${init}); throw new Error("late");`, setting)).error?.effect;
    };
    expect(await effectOf("{}")).toBe("none");
    expect(await effectOf("{ method: 'HEAD' }")).toBe("none");
    expect(await effectOf("{ method: 'POST', body: '' }")).toBe("unknown");
    expect(await effectOf("{ method: 'DELETE' }")).toBe("unknown");
    const unsent = await run(
      "await fetch('http://other.test/', { method: 'POST' }).catch(() => {}); throw new Error('late');",
      { capabilities: { net: ports(port) } },
    );
    expect(unsent.error?.effect).toBe("none");
  });
});
