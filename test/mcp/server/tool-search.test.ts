import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import { openMcpServer } from "../../../src/mcp/server/mcp-server.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import type { ServedMcp } from "../../../src/server/options.ts";
import { WritingTool } from "../../server/harness.ts";
import { connect, PEERS, type Peer, type PeerClient, startMcpServer } from "./harness.ts";

const SUBJECTS = ["invoices", "customers", "parcels", "tickets", "meetings"];
const VERBS: Readonly<Record<string, string>> = {
  list: "Lists",
  search: "Finds",
  archive: "Moves to the archive the",
  print: "Prints",
};

const TOOLS = Object.entries(VERBS).flatMap(([verb, text]) =>
  SUBJECTS.map(
    (subject): Tool => ({
      name: `${verb}_${subject}`,
      description: `${text} ${subject}. A second sentence.`,
      inputSchema: {
        type: "object",
        properties: { since: { type: "string", description: "A date" } },
        required: ["since"],
        additionalProperties: false,
      },
      sideEffects: "none",
      host: (input: unknown) => ({ called: `${verb}_${subject}`, input }) as never,
    }),
  ),
);

const policy = new RulePolicy({
  rules: [
    { tools: ["*"], effect: "allow", sandboxes: ["host"] },
    { tools: ["archive_invoices"], effect: "deny" },
  ],
});

async function open(peer: Peer, mcp: ServedMcp, tools: readonly Tool[] = TOOLS): Promise<PeerClient> {
  return connect(await startMcpServer(tools, mcp, { policy }), peer, {
    person: () => ({ action: "accept", content: { decision: "allow" } }),
  });
}

async function namesOf(client: PeerClient): Promise<readonly string[]> {
  return (await client.listTools()).tools.map((each) => (each as Tool).name);
}

/** The text of a result. */
async function call(client: PeerClient, name: string, args: Record<string, unknown>): Promise<string> {
  const { content } = (await client.callTool({ name, arguments: args })) as { content: { text: string }[] };
  return content.map(({ text }) => text).join("");
}

describe.each(PEERS)("With searchAbove, a client of %s", (peer) => {
  test("lists all tools up to that number, and three in their place above it", async () => {
    // One of the 20 is denied, and not listed.
    expect(await namesOf(await open(peer, { searchAbove: 19 }))).toHaveLength(19);
    expect(await namesOf(await open(peer, { searchAbove: 18 }))).toEqual([
      "search_tools",
      "describe_tools",
      "call_tool",
    ]);
    expect(await namesOf(await open(peer, {}))).toHaveLength(19);
  });

  test("finds tools, learns their types and calls them", async () => {
    const client = await open(peer, { searchAbove: 0 });
    const found = JSON.parse(await call(client, "search_tools", { query: "print the invoices", limit: 2 }));
    expect(found[0]).toEqual({ name: "print_invoices", description: "Prints invoices." });
    const types = await call(client, "describe_tools", { names: ["print_invoices", "nothing"] });
    expect(types).toContain("print_invoices: (input: { /** A date */ since: string })");
    expect(types).toContain('There are no tools ["nothing"]');
    const called = await call(client, "call_tool", { name: "print_invoices", arguments: { since: "today" } });
    expect(JSON.parse(called)).toEqual({ called: "print_invoices", input: { since: "today" } });
    const invalid = await call(client, "call_tool", { name: "print_invoices" });
    expect(invalid).toContain("since");
  });

  test("neither finds, describes nor calls what is denied to it", async () => {
    const client = await open(peer, { searchAbove: 0 });
    const found = await call(client, "search_tools", { query: "archive invoices", limit: 50 });
    expect(found).not.toContain("archive_invoices");
    expect(found).toContain("archive_customers");
    const types = await call(client, "describe_tools", { names: ["archive_invoices"] });
    expect(types).toContain('There are no tools ["archive_invoices"]');
    const denied = await call(client, "call_tool", { name: "archive_invoices", arguments: { since: "a" } });
    expect(denied).toContain("denied");
  });

  test("has the person confirm the tool that is called", async () => {
    const writing = new WritingTool();
    const server = await startMcpServer([writing.tool], { confirm: "elicitation", searchAbove: 0 });
    const asked: unknown[] = [];
    const client = await connect(server, peer, {
      person: (params) => {
        asked.push(params["message"]);
        return { action: "accept", content: { decision: "allow" } };
      },
    });
    const text = await call(client, "call_tool", { name: "write_note", arguments: { text: "hello" } });
    expect(asked).toEqual([expect.stringContaining("Allow the tool 'write_note' (write)")]);
    expect([text, writing.inputs]).toEqual(['{"written":"hello"}', [{ text: "hello" }]]);
  });

  test.each([
    ["search_tools", {}],
    ["search_tools", { query: "" }],
    ["search_tools", { query: "a", limit: 0 }],
    ["search_tools", { query: "a", limit: 1.5 }],
    ["describe_tools", { names: [] }],
    ["describe_tools", { names: "print_invoices" }],
    ["call_tool", {}],
    ["call_tool", { name: "call_tool", arguments: { name: "print_invoices" } }],
  ])("reads what is wrong with the arguments of %s: %j", async (name, args) => {
    const client = await open(peer, { searchAbove: 0 });
    const result = await client.callTool({ name, arguments: args });
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("arguments are invalid") }],
    });
  });

  test("lists a tool of the server's own with one of the names in its place", async () => {
    const own: Tool = { ...(TOOLS[0] as Tool), name: "search_tools", description: "Its own" };
    const client = await open(peer, { searchAbove: 0 }, [...TOOLS, own]);
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([{ name: "search_tools", description: "Its own" }, {}, {}]);
    expect(await call(client, "search_tools", { since: "a" })).toContain("list_invoices");
  });

  test("knows no tool of the search without the option", async () => {
    const client = await open(peer, {});
    await expect(client.callTool({ name: "search_tools", arguments: { query: "a" } })).rejects.toThrow();
  });
});

test.each([-1, 1.5, Number.NaN])("searchAbove: %j is refused", async (searchAbove) => {
  const options = { sessions: {} as never, registry: new ToolRegistry(), searchAbove };
  await expect(openMcpServer(options)).rejects.toThrow("searchAbove of openMcpServer must be a whole number");
});
