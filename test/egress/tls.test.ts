import { constants, createSecureServer, type ServerHttp2Stream } from "node:http2";
import { createServer } from "node:https";
import type { Server } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { describe, expect, test, vi } from "vitest";
import { echo, failureOf, listen, openEgress, request, SECURE_TEST } from "./servers.ts";

const trusting = { ca: SECURE_TEST.cert };

describe("requests over TLS", () => {
  test("a TLS request uses HTTP/1.1 and reaches the host that the certificate names", async () => {
    const port = await listen(createServer(SECURE_TEST, echo));
    const asked = request(`https://secure.test:${port}/`, { method: "POST", body: "1" });
    const { body, traffic } = await openEgress(trusting).send(asked);
    expect(JSON.parse(body.toString())).toMatchObject({
      headers: { host: `secure.test:${port}` },
      body: "1",
    });
    expect(traffic.contacted[0]?.address).toBe("127.0.0.1");
  });

  test("a TLS request uses HTTP/2 if the host supports it", async () => {
    const server = createSecureServer(SECURE_TEST, async (asked, response) => {
      let body = "";
      for await (const chunk of asked) body += chunk;
      response.setHeader("x-protocol", asked.httpVersion);
      response.end(`${asked.method} ${asked.url} ${asked.authority} ${body}`);
    });
    const port = await listen(server as unknown as Server);
    const egress = openEgress(trusting);
    const asked = request(`https://secure.test:${port}/a?b`, { method: "POST", body: "1" });
    const { status, headers, body, traffic } = await egress.send(asked);
    expect([status, headers["x-protocol"]]).toEqual([200, "2.0"]);
    expect(body.toString()).toBe(`POST /a?b secure.test:${port} 1`);
    expect(traffic.contacted[0]?.address).toBe("127.0.0.1");
    const limits = { timeoutMs: 5_000, bodyBytes: 5 };
    const tooLarge = await failureOf(egress.send(request(`https://secure.test:${port}/`, { limits })));
    expect(tooLarge).toMatchObject({ code: "body_too_large", sent: true });
    expect((await egress.send(asked)).status).toBe(200);
  });

  test("a request is sent once, even if an HTTP/2 server asks for it again", async () => {
    const server = createSecureServer(SECURE_TEST);
    let requests = 0;
    server.on("stream", (stream: ServerHttp2Stream) => {
      requests++;
      stream.on("error", () => {});
      stream.resume().on("end", () => {
        if (requests === 1) stream.close(constants.NGHTTP2_REFUSED_STREAM);
        else stream.respond({ ":status": 200 }, { endStream: true });
      });
    });
    const port = await listen(server as unknown as Server);
    const egress = openEgress(trusting);
    const asked = request(`https://secure.test:${port}/`, { method: "POST", body: "pay" });
    expect(await failureOf(egress.send(asked))).toMatchObject({ code: "connection_lost", sent: true });
    expect(requests).toBe(1);
    expect((await egress.send(asked)).status).toBe(200);
  });

  test("the network budget counts HTTP/2 frames that belong to no response", async () => {
    const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    // A frame of a type that is not defined, which must be ignored (RFC 9113, section 5.5).
    const unknown = Buffer.concat([Buffer.from([0, 0x40, 0, 0xfa, 0, 0, 0, 0, 0]), Buffer.alloc(16_384)]);
    const server = createTlsServer({ ...SECURE_TEST, ALPNProtocols: ["h2"] }, (socket) => {
      socket.on("error", () => {}).resume();
      socket.write(settings);
      const send = (): void => {
        while (!socket.destroyed && socket.write(unknown));
      };
      socket.on("drain", send);
      send();
    });
    const port = await listen(server);
    const limits = { timeoutMs: 5_000, bodyBytes: 50_000, netBytes: 100_000 };
    const asked = request(`https://secure.test:${port}/`, { limits });
    const error = await failureOf(openEgress(trusting).send(asked));
    expect(error).toMatchObject({ code: "budget_exceeded", sent: true });
  });

  test("an HTTP/2 connection has one request at a time, so each counts its own bytes", async () => {
    const server = createSecureServer(SECURE_TEST, (asked, response) =>
      response.end("x".repeat(Number(asked.url.slice(1)))),
    );
    const port = await listen(server as unknown as Server);
    const egress = openEgress(trusting);
    const sizes = [10, 50_000, 10, 50_000];
    const responses = await Promise.all(
      sizes.map((size) => egress.send(request(`https://secure.test:${port}/${size}`))),
    );
    const overheads = responses.map(({ traffic }, index) => traffic.bytesDown - (sizes[index] ?? 0));
    for (const overhead of overheads) {
      expect(overhead).toBeGreaterThan(0);
      expect(overhead).toBeLessThan(3_000);
    }
  });

  test("endless response headers over HTTP/2 fail the request", async () => {
    const server = createSecureServer(SECURE_TEST);
    server.on("stream", (stream: ServerHttp2Stream) => {
      stream.on("error", () => {});
      const fields = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`x-${i}`, "v".repeat(20)]));
      stream.respond({ ":status": 200, ...fields }, { endStream: true });
    });
    const port = await listen(server as unknown as Server);
    const error = await failureOf(openEgress(trusting).send(request(`https://secure.test:${port}/`)));
    expect(error).toMatchObject({ code: "connection_lost", sent: true });
  });

  test("a request is not sent to a host with an untrusted certificate", async () => {
    const port = await listen(createServer(SECURE_TEST, echo));
    // The environment must not matter.
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    const error = await failureOf(openEgress().send(request(`https://secure.test:${port}/`)));
    vi.unstubAllEnvs();
    expect(error).toMatchObject({ code: "certificate_invalid", sent: false });
  });

  test("a request is not sent to a host that its certificate does not name", async () => {
    const port = await listen(createServer(SECURE_TEST, echo));
    for (const host of ["other.test", "127.0.0.1"]) {
      const error = await failureOf(openEgress(trusting).send(request(`https://${host}:${port}/`)));
      expect([host, error.code, error.sent]).toEqual([host, "certificate_invalid", false]);
    }
  });

  test("a request is not sent to a host that does not support TLS", async () => {
    const { createServer: createPlainServer } = await import("node:http");
    const port = await listen(createPlainServer(echo));
    const error = await failureOf(openEgress(trusting).send(request(`https://secure.test:${port}/`)));
    expect(error).toMatchObject({ code: "tls_failed", sent: false });
  });
});
