import { createServer as createHttpsServer } from "node:https";
import { connect, createServer, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ForwardProxy, type ProxyOptions } from "../../../src/egress/proxy/forward-proxy.ts";
import { bodyOf, echo, listen, openEgress, SECURE_TEST, serve, serveBytes } from "../servers.ts";

const LOCAL = ["127.0.0.1/32"];

interface Opened {
  readonly proxy: ForwardProxy;
  readonly port: number;
  readonly denied: string[];
}

async function open(
  grants: ProxyOptions["grants"],
  netBytes = 1_000_000,
  egress = openEgress(),
): Promise<Opened> {
  const denied: string[] = [];
  const proxy = new ForwardProxy({
    openEgress: async () => egress,
    grants,
    netBytes,
    onDenied: (text) => denied.push(text),
  });
  onTestFinished(() => proxy.close());
  return { proxy, denied, port: await listen(createServer((socket) => proxy.accept(socket))) };
}

const toHttp = (port: number): ProxyOptions["grants"] => [
  { origin: `http://a.test:${port}`, addresses: LOCAL },
];

/** Sends bytes, and returns all that comes until the connection ends. */
function exchange(port: number, text: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const client = connect(port, "127.0.0.1");
    client
      .on("data", (chunk) => (answer += chunk.toString("latin1")))
      .on("close", () => resolve(answer))
      .on("error", () => {});
    client.write(text);
  });
}

const get = (url: string, ...headers: string[]): string =>
  [`GET ${url} HTTP/1.1`, ...headers, "", ""].join("\r\n");

const statuses = (answer: string): string[] =>
  Array.from(answer.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status = ""]) => status);

