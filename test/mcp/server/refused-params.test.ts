import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import { openMcpServer } from "../../../src/mcp/server/mcp-server.ts";
import { HostPolicy } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { openSessions } from "../../../src/sessions/sessions.ts";

const INFO = { name: "t", version: "1" };
const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": INFO,
  "io.modelcontextprotocol/clientCapabilities": {},
};
const INITIALIZE = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: INFO };

/** Params that are not those of their method, and what the client reads of it. */
const REFUSED: readonly (readonly [string, JsonObject | undefined, string])[] = [
  ["tools/list", { cursor: 7 }, "/cursor"],
  ["tools/list", { cursor: null }, "/cursor"],
  ["tools/list", { cursor: "no such" }, "cursor"],
  ["tools/call", {}, "/name"],
  ["tools/call", { name: 5 }, "/name"],
  ["tools/call", { name: "echo", arguments: null }, "/arguments"],
  ["tools/call", { name: "echo", arguments: [1] }, "/arguments"],
  ["resources/list", { cursor: {} }, "/cursor"],
  ["resources/templates/list", { cursor: [] }, "/cursor"],
  ["resources/read", {}, "/uri"],
  ["resources/read", { uri: 5 }, "/uri"],
  ["prompts/list", { cursor: true }, "/cursor"],
  ["prompts/get", {}, "/name"],
  ["prompts/get", { name: "p", arguments: { "a/b": 5 } }, "/arguments/a~1b"],
  ["completion/complete", {}, "/ref"],
  ["completion/complete", { ref: { type: "x" }, argument: { name: "a", value: "b" } }, "/ref"],
];
const REFUSED_OF_LEGACY: typeof REFUSED = [
  ["initialize", undefined, "params"],
  ["initialize", {}, "/protocolVersion"],
  ["initialize", { ...INITIALIZE, protocolVersion: 5 }, "/protocolVersion"],
  ["initialize", { ...INITIALIZE, capabilities: [] }, "/capabilities"],
  ["initialize", { ...INITIALIZE, clientInfo: { version: "1" } }, "/clientInfo/name"],
  ["tools/call", undefined, "params"],
  ["resources/read", undefined, "params"],
  ["resources/subscribe", { uri: 5 }, "/uri"],
  ["resources/unsubscribe", {}, "/uri"],
  ["prompts/get", undefined, "params"],
  ["logging/setLevel", { level: "loud" }, "/level"],
];
const ERAS = [
  { era: "2025-11-25", refused: [...REFUSED, ...REFUSED_OF_LEGACY] },
  { era: "2026-07-28", refused: REFUSED },
];

async function start() {
  const sandboxes = await openSandboxes();
  const registry = new ToolRegistry().register({
    name: "echo",
    description: "Echoes.",
    inputSchema: { type: "object" },
    sideEffects: "none",
    host: (input: unknown) => input,
  });
  const sessions = await openSessions({ registry, policy: new HostPolicy(), sandboxes });
  const server = await openMcpServer({ sessions, registry, logs: true, resources: [], prompts: [] });
  return {
    server,
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await sessions.close();
      await sandboxes.close();
    },
  };
}

const requestOf = (method: string, params: JsonObject | undefined, era: string): JsonObject => ({
  jsonrpc: "2.0",
  id: "asked",
  method,
  ...(params !== undefined && { params: era === "2026-07-28" ? { ...params, _meta: ENVELOPE } : params }),
});

function expectRefused(answer: unknown, place: string): void {
  expect(answer).toMatchObject({ id: "asked", error: { code: -32_602 } });
  const { message } = (answer as { error: { message: string } }).error;
  expect(message).toContain(place);
  expect(message).not.toContain("\n");
  expect(message.length).toBeLessThan(500);
}

describe.each(ERAS)("A client of $era", ({ era, refused }) => {
  test.each(
    refused,
  )("over stdio learns what is wrong with the params: %s %j", async (method, params, place) => {
    await using started = await start();
    const [input, output] = [new PassThrough(), new PassThrough()];
    const answers: JsonObject[] = [];
    output.on("data", (chunk: Buffer) => {
      for (const line of chunk.toString().split("\n")) if (line !== "") answers.push(JSON.parse(line));
    });
    const stdio = started.server.serveStdio({}, { input, output });
    const [opening, first] =
      era === "2026-07-28" ? ["server/discover", {}] : ["initialize", { ...INITIALIZE }];
    if (method !== "initialize") {
      input.write(`${JSON.stringify({ ...requestOf(opening, first, era), id: "first" })}\n`);
    }
    input.write(`${JSON.stringify(requestOf(method, params, era))}\n`);
    const answer = () => answers.find(({ id }) => id === "asked");
    await expect.poll(answer, { interval: 2 }).toBeDefined();
    expectRefused(answer(), place);
    await stdio.close();
  });

  test.each(
    refused,
  )("over HTTP learns what is wrong with the params: %s %j", async (method, params, place) => {
    await using started = await start();
    const post = (message: JsonObject, more = {}): Promise<Response> =>
      started.server.fetch(
        new Request("http://server/mcp", {
          method: "POST",
          headers: {
            "content-type": "application/json",
            "mcp-protocol-version": era,
            ...more,
          },
          body: JSON.stringify(message),
        }),
      );
    const opened = await post(requestOf("initialize", INITIALIZE, "2025-11-25"));
    const session = opened.headers.get("mcp-session-id") ?? "";
    const target = params?.["name"] ?? params?.["uri"];
    const response = await post(
      requestOf(method, params, era),
      era === "2026-07-28"
        ? { "mcp-method": method, ...(typeof target === "string" && { "mcp-name": target }) }
        : method !== "initialize" && { "mcp-session-id": session },
    );
    const text = await response.text();
    expectRefused(JSON.parse(/^data: (.+)$/m.exec(text)?.[1] ?? text), place);
  });
});

test.each([
  "initialize",
  "logging/setLevel",
  "resources/subscribe",
  "resources/unsubscribe",
  "ping",
])("a client without a session learns that there is no method %s", async (method) => {
  await using started = await start();
  const headers = { "content-type": "application/json", "mcp-protocol-version": "2026-07-28" };
  const body = JSON.stringify(requestOf(method, {}, "2026-07-28"));
  const response = await started.server.fetch(
    new Request("http://server/mcp", { method: "POST", headers: { ...headers, "mcp-method": method }, body }),
  );
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ id: "asked", error: { code: -32_601 } });
});

test("what a client reads of its params is short", async () => {
  await using started = await start();
  const params = { name: "p", arguments: { ["long ".repeat(100_000)]: 5 } };
  const body = JSON.stringify(requestOf("prompts/get", params, "2026-07-28"));
  const headers = { "content-type": "application/json", "mcp-protocol-version": "2026-07-28" };
  const more = { "mcp-method": "prompts/get", "mcp-name": "p" };
  const response = await started.server.fetch(
    new Request("http://server/mcp", { method: "POST", headers: { ...headers, ...more }, body }),
  );
  expectRefused(await response.json(), "/arguments/long");
});

test("a byte order mark before a message is skipped", async () => {
  await using started = await start();
  const body = `\ufeff${JSON.stringify(requestOf("initialize", INITIALIZE, "2025-11-25"))}`;
  const headers = { "content-type": "application/json" };
  const response = await started.server.fetch(
    new Request("http://server/mcp", { method: "POST", headers, body }),
  );
  expect(response.status).toBe(200);
});
