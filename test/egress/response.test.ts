import { createServer as createTcpServer, type Socket } from "node:net";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import type { EgressErrorCode } from "../../src/egress/egress-error.ts";
import { BoundedBody } from "../../src/egress/response-reader.ts";
import { failureOf, listen, openEgress, request, serve, serveBytes } from "./servers.ts";

const encoded = (encoding: string, body: Buffer): Promise<number> =>
  serve((_request, response) => response.setHeader("content-encoding", encoding).end(body));

/** Writes until the connection closes. */
const flood =
  (head: string, chunk: string) =>
  (socket: Socket): void => {
    socket.write(head);
    const more = (): void => {
      while (!socket.destroyed && socket.write(chunk));
      if (!socket.destroyed) socket.once("drain", more);
    };
    more();
  };

describe("the body of a response", () => {
  const text = "hello ".repeat(1_000);
  test.each<[string, (bytes: Buffer) => Buffer]>([
    ["gzip", gzipSync],
    ["x-gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
    ["zstd", zstdCompressSync],
    ["identity", (bytes) => bytes],
    ["deflate, gzip", (bytes) => gzipSync(deflateSync(bytes))],
  ])("a body with the encoding %s is decoded", async (encoding, encode) => {
    const port = await encoded(encoding, encode(Buffer.from(text)));
    const { body, traffic } = await openEgress().send(request(`http://api.test:${port}/`));
    expect(body.toString()).toBe(text);
    if (encoding !== "identity") expect(traffic.bytesDown).toBeLessThan(text.length);
  });

  test("a deflate body without the zlib wrapper is decoded", async () => {
    const port = await encoded("deflate", deflateRawSync(text));
    expect((await openEgress().send(request(`http://api.test:${port}/`))).body.toString()).toBe(text);
  });

  test.each<[string, (bytes: Buffer) => Buffer]>([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
    ["zstd", zstdCompressSync],
    ["gzip, gzip", (bytes) => gzipSync(gzipSync(bytes))],
  ])("a decompression bomb in %s is refused", async (encoding, encode) => {
    const port = await encoded(encoding, encode(Buffer.alloc(20_000_000)));
    const error = await failureOf(openEgress().send(request(`http://api.test:${port}/`)));
    expect(error).toMatchObject({ code: "body_too_large", sent: true });
  });

  test.each([
    ["gzip", "no gzip"],
    ["br", "\u0001\u0002"],
    ["rot13", "uryyb"],
    ["gzip, gzip, gzip", "x"],
  ])("a body that is not valid %s is refused", async (encoding, body) => {
    const port = await encoded(encoding, Buffer.from(body));
    const error = await failureOf(openEgress().send(request(`http://api.test:${port}/`)));
    expect(error.code).toBe("encoding_invalid");
  });

  test("the body of an error response is truncated at its limit, and dropped if it is compressed", async () => {
    const limits = { timeoutMs: 1_000, bodyBytes: 1_000, failureBodyBytes: 10 };
    const egress = openEgress();
    const plain = await serve((_request, response) => response.writeHead(500).end("x".repeat(100_000)));
    const cut = await egress.send(request(`http://api.test:${plain}/`, { limits }));
    expect([cut.status, cut.body.toString()]).toEqual([500, "x".repeat(10)]);
    const zipped = await serve((_request, response) =>
      response.writeHead(500, { "content-encoding": "gzip" }).end(gzipSync("y".repeat(100_000))),
    );
    const left = await egress.send(request(`http://api.test:${zipped}/`, { limits }));
    expect([left.status, left.body.length]).toEqual([500, 0]);
  });

  test("a body may be as long as its limit, and not a byte longer", async () => {
    const port = await serve((asked, response) => response.end("x".repeat(Number(asked.url?.slice(1)))));
    const limits = { timeoutMs: 1_000, bodyBytes: 1_000 };
    const egress = openEgress();
    expect((await egress.send(request(`http://api.test:${port}/1000`, { limits }))).body.length).toBe(1_000);
    const longer = await failureOf(egress.send(request(`http://api.test:${port}/1001`, { limits })));
    expect(longer.code).toBe("body_too_large");
  });
});

describe("a response", () => {
  test.each<[string, (socket: Socket) => void, EgressErrorCode]>([
    ["is not HTTP", (socket) => socket.end("\u0000\u0001 no HTTP at all\r\n\r\n"), "response_invalid"],
    ["ends before its headers", (socket) => socket.end("HTTP/1.1 200 OK\r\nx: "), "connection_lost"],
    [
      "ends before its body",
      (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx"),
      "connection_lost",
    ],
    ["never begins", (socket) => socket.end(), "connection_lost"],
    ["is reset", (socket) => socket.resetAndDestroy(), "connection_lost"],
    [
      "has a chunk with an invalid length",
      (socket) => socket.write(`${CHUNKED}ZZ\r\nx\r\n`),
      "response_invalid",
    ],
    [
      "has a chunk without end",
      (socket) => socket.write(`${CHUNKED}FFFFFFFFFFFFFFFFFF\r\nx`),
      "response_invalid",
    ],
    [
      "has a negative length",
      (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n"),
      "response_invalid",
    ],
    [
      "has two lengths",
      (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx"),
      "response_invalid",
    ],
    [
      "switches protocols unasked",
      (socket) => socket.write("HTTP/1.1 101 Hi\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"),
      "connection_lost",
    ],
    [
      "has headers without end",
      flood("HTTP/1.1 200 OK\r\n", `x: ${"a".repeat(1_000)}\r\n`),
      "headers_too_large",
    ],
    ["has an endless header", flood("HTTP/1.1 200 OK\r\nx: ", "a".repeat(10_000)), "headers_too_large"],
    ["has an endless body", flood("HTTP/1.1 200 OK\r\n\r\n", "a".repeat(10_000)), "body_too_large"],
    [
      "is informational without end",
      flood("", "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"),
      "response_invalid",
    ],
  ])("a response that %s fails with a matching code", async (_case, answer, code) => {
    const port = await serveBytes(answer);
    const limits = { timeoutMs: 5_000, bodyBytes: 50_000, netBytes: 200_000 };
    const error = await failureOf(openEgress().send(request(`http://api.test:${port}/`, { limits })));
    expect({ code: error.code, sent: error.sent }).toEqual({ code, sent: true });
  });

  test.each([
    ["chunk extensions", flood(`${CHUNKED}1;`, "x".repeat(10_000))],
    ["chunks with one byte", flood(CHUNKED, `1;${"x".repeat(10_000)}\r\ny\r\n`)],
    ["trailers", flood(`${CHUNKED}0\r\n`, `x: ${"x".repeat(10_000)}\r\n`)],
    ["informational heads", flood("", `HTTP/1.1 103 Hi\r\nx: ${"x".repeat(10_000)}\r\n\r\n`)],
  ])("the network budget counts %s", async (_case, answer) => {
    let socket: Socket | undefined;
    const port = await serveBytes((opened) => {
      socket = opened;
      answer(opened);
    });
    const limits = { timeoutMs: 5_000, bodyBytes: 50_000, netBytes: 12_000 };
    const error = await failureOf(openEgress().send(request(`http://api.test:${port}/`, { limits })));
    expect(error.code).toBe("budget_exceeded");
    // One read of the socket can exceed the budget.
    expect(error.traffic.bytesDown).toBeLessThan(limits.netBytes + 2 ** 18);
    await vi.waitFor(() => expect(socket?.destroyed).toBe(true));
  });

  test("the count of received bytes is exact, whatever they contain", async () => {
    const head = "HTTP/1.1 103 Hi\r\nx: y\r\n\r\n";
    const bytes = `${head}${head}${CHUNKED}2;a=b\r\nhi\r\n0\r\nlate: trailer\r\n\r\n`;
    const port = await listen(createTcpServer((socket) => socket.on("data", () => socket.write(bytes))));
    const egress = openEgress();
    for (let time = 0; time < 3; time++) {
      const { traffic } = await egress.send(request(`http://api.test:${port}/`));
      expect(traffic.bytesDown).toBe(bytes.length);
    }
  });

  test("header names of a response cannot change a prototype", async () => {
    const head =
      "HTTP/1.1 200 OK\r\n__proto__: x\r\n__proto__: y\r\nconstructor: a\r\nconstructor: b\r\nx: z\r\n";
    const port = await serveBytes((socket) => socket.write(`${head}content-length: 0\r\n\r\n`));
    const { headers } = await openEgress().send(request(`http://api.test:${port}/`));
    expect(headers["x"]).toBe("z");
    expect(Object.getPrototypeOf(headers)).toBe(Object.prototype);
    expect({}).not.toHaveProperty("x");
  });

  test("a response may follow informational ones and have trailers", async () => {
    const port = await serveBytes((socket) =>
      socket.write(
        `HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${CHUNKED}2\r\nhi\r\n0\r\nlate: trailer\r\n\r\n`,
      ),
    );
    const { status, body } = await openEgress().send(request(`http://api.test:${port}/`));
    expect([status, body.toString()]).toEqual([200, "hi"]);
  });
});

test("a body does not depend on how it is split into chunks, up to its budget", () => {
  // Chunks with their own buffer, and chunks that are a small part of the buffer they were read into.
  const chunk = fc
    .tuple(fc.integer({ min: 0, max: 20_000 }), fc.nat(255), fc.boolean())
    .map(([length, byte, isPart]) =>
      isPart ? Buffer.alloc(length * 3, byte).subarray(length, length * 2) : Buffer.alloc(length, byte),
    );
  fc.assert(
    fc.property(fc.array(chunk), fc.nat(50_000), (chunks, maxBytes) => {
      const body = new BoundedBody(maxBytes);
      const fits = chunks.map((one) => body.add(one));
      const all = Buffer.concat(chunks);
      expect(body.bytes).toEqual(all.subarray(0, maxBytes));
      expect(fits.at(-1) ?? true).toBe(all.length <= maxBytes || chunks.at(-1)?.length === 0);
    }),
  );
});

const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