describe("A plain request", () => {
  test("reaches a granted origin, with its body and its end-to-end headers only", async () => {
    const server = await serve(echo);
    const { proxy, port } = await open(toHttp(server));
    const answer = await exchange(
      port,
      `POST http://a.test:${server}/path?q=1 HTTP/1.1\r\nHost: a.test:${server}\r\nContent-Length: 4\r\n` +
        "X-Kept: 1\r\nX-Kept: 2\r\nX-Hop: 3\r\nProxy-Authorization: secret\r\nConnection: close, X-Hop\r\n\r\nbody",
    );
    expect(statuses(answer)).toEqual(["200"]);
    const { method, url, headers, body } = JSON.parse(
      answer.slice(answer.indexOf("{"), answer.lastIndexOf("}") + 1),
    );
    expect({ method, url, body }).toEqual({ method: "POST", url: "/path?q=1", body: "body" });
    expect(headers).toEqual({
      host: `a.test:${server}`,
      connection: "close",
      "content-length": "4",
      "x-kept": "1, 2",
    });
    const { contacted, bytesUp, bytesDown } = proxy.traffic;
    expect(contacted).toEqual([{ origin: `http://a.test:${server}`, address: "127.0.0.1" }]);
    expect(Math.min(bytesUp, bytesDown)).toBeGreaterThan(50);
  });

  test("with a chunked body is written anew", async () => {
    const server = await serve(echo);
    const { port } = await open(toHttp(server));
    const answer = await exchange(
      port,
      `POST http://a.test:${server}/ HTTP/1.1\r\nHost: a.test:${server}\r\nConnection: close\r\n` +
        "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nTrailer: t\r\n\r\n",
    );
    expect(answer).toContain('"body":"abc"');
  });

  test("is refused unless the grant has its origin and the address, which operators read once", async () => {
    const server = await serve(echo);
    const { port, denied, proxy } = await open([`http://a.test:${server}`, "https://b.test"]);
    for (let times = 0; times < 2; times++)
      expect(await exchange(port, get("http://b.test/", "Host: b.test"))).toMatch(
        /^HTTP\/1\.1 403 [\s\S]*The grant of this call does not have the origin 'http:\/\/b\.test'/,
      );
    const answer = await exchange(port, get(`http://a.test:${server}/`, `Host: a.test:${server}`));
    expect(answer).toMatch(/^HTTP\/1\.1 403 [\s\S]*is not public/);
    expect(answer).not.toContain("127.0.0.1");
    expect(denied).toEqual([
      "the grant does not name the origin 'http://b.test' (net: [origin])",
      expect.stringContaining("127.0.0.1"),
    ]);
    expect(proxy.traffic.contacted).toEqual([]);
  });

  test("of a connection that stays open is checked like the first", async () => {
    const server = await serve((_, response) => response.end("fine"));
    const { port } = await open(toHttp(server));
    const granted = get(`http://a.test:${server}/`, `Host: a.test:${server}`);
    const answer = await exchange(port, granted + granted + get("http://evil.test/", "Host: evil.test"));
    expect(statuses(answer)).toEqual(["200", "200", "403"]);
  });

  test.each([
    ["a path alone", (port: number) => get("/", `Host: a.test:${port}`)],
    ["another host in its header", (port: number) => get(`http://a.test:${port}/`, "Host: evil.test")],
    [
      "two hosts in headers",
      (port: number) => get(`http://a.test:${port}/`, `Host: a.test:${port}`, "Host: evil.test"),
    ],
    ["another port in its header", (port: number) => get(`http://a.test:${port}/`, "Host: a.test:1")],
    ["no host", (port: number) => get(`http://a.test:${port}/`)],
    ["credentials in the URL", (port: number) => get(`http://u:p@a.test:${port}/`, `Host: a.test:${port}`)],
    ["an https: URL", (port: number) => get(`https://a.test:${port}/`, `Host: a.test:${port}`)],
    [
      "the method TRACE",
      (port: number) => get(`http://a.test:${port}/`, `Host: a.test:${port}`).replace("GET", "TRACE"),
    ],
    [
      "a WebSocket handshake",
      (port: number) =>
        get(`http://a.test:${port}/`, `Host: a.test:${port}`, "Connection: Upgrade", "Upgrade: websocket"),
    ],
    ["HTTP/2 with prior knowledge", () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    [
      "a length and chunks",
      (port: number) =>
        `${get(
          `http://a.test:${port}/`,
          `Host: a.test:${port}`,
          "Content-Length: 5",
          "Transfer-Encoding: chunked",
        )}0\r\n\r\n`,
    ],
    [
      "two lengths",
      (port: number) =>
        get(`http://a.test:${port}/`, `Host: a.test:${port}`, "Content-Length: 1", "Content-Length: 2") +
        "ab",
    ],
    [
      "chunks that are coded again",
      (port: number) =>
        get(`http://a.test:${port}/`, `Host: a.test:${port}`, "Transfer-Encoding: chunked, gzip") +
        "0\r\n\r\n",
    ],
    [
      "chunks of something compressed",
      (port: number) =>
        get(`http://a.test:${port}/`, `Host: a.test:${port}`, "Transfer-Encoding: gzip, chunked") +
        "0\r\n\r\n",
    ],
    [
      "a space before a colon",
      (port: number) => get(`http://a.test:${port}/`, `Host: a.test:${port}`, "Content-Length : 1"),
    ],
    ["a line feed alone", (port: number) => get(`http://a.test:${port}/`, `Host: a.test:${port}\nX: y`)],
  ])("with %s is refused, and nothing is sent", async (_, write) => {
    const received = vi.fn();
    const server = await listen(createServer(received));
    const { port } = await open(toHttp(server));
    const answer = await exchange(port, write(server));
    expect(statuses(answer)[0]).toBe("400");
    expect(received).not.toHaveBeenCalled();
  });

  test("cannot smuggle another one, whatever the server does with its body", async () => {
    const seen: string[] = [];
    const server = await serve(async (request, response) => {
      seen.push(`${request.url} ${await bodyOf(request)}`);
      response.end();
    });
    const { port } = await open(toHttp(server));
    const inner = get(`http://evil.test/`, "Host: evil.test");
    await exchange(
      port,
      `POST http://a.test:${server}/ HTTP/1.1\r\nHost: a.test:${server}\r\nConnection: close\r\n` +
        `Content-Length: ${inner.length}\r\n\r\n${inner}`,
    );
    expect(seen).toEqual([`/ ${inner}`]);
  });

  test.each([
    "GET",
    "OPTIONS",
    "DELETE",
    "POST",
  ])("cannot smuggle another one in the chunks of %s, which are still a body for the server", async (method) => {
    const seen: string[] = [];
    const server = await serve(async (request, response) => {
      seen.push(`${request.method} ${request.url} ${await bodyOf(request)}`);
      response.end();
    });
    const { port } = await open(toHttp(server));
    const inner = get("http://evil.test/", "Host: evil.test");
    await exchange(
      port,
      `${method} http://a.test:${server}/ HTTP/1.1\r\nHost: a.test:${server}\r\nConnection: close\r\n` +
        `Transfer-Encoding: chunked\r\n\r\n${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`,
    );
    expect(seen).toEqual([`${method} / ${inner}`]);
  });

  test("waits for the answer to the one before it on its connection, of which few can wait", async () => {
    const connections: Socket[] = [];
    const server = await listen(createServer((socket) => connections.push(socket.resume())));
    const { port } = await open(toHttp(server));
    const asked = get(`http://a.test:${server}/`, `Host: a.test:${server}`);
    const patient = connect(port, "127.0.0.1");
    onTestFinished(() => void patient.destroy());
    patient.write(asked.repeat(10));
    await vi.waitFor(() => expect(connections).toHaveLength(1));
    expect(await exchange(port, asked.repeat(1_000))).toBe("");
    const last = await exchange(port, get("http://evil.test/", "Host: evil.test", "Connection: close"));
    expect(statuses(last)).toEqual(["403"]);
    expect(connections.length).toBeLessThanOrEqual(2);
    connections[0]?.end("HTTP/1.1 204 No Content\r\n\r\n");
    await vi.waitFor(() => expect(connections.filter((socket) => !socket.destroyed)).toHaveLength(1));
    patient.destroy();
    await vi.waitFor(() => expect(connections.every((socket) => socket.destroyed)).toBe(true));
    expect(connections.length).toBeLessThanOrEqual(3);
  });

  test("counts until its connection was opened, even if the client has gone", async () => {
    const target = await serve(echo);
    const { promise: canResolve, resolve: letResolve } = Promise.withResolvers<void>();
    let lookups = 0;
    const egress = openEgress({
      resolve: async () => {
        lookups++;
        await canResolve;
        return ["127.0.0.1"];
      },
    });
    const { proxy } = await open(toHttp(target), undefined, egress);
    const accepted: Socket[] = [];
    const port = await listen(
      createServer((socket) => {
        accepted.push(socket);
        proxy.accept(socket);
      }),
    );
    const connecting = vi.spyOn(egress, "connect");
    const lines = [`host: a.test:${target}`, "connection: close"];
    const text = get(`http://a.test:${target}/`, ...lines);
    const clients = Array.from({ length: 128 }, () => connect(port, "127.0.0.1").on("error", () => {}));
    for (const client of clients) client.write(text);
    await vi.waitFor(() => expect(connecting).toHaveBeenCalledTimes(128), { timeout: 10_000 });
    for (const client of clients) client.resetAndDestroy();
    await vi.waitFor(() => expect(accepted.every(({ destroyed }) => destroyed)).toBe(true), {
      timeout: 10_000,
    });
    expect(await exchange(port, text)).toBe("");
    expect([connecting.mock.calls.length, lookups]).toEqual([128, 1]);
    letResolve();
    await vi.waitFor(async () => expect(statuses(await exchange(port, text))).toEqual(["200"]), {
      timeout: 10_000,
    });
  });

  test("gets redirects as responses", async () => {
    const server = await serve((_, response) =>
      response.writeHead(302, { location: "http://evil.test/" }).end(),
    );
    const { port } = await open(toHttp(server));
    const answer = await exchange(
      port,
      get(`http://a.test:${server}/`, `Host: a.test:${server}`, "Connection: close"),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 302 [\s\S]*location: http:\/\/evil\.test\//);
  });

  test("ends when the budget is used up, and so do later ones", async () => {
    const server = await serve((_, response) => {
      response.on("error", () => {});
      const timer = setInterval(() => response.write(Buffer.alloc(10_000)), 1);
      response.on("close", () => clearInterval(timer));
    });
    const { port, proxy, denied } = await open(toHttp(server), 200_000);
    const asked = get(`http://a.test:${server}/`, `Host: a.test:${server}`);
    const answer = await exchange(port, asked);
    expect(answer.length).toBeLessThanOrEqual(220_000);
    expect(proxy.traffic.bytesDown).toBeGreaterThan(190_000);
    expect(await exchange(port, asked)).toMatch(/^HTTP\/1\.1 403 [\s\S]*netBytes/);
    expect(denied).toEqual(["the traffic exceeds the network budget (netBytes)"]);
  });

  test("sends not a byte more than the budget", async () => {
    let received = 0;
    const server = await listen(
      createServer((socket) => socket.on("data", (chunk) => (received += chunk.length))),
    );
    const { port } = await open(toHttp(server), 50_000);
    await exchange(
      port,
      `POST http://a.test:${server}/ HTTP/1.1\r\nHost: a.test:${server}\r\nContent-Length: 500000\r\n\r\n${"x".repeat(500_000)}`,
    );
    expect(received).toBeLessThanOrEqual(50_000);
  });

  test("gets 502 if the server's answer is no HTTP, and 403, 502 or 504 if there is no connection", async () => {
    const server = await serveBytes((socket) => socket.end("no HTTP\r\n\r\n"));
    const { port } = await open([...toHttp(server), "http://none.invalid"]);
    expect(statuses(await exchange(port, get(`http://a.test:${server}/`, `Host: a.test:${server}`)))).toEqual(
      ["502"],
    );
    expect(await exchange(port, get("http://none.invalid/", "Host: none.invalid"))).toMatch(
      /^HTTP\/1\.1 502 [\s\S]*cannot be resolved/,
    );
  });
});

