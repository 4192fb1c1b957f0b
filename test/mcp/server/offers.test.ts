import { describe, expect, test, vi } from "vitest";
import type { JsonObject } from "../../../src/json/value.ts";
import type { McpOffers } from "../../../src/mcp/server/mcp-offers.ts";
import { deny, HostPolicy, type PolicyRequest } from "../../../src/policy/policy.ts";
import { send, startMcpServer } from "./harness.ts";

const secret = vi.fn(() => ({ contents: [{ uri: "docs://secret", text: "secret" }] }));
const OFFERS: McpOffers = {
  resources: [
    { uri: "docs://secret", name: "Secret", read: secret },
    {
      uri: "docs://broken",
      name: "Broken",
      read: () => {
        throw new Error("cannot open /home/alice/docs");
      },
    },
  ],
  resourceTemplates: [
    {
      uriTemplate: "docs://{section}/{page}",
      name: "Pages",
      read: (uri, { section, page }, { principal }) => ({
        contents: [{ uri, mimeType: "text/plain", text: `${principal?.id}: ${section}, ${page}` }],
      }),
      complete: { section: (value) => ["intro", "index"].filter((each) => each.startsWith(value)) },
    },
  ],
  prompts: [
    {
      name: "review",
      arguments: [{ name: "file", required: true }],
      get: ({ file }) => ({
        messages: [{ role: "user", content: { type: "text", text: `Review ${file}` } }],
      }),
    },
  ],
};

/** Denies reading one resource. */
const host = new HostPolicy();
const policy = {
  check: (request: PolicyRequest) =>
    request.tool.name === "resources/read" && (request.input as JsonObject)["uri"] === "docs://secret"
      ? deny("it is secret")
      : host.check(),
};

describe("Resources and prompts", () => {
  test("are listed without what reads them, and with how long the lists hold", async () => {
    const server = await startMcpServer([], OFFERS);
    const list = async (method: string) => (await send(server, method, {})).body["result"];
    expect(await list("resources/list")).toMatchObject({
      resources: [
        { uri: "docs://secret", name: "Secret" },
        { uri: "docs://broken", name: "Broken" },
      ],
      cacheScope: "private",
    });
    expect(await list("resources/templates/list")).toMatchObject({
      resourceTemplates: [{ uriTemplate: "docs://{section}/{page}", name: "Pages" }],
    });
    expect(await list("prompts/list")).toMatchObject({
      prompts: [{ name: "review", arguments: [{ name: "file", required: true }] }],
    });
    expect(await list("tools/list")).toMatchObject({ tools: [] });
  });

  test("are read as calls of the class read, for the principal who asks", async () => {
    const requests: PolicyRequest[] = [];
    const watching = {
      check: (request: PolicyRequest) => {
        requests.push(request);
        return host.check();
      },
    };
    const server = await startMcpServer([], OFFERS, { policy: watching });
    expect((await send(server, "resources/read", { uri: "docs://intro/1" })).body).toMatchObject({
      result: { contents: [{ uri: "docs://intro/1", text: "alice: intro, 1" }] },
    });
    expect(
      (await send(server, "prompts/get", { name: "review", arguments: { file: "a.ts" } })).body,
    ).toMatchObject({ result: { messages: [{ role: "user", content: { text: "Review a.ts" } }] } });
    expect(requests).toMatchObject([
      { tool: { name: "resources/read", sideEffects: "read" }, input: { uri: "docs://intro/1" } },
      { tool: { name: "prompts/get", sideEffects: "read" }, input: { name: "review" } },
    ]);
  });

  test("are not read if the policy denies it", async () => {
    const server = await startMcpServer([], OFFERS, { policy });
    expect((await send(server, "resources/read", { uri: "docs://secret" })).body).toMatchObject({
      error: {
        code: -32_603,
        message: "Permission denied: tool 'resources/read' is disabled by policy",
        data: { code: "permission_denied" },
      },
    });
    expect(secret).not.toHaveBeenCalled();
  });

  test("say nothing about the server's files when they fail", async () => {
    const { body } = await send(await startMcpServer([], OFFERS), "resources/read", { uri: "docs://broken" });
    expect(body).toMatchObject({ error: { message: expect.stringMatching(/^Tool failed \(reference /) } });
    const complete = () => {
      throw new Error("ENOENT: no such file, open '/srv/secret'");
    };
    const prompt = { name: "p", arguments: [{ name: "file", complete }], get: () => ({ messages: [] }) };
    const server = await startMcpServer([], { prompts: [prompt] });
    const params = { ref: { type: "ref/prompt", name: "p" }, argument: { name: "file", value: "" } };
    expect((await send(server, "completion/complete", params)).body).toMatchObject({
      error: { code: -32_603, message: expect.stringMatching(/^Tool failed \(reference /) },
    });
  });

  test.each([
    ["resources/read", { uri: "other://a" }, { uri: "other://a" }],
    ["resources/read", { uri: `docs://${"a".repeat(10_000)}/b` }, undefined],
    ["prompts/get", { name: "write" }, undefined],
    ["prompts/get", { name: "review" }, undefined],
    [
      "completion/complete",
      { ref: { type: "ref/prompt", name: "x" }, argument: { name: "a", value: "" } },
      undefined,
    ],
    [
      "completion/complete",
      {
        ref: { type: "ref/resource", uri: "docs://{section}/{page}" },
        argument: { name: "constructor", value: "" },
      },
      undefined,
    ],
  ])("that do not exist are an error of the request: %s %j", async (method, params, data) => {
    const { body } = await send(await startMcpServer([], OFFERS), method, params);
    expect(body).toHaveProperty("error.code", -32_602);
    if (data !== undefined) expect(body).toHaveProperty("error.data", data);
  });

  test("suggest values of their arguments", async () => {
    const ref = { type: "ref/resource", uri: "docs://{section}/{page}" };
    const params = { ref, argument: { name: "section", value: "in" } };
    const { body } = await send(await startMcpServer([], OFFERS), "completion/complete", params);
    expect(body).toMatchObject({
      result: { completion: { values: ["intro", "index"], total: 2, hasMore: false } },
    });
  });

  test("are tools of the MCP server only, and come back after a reload", async () => {
    const server = await startMcpServer([], OFFERS);
    const session = await server.sessions.open();
    expect(session.definitions()).toEqual([]);
    const { ToolRegistry } = await import("../../../src/engine/registry.ts");
    const { CREDENTIALS } = await import("../../server/harness.ts");
    server.reload({ registry: new ToolRegistry(), policy: new HostPolicy(), credentials: CREDENTIALS });
    expect((await send(server, "resources/read", { uri: "docs://intro/1" })).body).toHaveProperty("result");
  });
});
