import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { CountingTool, dispatchBody, startExecutor } from "../executor/harness.ts";

/** Sends a request line, raw headers and a body, and returns the whole response. */
async function sendRaw(
  { address }: { readonly address: string },
  line: string,
  headers: readonly string[],
  body = "",
): Promise<string> {
  const socket = connect(Number(address.split(":")[1]), "127.0.0.1");
  await once(socket, "connect");
  const all = [...headers, "content-type: application/json", "connection: close"];
  if (body !== "") all.push(`content-length: ${body.length}`);
  socket.write(`${line} HTTP/1.1\r\n${all.map((header) => `${header}\r\n`).join("")}\r\n${body}`);
  return text(socket);
}

// RFC 9112, section 3.2.
describe("the host header", () => {
  test.each<[string, (own: string) => readonly string[]]>([
    ["another host after the executor's", (own) => [`host: ${own}`, "host: rebound.example"]],
    ["another host before the executor's", (own) => ["host: rebound.example", `host: ${own}`]],
    ["the same host twice", (own) => [`host: ${own}`, `host: ${own}`]],
    ["two hosts in different case", (own) => [`Host: ${own}`, "x-between: 1", `HOST: ${own}`]],
    ["two hosts in one line", (own) => [`host: ${own}, rebound.example`]],
    ["two hosts in one line without a space", (own) => [`host: ${own},rebound.example`]],
    ["an empty host", () => ["host:"]],
    ["a user before its host", (own) => [`host: user@${own}`]],
  ])("a request with %s is a bad request, and its call does not run", async (_, hosts) => {
    const counting = new CountingTool();
    const executor = await startExecutor([counting.tool]);
    const headers = hosts(executor.address);
    for (const [line, body] of [
      ["POST /v1/dispatch", dispatchBody({ name: "count" })],
      ["GET /v1/tools"],
      ["GET /metrics"],
      ["GET /nowhere"],
    ] as const) {
      const answer = await sendRaw(executor, line, headers, body);
      expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"bad_request"[\s\S]*"effect":"none"/);
    }
    expect(counting.calls).toBe(0);
  });

  // Something before the executor may have read another one than it does.
  test("a request with two authorization headers is a bad request", async () => {
    const executor = await startExecutor([], { token: "a-token-of-the-callers" });
    const host = `host: ${executor.address}`;
    const right = "authorization: Bearer a-token-of-the-callers";
    expect(await sendRaw(executor, "GET /v1/tools", [host, right])).toMatch(/^HTTP\/1\.1 200 /);
    for (const other of ["Authorization: Bearer another-token-of-it", right]) {
      const answer = await sendRaw(executor, "GET /v1/tools", [host, right, other]);
      expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"bad_request"/);
    }
  });

  test("a health probe with two hosts is a bad request", async () => {
    const executor = await startExecutor([]);
    for (const line of ["GET /healthz", "GET /readyz"]) {
      expect(await sendRaw(executor, line, ["host: probe", "host: probe"])).toMatch(/^HTTP\/1\.1 400 /);
      expect(await sendRaw(executor, line, ["host: probe"])).toMatch(/^HTTP\/1\.1 200 /);
    }
  });
});