describe("A tunnel", () => {
  async function secureServer(): Promise<number> {
    return await listen(createHttpsServer(SECURE_TEST, (_, response) => response.end("secret page")));
  }
  const toSecure = (port: number): ProxyOptions["grants"] => [
    { origin: `https://secure.test:${port}`, addresses: LOCAL },
  ];

  /** Opens a tunnel, and returns the client's connection. */
  async function openTunnel(port: number, authority: string): Promise<Socket> {
    const client = connect(port, "127.0.0.1");
    onTestFinished(() => void client.destroy());
    client.on("error", () => {});
    client.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    const [first] = await new Promise<[Buffer]>((resolve) =>
      client.once("data", (chunk: Buffer) => resolve([chunk])),
    );
    expect(first.toString()).toBe("HTTP/1.1 200 Connection established\r\n\r\n");
    return client;
  }

  function closed(client: Socket): Promise<string> {
    let rest = "";
    client.on("data", (chunk) => (rest += chunk.toString("latin1")));
    return new Promise((resolve) => client.once("close", () => resolve(rest)));
  }

  test("passes TLS with the host of a granted origin on", async () => {
    const server = await secureServer();
    const { proxy, port } = await open(toSecure(server));
    const client = await openTunnel(port, `secure.test:${server}`);
    const tls = connectTls({ socket: client, servername: "secure.test", ca: SECURE_TEST.cert });
    tls.write("GET / HTTP/1.1\r\nHost: secure.test\r\nConnection: close\r\n\r\n");
    let answer = "";
    for await (const chunk of tls) answer += chunk;
    expect(answer).toContain("secret page");
    expect(proxy.traffic.contacted).toEqual([
      { origin: `https://secure.test:${server}`, address: "127.0.0.1" },
    ]);
    expect(proxy.traffic.bytesDown).toBeGreaterThan(500);
  });

  test.each([
    "evil.test:443",
    "secure.test:1",
    "127.0.0.1:443",
    "a.test:80",
  ])("to %s is refused", async (authority) => {
    const server = await secureServer();
    const { port, denied } = await open(toSecure(server));
    const answer = await exchange(port, `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden[\s\S]*does not have the origin 'https:/);
    expect(denied).toHaveLength(1);
  });

  test("is not opened for an origin that is granted without TLS", async () => {
    const server = await serve(echo);
    const { port } = await open(toHttp(server));
    expect(
      statuses(await exchange(port, `CONNECT a.test:${server} HTTP/1.1\r\nHost: a.test:${server}\r\n\r\n`)),
    ).toEqual(["403"]);
  });

  test.each([
    "secure.test",
    "http://secure.test:1",
    "u@secure.test:1",
    "secure.test:1/x",
    "secure.test:99999",
    ":1",
  ])("to '%s' is no valid request", async (authority) => {
    const { port } = await open(toSecure(1));
    expect(
      statuses(await exchange(port, `CONNECT ${authority} HTTP/1.1\r\nHost: secure.test\r\n\r\n`)),
    ).toEqual(["400"]);
  });

  test("ends before a byte is sent if it is not used for TLS", async () => {
    let received = 0;
    const server = await listen(
      createServer((socket) => socket.on("data", (chunk) => (received += chunk.length))),
    );
    const { port } = await open(toSecure(server));
    const client = await openTunnel(port, `secure.test:${server}`);
    client.write("GET / HTTP/1.1\r\n\r\n");
    expect(await closed(client)).toBe("");
    expect(received).toBe(0);
  });

  test("ends before a byte is sent if TLS is for another host, in however many pieces its name comes", async () => {
    let received = 0;
    const server = await listen(
      createServer((socket) => socket.on("data", (chunk) => (received += chunk.length))),
    );
    const { port, denied } = await open(toSecure(server));
    const hello = await clientHello("evil.test");
    const client = await openTunnel(port, `secure.test:${server}`);
    const ended = closed(client);
    for (const byte of hello) client.write(Buffer.from([byte]));
    expect(await ended).toBe("");
    expect(received).toBe(0);
    expect(denied).toEqual([`a tunnel to 'https://secure.test:${server}' was used for "evil.test"`]);
  });

  test("ends when the budget is used up", async () => {
    const server = await listen(
      createHttpsServer(SECURE_TEST, (_, response) => {
        const timer = setInterval(() => response.write(Buffer.alloc(10_000)), 1);
        response.on("close", () => clearInterval(timer));
      }),
    );
    const { port, proxy } = await open(toSecure(server), 100_000);
    const client = await openTunnel(port, `secure.test:${server}`);
    const tls = connectTls({ socket: client, servername: "secure.test", ca: SECURE_TEST.cert });
    tls.on("error", () => {}).resume();
    tls.write("GET / HTTP/1.1\r\nHost: secure.test\r\n\r\n");
    await new Promise((resolve) => client.once("close", resolve));
    expect(proxy.traffic.bytesDown).toBeLessThan(400_000);
  });

  test("ends with the proxy", async () => {
    const server = await secureServer();
    const { proxy, port } = await open(toSecure(server));
    const client = await openTunnel(port, `secure.test:${server}`);
    const ended = closed(client);
    proxy.close();
    expect(await ended).toBe("");
    expect(await exchange(port, get("http://a.test/", "Host: a.test"))).toBe("");
  });
});

/** The first bytes of a TLS client. */
async function clientHello(servername: string): Promise<Buffer> {
  return await new Promise<Buffer>((resolve) => {
    void listen(createServer((socket) => socket.once("data", (chunk: Buffer) => resolve(chunk)))).then(
      (port) => {
        const tls = connectTls({ port, host: "127.0.0.1", servername });
        tls.on("error", () => {});
        onTestFinished(() => void tls.destroy());
      },
    );
  });
}
