import net, { createServer } from "node:net";
import { describe, expect, test, vi } from "vitest";
import { bodyOf, echo, failureOf, listen, openEgress, request, serve, serveBytes } from "./servers.ts";

describe("a request", () => {
  test("a request reaches its origin, and its response reports the traffic", async () => {
    const port = await serve(echo);
    const { status, body, traffic } = await openEgress().send(
      request(`http://api.test:${port}/a%2Fb?c=d#e`, {
        method: "POST",
        headers: { "X-Key": "k" },
        body: "héllo",
      }),
    );
    expect(status).toBe(200);
    expect(JSON.parse(body.toString())).toMatchObject({
      method: "POST",
      url: "/a%2Fb?c=d",
      headers: { host: `api.test:${port}`, "x-key": "k", "content-length": "6" },
      body: "héllo",
    });
    expect(traffic.contacted).toEqual([{ origin: `http://api.test:${port}`, address: "127.0.0.1" }]);
    expect(traffic.bytesUp).toBeGreaterThan(6);
    expect(traffic.bytesDown).toBeGreaterThan(body.length);
  });

  test("a request reaches only what its grant allows", async () => {
    const port = await serve(echo);
    const grants = [{ origin: `http://api.test:${port}`, addresses: ["127.0.0.1/32"] }];
    const egress = openEgress();
    expect((await egress.send(request(`http://api.test:${port}/`, { grants }))).status).toBe(200);
    for (const url of [
      `http://other.test:${port}/`,
      `http://api.test.:${port}/`,
      `https://api.test:${port}/`,
      `http://api.test:${port + 1}/`,
      `http://127.0.0.1:${port}/`,
    ]) {
      const error = await failureOf(egress.send(request(url, { grants })));
      expect([url, error.code, error.sent]).toEqual([url, "origin_denied", false]);
    }
  });

  test.each([
    ["a URL with credentials", { url: "http://user:secret@api.test/" }],
    ["an invalid URL", { url: "http://[fe80::1%25eth0]/" }],
    ["a tunnel", { method: "CONNECT" }],
    ["a method with a line feed", { method: "GET / HTTP/1.1\r\nX:" }],
    ["a header with a line feed", { headers: { a: "b\r\nx: y" } }],
    ["a header name with a colon", { headers: { "a: b\r\nx": "y" } }],
    ["a host header", { headers: { Host: "other.test" } }],
    ["a content-length header", { headers: { "content-length": "3" } }],
    ["a transfer-encoding header", { headers: { "Transfer-Encoding": "chunked" } }],
    ["a header beyond Latin-1", { headers: { a: "\u0100" } }],
  ])("a request with %s is refused before a byte is sent", async (_case, more) => {
    const error = await failureOf(openEgress().send(request("http://api.test/", more)));
    expect(error).toMatchObject({ code: "request_invalid", sent: false });
    expect(error.message).not.toContain("secret");
  });

  test("a request ignores proxies of the environment", async () => {
    vi.stubEnv("HTTP_PROXY", "http://127.0.0.1:1");
    vi.stubEnv("http_proxy", "http://127.0.0.1:1");
    vi.stubEnv("NODE_USE_ENV_PROXY", "1");
    const port = await serve(echo);
    expect((await openEgress().send(request(`http://api.test:${port}/`))).status).toBe(200);
    vi.unstubAllEnvs();
  });

  test("a request that exceeds the network budget is not sent", async () => {
    const limits = { timeoutMs: 1_000, bodyBytes: 1_000, netBytes: 1_000 };
    const sending = openEgress().send(request("http://api.test/", { limits, body: "x".repeat(1_000) }));
    expect(await failureOf(sending)).toMatchObject({ code: "request_too_large", sent: false });
  });
});

