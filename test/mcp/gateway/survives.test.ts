import { describe, expect, test } from "vitest";
import type { Tool } from "../../../src/engine/tool.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import type { McpServer } from "../../../src/mcp/server/mcp-server.ts";
import type { HostLogger } from "../../../src/tool/implementations/implementations.ts";
import { ToolFailure } from "../../../src/tool/tool-failure.ts";
import { connectPair, PAIRS } from "./pairs.ts";

const ANNOTATIONS = { audience: ["user"], priority: 0.1 };

/** A block of every type, with everything that it can have. */
const CONTENT: readonly JsonObject[] = [
  { type: "text", text: "a\u202eb\u0000", annotations: ANNOTATIONS, _meta: { "example.com/x": [1, null] } },
  { type: "image", data: "AAEC", mimeType: "image/png" },
  { type: "audio", data: "AAEC", mimeType: "audio/wav" },
  { type: "resource_link", uri: "docs://a", name: "a", description: "A.", mimeType: "text/plain", size: 3 },
  { type: "resource", resource: { uri: "docs://t", mimeType: "text/plain", text: "T", _meta: { k: true } } },
  { type: "resource", resource: { uri: "docs://b", mimeType: "image/png", blob: "AAEC" } },
];
const STRUCTURED = { nested: { list: [1, 0.1, -1e300, 9_007_199_254_740_991, "é", null, false] }, "": {} };
const META = { "example.com/trace": { id: 1.5 } };

function tool(name: string, host: (input: never, context: never) => unknown, more: object = {}): Tool {
  return {
    name,
    description: name,
    inputSchema: { type: "object" },
    sideEffects: "read",
    host,
    ...more,
  } as unknown as Tool;
}

const own = (mcp: JsonObject) => (): unknown => ({ content: [], metadata: { mcp } });

const TOOLS = (server: () => McpServer): readonly Tool[] => [
  tool("all", own({ content: CONTENT, structuredContent: STRUCTURED, _meta: META })),
  tool("list", () => [1, 2], { outputSchema: { type: "array", items: { type: "integer" } } }),
  tool("fails", () => {
    throw new ToolFailure("execution_error", "the disk is full");
  }),
  tool("annotated", () => "done", {
    title: "Annotated",
    annotations: { title: "T", openWorldHint: false, readOnlyHint: true },
  }),
  tool("logs", (_input, { logger }: { logger: HostLogger }) => {
    logger.warn("the disk is nearly full");
    return "done";
  }),
  tool("progress", (_input, context: { callId: string }) => {
    server().clientOf(context)?.progress({ progress: 0.25, total: 3, message: "a quarter" });
    return "done";
  }),
];

describe.each(PAIRS)("Through the proxy, from a client of %s to a server of %s", (client, server) => {
  test("what the table in docs/mcp.md lists keeps its JSON value", async () => {
    await using pair = await connectPair([client, server], TOOLS);
    const call = (name: string, options = {}) =>
      pair.client.callTool({ name: `mcp_fixtures_${name}` }, options);
    const { content, structuredContent, _meta = {} } = await call("all");
    expect(content).toEqual(CONTENT);
    expect(structuredContent).toEqual(STRUCTURED);
    expect(_meta).toMatchObject(META);

    // An array is not an object: the wire of 2025-11-25 has it as a text, and wrapped.
    const isWrapped = client === "2025-11-25" || server === "2025-11-25";
    expect(await call("list")).toMatchObject({
      content: [{ type: "text", text: "[1,2]" }],
      structuredContent: isWrapped ? { value: [1, 2] } : [1, 2],
    });
    const { tools } = await pair.client.listTools();
    const found = (name: string) => tools.find((each) => each.name === `mcp_fixtures_${name}`);
    expect(found("list")?.outputSchema).toMatchObject(
      isWrapped ? { type: "object", required: ["value"] } : { type: "array" },
    );

    expect(await call("fails")).toMatchObject({
      isError: true,
      content: [{ type: "text", text: expect.stringContaining("the disk is full") }],
    });
    expect(found("annotated")).toMatchObject({
      title: "Annotated",
      annotations: { title: "T", openWorldHint: false, readOnlyHint: true },
    });

    const reports: unknown[] = [];
    await call("progress", { onprogress: (report: unknown) => reports.push(report) });
    expect(reports).toEqual([{ progress: 0.25, total: 3, message: "a quarter" }]);

    const logged: unknown[] = [];
    pair.client.setNotificationHandler("notifications/message", ({ params }) => {
      logged.push(params);
    });
    await pair.client.callTool({
      name: "mcp_fixtures_logs",
      _meta: { "io.modelcontextprotocol/logLevel": "info" },
    });
    await expect.poll(() => logged).toMatchObject([{ level: "warning", data: "the disk is nearly full" }]);
  });
});
