import { describe, expect, test } from "vitest";
import { defineTool, type Tool } from "../../../src/engine/tool.ts";
import { HeldTool } from "../../executor/harness.ts";
import { WritingTool } from "../../server/harness.ts";
import { connect, PEERS, startMcpServer } from "./harness.ts";

const ADD: Tool = defineTool({
  name: "add",
  title: "Adds",
  description: "Adds two numbers.",
  inputSchema: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  },
  outputSchema: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
  sideEffects: "none",
  idempotent: true,
  host: ({ a, b }: { a: number; b: number }) => ({ sum: a + b }),
} as never);

describe.each(PEERS)("a client of %s", (peer) => {
  test("lists the tools with what their classes make true", async () => {
    const lies = { readOnlyHint: true, destructiveHint: false, openWorldHint: true };
    const server = await startMcpServer([
      ADD,
      new WritingTool("delete_all", { sideEffects: "destructive", annotations: lies } as never).tool,
    ]);
    const { tools } = await (await connect(server, peer)).listTools();
    expect(tools).toMatchObject([
      {
        name: "add",
        title: "Adds",
        description: "Adds two numbers.",
        inputSchema: { type: "object", required: ["a", "b"] },
        outputSchema: { type: "object", required: ["sum"] },
        annotations: { readOnlyHint: true, idempotentHint: true },
      },
      {
        name: "delete_all",
        annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
      },
    ]);
  });

  test("gets outputs as text and as structured content", async () => {
    const client = await connect(await startMcpServer([ADD]), peer);
    expect(await client.callTool({ name: "add", arguments: { a: 1, b: 2 } })).toMatchObject({
      content: [{ type: "text", text: '{"sum":3}' }],
      structuredContent: { sum: 3 },
    });
  });

  test("reads of failures in results", async () => {
    const client = await connect(await startMcpServer([ADD]), peer);
    expect(await client.callTool({ name: "add", arguments: { a: "x" } })).toMatchObject({
      isError: true,
      content: [{ type: "text", text: expect.stringMatching(/^Invalid arguments: /) }],
    });
  });

  test("learns that a tool does not exist by an error with the names of those that do", async () => {
    const client = await connect(await startMcpServer([ADD]), peer);
    await expect(client.callTool({ name: "subtract" })).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining("Tool 'subtract' not found. Available: [add]"),
    });
  });

  test("sees neither the tools nor the calls of other principals' sessions", async () => {
    const tool: Tool = { ...ADD, visibleTo: ({ principal }) => principal?.id === "bob" };
    const server = await startMcpServer([tool]);
    const alice = await connect(server, peer);
    expect(await alice.listTools()).toMatchObject({ tools: [] });
    await expect(alice.callTool({ name: "add" })).rejects.toMatchObject({ code: -32_602 });
    expect((await (await connect(server, peer, { name: "bob" })).listTools()).tools).toHaveLength(1);
  });

  test("gets the output of a call as progress", async () => {
    const talks = defineTool({
      name: "talk",
      description: "Talks.",
      inputSchema: { type: "object" },
      sideEffects: "none",
      host: (_input, { onOutput }) => {
        onOutput("one");
        onOutput("two");
        return "done";
      },
    });
    const client = await connect(await startMcpServer([talks]), peer);
    const told: unknown[] = [];
    await client.callTool({ name: "talk" }, { onprogress: (progress) => told.push(progress) });
    expect(told).toEqual([
      { progress: 1, message: "one" },
      { progress: 2, message: "two" },
    ]);
  });

  test("cancels a call by withdrawing its request", async () => {
    const held = new HeldTool();
    const server = await startMcpServer([{ ...held.tool, sideEffects: "read" }]);
    const client = await connect(server, peer);
    const cancelling = new AbortController();
    const call = client.callTool({ name: "hold" }, { signal: cancelling.signal });
    await expect.poll(() => held.started.length).toBe(1);
    cancelling.abort();
    await expect(call).rejects.toThrow();
    await expect.poll(() => held.cancelled.length).toBe(1);
    await server.mcp?.idle();
  });

  test("gives the text of a free-form tool in an object", async () => {
    const patch = defineTool({
      name: "patch",
      description: "Applies a patch.",
      freeform: true,
      sideEffects: "none",
      host: (text) => `applied ${text}`,
    });
    const client = await connect(await startMcpServer([patch]), peer);
    expect((await client.listTools()).tools).toMatchObject([
      { inputSchema: { type: "object", required: ["input"] } },
    ]);
    expect(await client.callTool({ name: "patch", arguments: { input: "a diff" } })).toMatchObject({
      content: [{ type: "text", text: "applied a diff" }],
    });
  });

  test("gets structured content that is no object in the form that its wire has for it", async () => {
    const count = defineTool({
      name: "count",
      description: "Counts.",
      inputSchema: { type: "object" },
      outputSchema: { $defs: { n: { type: "integer" } }, $ref: "#/$defs/n" },
      sideEffects: "none",
      host: () => 3,
    });
    const client = await connect(await startMcpServer([count]), peer);
    const isModern = peer === PEERS[2];
    await client.listTools();
    expect(await client.callTool({ name: "count" })).toMatchObject({
      content: [{ type: "text", text: "3" }],
      structuredContent: isModern ? 3 : { value: 3 },
    });
  });
});