describe("a host", () => {
  test("a host is not contacted if any of its addresses is not public", async () => {
    let connections = 0;
    const port = await listen(createServer(() => connections++));
    for (const addresses of [
      ["127.0.0.1"],
      ["93.184.216.34", "127.0.0.1"],
      ["::ffff:127.0.0.1"],
      ["127.1"],
    ]) {
      const egress = openEgress({ resolve: async () => addresses });
      const url = `http://api.test:${port}/`;
      const error = await failureOf(egress.send(request(url, { grants: ["http://*:*"] })));
      expect([addresses, error.code, error.sent]).toEqual([addresses, "address_denied", false]);
    }
    expect(connections).toBe(0);
  });

  test("a host is resolved once for a connection, which uses the checked address", async () => {
    const port = await serve(echo);
    const answers = [["127.0.0.1"], ["127.0.0.2"]];
    const asked: string[] = [];
    const resolve = async (name: string): Promise<readonly string[]> => {
      asked.push(name);
      return answers.shift() ?? [];
    };
    const egress = openEgress({ resolve });
    const { traffic } = await egress.send(request(`http://rebind.test:${port}/`));
    expect(traffic.contacted[0]?.address).toBe("127.0.0.1");
    expect(asked).toEqual(["rebind.test"]);
  });

  test("a host is checked again for each new connection", async () => {
    const port = await serve((_request, response) => response.setHeader("connection", "close").end());
    const answers = [["127.0.0.1"], ["127.0.0.2"]];
    const egress = openEgress({ resolve: async () => answers.shift() ?? [] });
    const url = `http://rebind.test:${port}/`;
    expect((await egress.send(request(url))).status).toBe(200);
    expect(await failureOf(egress.send(request(url)))).toMatchObject({ code: "address_denied", sent: false });
  });

  test("a host without an address, or that cannot be resolved, is reported", async () => {
    const egress = openEgress({ resolve: async () => [] });
    expect((await failureOf(egress.send(request("http://none.test/")))).code).toBe("name_not_resolved");
    const other = openEgress();
    expect((await failureOf(other.send(request("http://none.example/")))).code).toBe("name_not_resolved");
  });

  test("a host that refuses connections is sent nothing", async () => {
    const error = await failureOf(openEgress().send(request("http://api.test:1/")));
    expect(error).toMatchObject({ code: "connection_refused", sent: false });
    expect(error.traffic).toEqual({ contacted: [], bytesUp: 0, bytesDown: 0 });
  });
});

