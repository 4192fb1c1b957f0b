import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { Egress } from "../../../../../src/egress/egress.ts";
import type { JsonValue } from "../../../../../src/json/value.ts";
import type { ResourceLimits } from "../../../../../src/policy/grant/limits.ts";
import type { NetGrant } from "../../../../../src/policy/grant/net-grant.ts";
import type { SandboxOutcome } from "../../../../../src/sandboxes/contract/outcome.ts";
// Inside: passes values of wrong types, which code that was compiled from WIT cannot.
import { MisuseError } from "../../../../../src/sandboxes/wasm/host/interface-members.ts";
import { BodyBudget } from "../../../../../src/sandboxes/wasm/host/wasi-http/body-budget.ts";
import { Fields } from "../../../../../src/sandboxes/wasm/host/wasi-http/fields.ts";
import { IncomingResponse } from "../../../../../src/sandboxes/wasm/host/wasi-http/handler.ts";
import { OutgoingBody, takeBody } from "../../../../../src/sandboxes/wasm/host/wasi-http/outgoing-request.ts";
import { WasmSandbox } from "../../../../../src/sandboxes/wasm/wasm-sandbox.ts";
import { echo, serve } from "../../../../egress/servers.ts";
import { roomyBudget } from "../../../../fixtures/wasm/lift-budget.ts";
import { outsideComponent } from "../../../../fixtures/wasm/outside-component.ts";
import { logKeeper, wasmTask } from "../../../../fixtures/wasm/task.ts";

const cacheDirectory = mkdtempSync(join(tmpdir(), "sandgate-http-"));
const resolve = async (name: string): Promise<readonly string[]> => {
  if (name === "mixed.test") return ["93.184.216.34", "127.0.0.1"];
  if (name.endsWith(".test")) return ["127.0.0.1"];
  throw new Error("no such name");
};
const egress = new Egress({ resolve });
const openEgress = async (): Promise<Egress> => egress;
const sandbox = new WasmSandbox({ cacheDirectory, workers: { threads: 1 }, openEgress });
const component = await outsideComponent();
afterAll(async () => {
  await sandbox.close();
  await egress.close();
  rmSync(cacheDirectory, { recursive: true, force: true });
});

/** The log of all calls. */
const log = logKeeper();

/** Cases of the variant `error-code`. */
const CODE = {
  dnsError: 1,
  addressProhibited: 4,
  refused: 6,
  readTimeout: 9,
  requestDenied: 15,
  requestBodySize: 17,
  responseBodySize: 28,
  internal: 38,
};

interface Sent {
  readonly authority: string;
  readonly scheme?: "HTTP" | "HTTPS";
  /** The case of the variant `method`, or another method. Default: GET. */
  readonly method?: number | string;
  readonly path?: string;
  readonly body?: string;
  readonly header?: readonly [string, string];
  readonly timeoutMs?: number;
  /** A header of the response. */
  readonly shown?: string;
}

interface Setting {
  readonly net?: readonly NetGrant[];
  readonly limits?: ResourceLimits;
  readonly tool?: string;
}

function send(
  { authority, scheme = "HTTP", method = 0, path = "/", body = "", header = ["", ""], ...sent }: Sent,
  { net = local(authority), limits = {}, tool = "http" }: Setting = {},
): Promise<SandboxOutcome> {
  const { timeoutMs = "", shown = "content-type" } = sent;
  const [name, value] = header;
  const input = [method, scheme === "HTTP" ? 0 : 1, authority, path, body, name, value, timeoutMs, shown];
  return sandbox.run(
    wasmTask(component, tool, input.map(String), {
      observer: log,
      capabilities: net.length > 0 ? { net } : {},
      limits: { wallTimeMs: 5_000, memoryBytes: 2 ** 24, outputBytes: 2 ** 20, ...limits },
    }),
  );
}

/** Grants an origin at the loopback address. */
function local(authority: string): readonly NetGrant[] {
  return [{ origin: `http://${authority}`, addresses: ["127.0.0.1/32"] }];
}

function outputOf(outcome: SandboxOutcome): JsonValue {
  if (outcome.status !== "completed") throw new Error(JSON.stringify(outcome));
  return outcome.output;
}