describe("a connection", () => {
  test("a connection is shared only by requests that may use the same addresses", async () => {
    const ports = new Set<number | undefined>();
    const port = await serve((asked, response) => {
      ports.add(asked.socket.remotePort);
      response.end();
    });
    const egress = openEgress();
    const url = `http://api.test:${port}/`;
    const grantOf = (...addresses: string[]) => ({
      grants: [{ origin: `http://api.test:${port}`, addresses }],
    });
    await egress.send(request(url, grantOf("127.0.0.0/8")));
    // A connection is reused only after a turn of the event loop, in which its peer could have closed it.
    await new Promise((resolve) => setTimeout(resolve, 10));
    await egress.send(request(url, grantOf("127.0.0.0/8")));
    expect(ports.size).toBe(1);
    await egress.send(request(url, grantOf("127.0.0.1/32")));
    expect(ports.size).toBe(2);
    const denied = await failureOf(egress.send(request(url, grantOf("10.0.0.0/8"))));
    expect(denied.code).toBe("address_denied");
  });

  test("idle connections are closed if there are too many", async () => {
    let open = 0;
    const port = await listen(
      createServer((socket) => {
        open++;
        socket.on("close", () => open--).on("data", () => socket.write("HTTP/1.1 204 No Content\r\n\r\n"));
      }),
    );
    const egress = openEgress();
    for (let i = 0; i < 80; i++) await egress.send(request(`http://host-${i}.test:${port}/`));
    await vi.waitFor(() => expect(open).toBeLessThanOrEqual(64));
    expect(open).toBeGreaterThan(0);
  });

  test("a connection is not reused after its response was truncated", async () => {
    let connections = 0;
    const port = await listen(
      createServer((socket) => {
        connections++;
        socket.on("data", () =>
          socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n${"x".repeat(9_000)}`),
        );
      }),
    );
    const egress = openEgress();
    const limits = { timeoutMs: 1_000, bodyBytes: 5_000 };
    for (let i = 0; i < 3; i++) {
      const error = await failureOf(egress.send(request(`http://api.test:${port}/`, { limits })));
      expect(error).toMatchObject({ code: "body_too_large", sent: true });
    }
    expect(connections).toBe(3);
  });
});

describe("the end of an exchange", () => {
  const silent = () => serveBytes(() => {});

  test("an exchange ends at its timeout, and closes its connection", async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const port = await listen(
      createServer((socket) =>
        socket
          .on("error", () => {})
          .on("close", () => resolve())
          .resume(),
      ),
    );
    const limits = { timeoutMs: 50, bodyBytes: 1_000 };
    const error = await failureOf(openEgress().send(request(`http://api.test:${port}/`, { limits })));
    expect(error).toMatchObject({ code: "timeout", sent: true });
    await closed;
  });

  test("an exchange can be aborted before it starts, while its host is resolved, and while it waits for a response", async () => {
    const egress = openEgress();
    const before = request("http://api.test/", { signal: AbortSignal.abort() });
    expect(await failureOf(egress.send(before))).toMatchObject({ code: "aborted", sent: false });

    const stuck = openEgress({ resolve: () => new Promise(() => {}) });
    const signal = AbortSignal.timeout(30);
    const resolving = await failureOf(stuck.send(request("http://api.test/", { signal })));
    expect(resolving).toMatchObject({ code: "aborted", sent: false });

    const waiting = request(`http://api.test:${await silent()}/`, { signal: AbortSignal.timeout(50) });
    expect(await failureOf(egress.send(waiting))).toMatchObject({ code: "aborted", sent: true });
  });

  test("a request that was aborted before it had a connection is never sent", async () => {
    let bytes = 0;
    const port = await listen(
      createServer((socket) => {
        socket.on("data", (chunk) => {
          bytes += chunk.length;
        });
      }),
    );
    const { promise: answered, resolve: answer } = Promise.withResolvers<string[]>();
    const egress = openEgress({ resolve: () => answered });
    const signal = AbortSignal.timeout(20);
    const error = await failureOf(egress.send(request(`http://api.test:${port}/`, { signal })));
    answer(["127.0.0.1"]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(error.sent).toBe(false);
    expect(bytes).toBe(0);
  });

  test("closing the egress ends its exchanges, and it accepts no more requests", async () => {
    const egress = openEgress();
    const sending = failureOf(egress.send(request(`http://api.test:${await silent()}/`)));
    await new Promise((resolve) => setTimeout(resolve, 30));
    await egress.close();
    expect((await sending).code).toBe("closed");
    expect((await failureOf(egress.send(request("http://api.test/")))).code).toBe("closed");
    await egress.close();
  });

  test("an exchange ends if the first byte or the next chunk does not arrive in time", async () => {
    const limits = { timeoutMs: 5_000, bodyBytes: 1_000, firstByteTimeoutMs: 50, betweenBytesTimeoutMs: 50 };
    const egress = openEgress();
    const first = request(`http://api.test:${await silent()}/`, { limits });
    expect((await failureOf(egress.send(first))).code).toBe("headers_timeout");
    const port = await serveBytes((socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx"));
    const next = request(`http://api.test:${port}/`, { limits });
    expect((await failureOf(egress.send(next))).code).toBe("body_timeout");
  });
});

test("only the egress opens connections", async () => {
  // All sockets are opened by net.connect, whose arguments show where they go.
  const connect = vi.spyOn(net, "connect");
  const port = await serve(async (asked, response) => response.end(await bodyOf(asked)));
  await openEgress().send(request(`http://api.test:${port}/`, { method: "PUT", body: "1" }));
  expect(connect.mock.calls.length).toBe(1);
  connect.mockRestore();
});