describe("a component with the capability 'net'", () => {
  test("a component sends a request and reads the response", async () => {
    const port = await serve(echo);
    const outcome = await send({
      authority: `api.test:${port}`,
      method: 2,
      path: "/a?b=c",
      body: "hello",
      header: ["X-Own", "value"],
    });
    const { status, body } = outputOf(outcome) as { status: number; body: string };
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({
      method: "POST",
      url: "/a?b=c",
      body: "hello",
      headers: { host: `api.test:${port}`, "x-own": "value", "content-length": "5" },
    });
    expect(outcome).toMatchObject({
      effect: "unknown",
      used: { contacted: [{ origin: `http://api.test:${port}`, address: "127.0.0.1" }] },
    });
    expect(outcome.used.bytesUp).toBeGreaterThan(60);
    expect(outcome.used.bytesDown).toBeGreaterThan(100);
  });

  test("a component reads decoded bodies of any length, and repeated headers", async () => {
    const text = "0123456789".repeat(20_000);
    const port = await serve((request, response) => {
      const gzip = request.url === "/gzip";
      response.setHeader("set-cookie", ["a=1", "b=2"]);
      if (gzip) response.setHeader("content-encoding", "gzip");
      response.end(gzip ? gzipSync(text) : text);
    });
    const authority = `api.test:${port}`;
    expect(outputOf(await send({ authority, shown: "set-cookie" }))).toMatchObject({
      bytes: text.length,
      header: ["a=1", "b=2"],
    });
    expect(outputOf(await send({ authority, path: "/gzip", shown: "content-encoding" }))).toMatchObject({
      bytes: text.length,
      header: [],
    });
  });

  test("a component receives a redirect, which is not followed", async () => {
    let requests = 0;
    const port = await serve((_request, response) => {
      requests++;
      response.writeHead(302, { location: "http://elsewhere.test/" }).end();
    });
    expect(outputOf(await send({ authority: `api.test:${port}`, shown: "location" }))).toMatchObject({
      status: 302,
      header: ["http://elsewhere.test/"],
    });
    expect(requests).toBe(1);
  });

  test("a component cannot reach origins or addresses that were not granted", async () => {
    const port = await serve(echo);
    const authority = `api.test:${port}`;
    const denied = { error: CODE.requestDenied };
    expect(outputOf(await send({ authority }, { net: [] }))).toEqual(denied);
    expect(outputOf(await send({ authority }, { net: local(`other.test:${port}`) }))).toEqual(denied);
    expect(outputOf(await send({ authority, scheme: "HTTPS" }))).toEqual(denied);
    expect(log.lines.splice(0).map(([level, line]) => `${level}: ${line}`)).toEqual(
      ["http", "http", "https"].map(
        (scheme) => `warn: denied: the capability 'net' does not name the origin '${scheme}://${authority}'`,
      ),
    );
    const net = [`http://${authority}`, `http://mixed.test:${port}`, `http://127.0.0.1:${port}`];
    const prohibited = { error: CODE.addressProhibited };
    expect(outputOf(await send({ authority }, { net }))).toEqual(prohibited);
    expect(outputOf(await send({ authority: `mixed.test:${port}` }, { net }))).toEqual(prohibited);
    expect(outputOf(await send({ authority: `127.0.0.1:${port}` }, { net }))).toEqual(prohibited);
    expect(log.lines.splice(0).map(([, line]) => line)).toContain(
      `denied: the address of 'http://${authority}' is neither public nor named by the capability 'net'`,
    );
    expect(await send({ authority }, { net })).not.toHaveProperty("used.contacted");
    expect(outputOf(await send({ authority }))).toMatchObject({ status: 200 });
    expect(outputOf(await send({ authority: `127.0.0.1:${port}` }))).toMatchObject({ status: 200 });
  });

  test.each([
    ["a user", { authority: "user@api.test" }, "authority"],
    ["a path", { authority: "api.test/x" }, "authority"],
    ["a fragment", { authority: "api.test#x" }, "authority"],
    ["a line break in the authority", { authority: "api.test\r\nx: y" }, "authority"],
    ["a line break in the path", { path: "/ HTTP/1.1\r\nx: y" }, "path"],
    ["a path without its beginning", { path: "@evil.test/" }, "path"],
    ["a line break in the method", { method: "GET / HTTP/1.1\r\n" }, "method"],
    ["a method that makes tunnels", { method: 5 }, { error: CODE.internal }],
    ["a line break in a header's name", { header: ["x\r\ny", "1"] }, { header: 0 }],
    ["a line break in a header's value", { header: ["x", "1\r\ny: 2"] }, { header: 0 }],
    ["the name of another host", { header: ["Host", "evil.test"] }, { header: 1 }],
    ["a length of its own", { header: ["transfer-encoding", "chunked"] }, { header: 1 }],
    ["a wrong length", { header: ["content-length", "7"], body: "hello" }, { error: CODE.requestBodySize }],
    ["a body that is not finished", { body: "-" }, { error: CODE.internal }],
  ] as const)("cannot send %s", async (_what, sent, expected) => {
    const outcome = await send({ authority: "api.test", ...sent }, { net: local("api.test") });
    expect(outputOf(outcome)).toEqual(expected);
    expect(outcome).not.toHaveProperty("used.contacted");
  });

  test("a component can send a correct content-length", async () => {
    const port = await serve(echo);
    const sent = { authority: `api.test:${port}`, method: 2, body: "hello" };
    const outcome = await send({ ...sent, header: ["content-length", "5"] });
    expect(outputOf(outcome)).toMatchObject({ status: 200 });
  });

  test("a component gets an error code if there is no response", async () => {
    const port = await serve(() => {});
    const dead = "http://nowhere.invalid";
    expect(outputOf(await send({ authority: "nowhere.invalid" }, { net: [dead] }))).toEqual({
      error: CODE.dnsError,
    });
    expect(outputOf(await send({ authority: "api.test:1" }))).toEqual({ error: CODE.refused });
    expect(outputOf(await send({ authority: `api.test:${port}`, timeoutMs: 100 }))).toEqual({
      error: CODE.readTimeout,
    });
  });

  test("a component sends and receives at most as many bytes as its limit", async () => {
    const port = await serve(
      (request, response) => void response.end("x".repeat(Number(request.url?.slice(1)))),
    );
    const authority = `api.test:${port}`;
    const limits = { netBytes: 4_096 };
    expect(outputOf(await send({ authority, path: "/2000" }, { limits }))).toMatchObject({ bytes: 2_000 });
    const tooMuch = await send({ authority, path: "/5000" }, { limits });
    expect(outputOf(tooMuch)).toEqual({ error: CODE.responseBodySize });
    expect(outputOf(await send({ authority, method: 2, body: "x".repeat(4_090) }, { limits }))).toEqual({
      error: CODE.requestBodySize,
    });
    expect(outputOf(await send({ authority, method: 2, body: "x".repeat(5_000) }, { limits }))).toBe("write");
    expect(sandbox.unenforceable({ netBytes: 1 })).toBeUndefined();
  });

  test("a small response that decodes to a large body is refused", async () => {
    const port = await serve((_request, response) => {
      response.setHeader("content-encoding", "gzip").end(gzipSync(Buffer.alloc(2 ** 20)));
    });
    const outcome = await send({ authority: `api.test:${port}` }, { limits: { netBytes: 2 ** 16 } });
    expect(outputOf(outcome)).toEqual({ error: CODE.responseBodySize });
  });

  test("a component that declares wrong types for the interface is ended, and the host's memory not exhausted", () => {
    const budget = new BodyBudget(10);
    const memory = roomyBudget();
    const body = new OutgoingBody(budget, memory);
    // In JavaScript, a record with this field would look like an array.
    const lie = { length: 2 ** 26 } as never;
    expect(() => Fields.fromList(memory, [["a", lie]])).toThrow(MisuseError);
    expect(() => new Fields(memory).append("a", lie)).toThrow(MisuseError);
    expect(() => new Fields(memory).set("a", [lie])).toThrow(MisuseError);
    expect(() => body.write().write({ length: "much" } as never)).toThrow(MisuseError);
    expect(budget.leftBytes).toBe(10);
  });

  test("bodies are released when their call ends, even if calls share an instance", () => {
    const budget = new BodyBudget(100);
    const memory = roomyBudget();
    const body = Buffer.from("kept").toString("base64");
    const reply = { status: 200, statusText: "OK", url: "http://api.test/", headers: [], body };
    const kept = new IncomingResponse(reply, budget, memory);
    const stream = new IncomingResponse(reply, budget, memory).consume().stream();
    const outgoing = new OutgoingBody(budget, memory);
    const writer = outgoing.write();
    writer.write(Buffer.from("12345"));
    expect(stream.read(2n)).toEqual(new Uint8Array(Buffer.from("ke")));
    expect(budget.leftBytes).toBe(87);
    budget.refill();
    expect(budget.leftBytes).toBe(100);
    const over = expect.objectContaining({ tag: "last-operation-failed" });
    const thrownBy = (act: () => unknown): unknown => {
      try {
        return act();
      } catch (thrown) {
        return thrown;
      }
    };
    // An error, because the end of the body or an empty body would be a different body.
    expect(thrownBy(() => stream.read(2n))).toEqual(over);
    expect(thrownBy(() => kept.consume().stream().read(2n))).toEqual(over);
    expect(thrownBy(() => writer.write(Buffer.from("6")))).toEqual(over);
    OutgoingBody.finish(outgoing, undefined);
    expect(takeBody(outgoing)).toBeUndefined();
  });

  test("the deadline ends a component whose server does not respond, and closes the connection", async () => {
    const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
    const port = await serve((request) => void request.socket.on("close", onClosed));
    const outcome = await send({ authority: `api.test:${port}` }, { limits: { wallTimeMs: 300 } });
    expect(outcome).toMatchObject({ status: "timeout", effect: "unknown" });
    await closed;
  });

  test("the effect of a failed component is unknown if it sent a request, and none if it did not", async () => {
    const port = await serve(echo);
    const authority = `api.test:${port}`;
    expect(await send({ authority }, { tool: "http_and_trap" })).toMatchObject({
      status: "failed",
      effect: "unknown",
    });
    expect(await send({ authority }, { tool: "http_and_trap", net: [] })).toMatchObject({
      status: "failed",
      effect: "none",
    });
  });
});
