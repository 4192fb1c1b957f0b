import { expect, onTestFinished, test } from "vitest";
import type { Tool } from "../../../src/engine/tool.ts";
import { JournalHistory } from "../../../src/journal/history/journal-history.ts";
import { type Journal, openJournal } from "../../../src/journal/journal.ts";
import { Redaction } from "../../../src/redaction/redaction.ts";
import { denied, dispatched, ended, TemporaryDirectory } from "../../journal/records.ts";
import { type ClientName, refusalOf, startServer, TestClient, WritingTool } from "../harness.ts";

const PATH = "/v1/overview";
const alice = { id: "alice", kind: "agent" } as const;

async function recorded(
  record: (journal: Journal) => Promise<void>,
  tools: readonly Tool[] = [],
): Promise<(name: ClientName) => TestClient> {
  const directory = new TemporaryDirectory();
  onTestFinished(() => directory[Symbol.dispose]());
  const journal = await openJournal({ directory: directory.path });
  onTestFinished(() => journal.close());
  await record(journal);
  const history = new JournalHistory(journal, directory.path);
  const server = await startServer(tools, { journal, history, redaction: new Redaction() });
  return (name) => new TestClient(server, name);
}

test("readers see the numbers of all principals, approvers those of their own, and callers none", async () => {
  const client = await recorded(async (journal) => {
    await journal.begin(dispatched("a", {}, { principal: alice }));
    journal.end(ended("a", { principal: alice }));
    journal.deny(denied("b", { principal: { id: "bob", kind: "agent" } }));
    journal.deny(denied("c"));
  });
  const totalOf = async (name: ClientName): Promise<unknown> =>
    (await client(name).json<{ recorded: { total: unknown } }>("GET", PATH)).recorded.total;
  expect(await totalOf("erin")).toMatchObject({ calls: 3, denied: 2 });
  expect(await totalOf("frank")).toMatchObject({ calls: 3, denied: 2 });
  expect(await totalOf("carol")).toMatchObject({ calls: 1, denied: 0 });
  expect(await totalOf("mallory")).toMatchObject({ calls: 0 });
  expect(refusalOf(await client("alice").send("GET", PATH))).toBe("403 forbidden");
});

test("names are shown without secrets and disguises, and filter calls as they are shown", async () => {
  const toolName = "to\u202eol AKIAIOSFODNN7EXAMPLE";
  const client = await recorded(async (journal) => {
    journal.deny(denied("a", { toolName, rules: ["ru\u0000le"] }));
    journal.deny(denied("b"));
  });
  const { text } = await client("erin").send("GET", `${PATH}?range=hour`);
  const { tools, rules } = (
    JSON.parse(text) as { recorded: { tools: { name: string }[]; rules: { name: string }[] } }
  ).recorded;
  expect(tools.map(({ name }) => name)).toContain("to\\u202eol [redacted: aws-key]");
  expect(rules.map(({ name }) => name)).toContain("ru\\u0000le");
  for (const hidden of ["AKIA", "\u202e"]) expect(text).not.toContain(hidden);
  for (const query of [
    `tool=${encodeURIComponent("to\\u202eol [redacted: aws-key]")}`,
    `rule=${encodeURIComponent("ru\\u0000le")}&outcome=denied&since=0&until=${Date.now() + 60_000}`,
  ]) {
    expect(await client("erin").json("GET", `/v1/journal/calls?${query}`)).toMatchObject({
      calls: [{ callId: "a" }],
    });
  }
});

test.each([
  `${PATH}?range=year`,
  "/v1/journal/calls?outcome=lost",
  "/v1/journal/calls?since=yesterday",
  "/v1/journal/calls?until=-1",
])("%s is refused", async (path) => {
  const client = await recorded(async () => {});
  expect(refusalOf(await client("erin").send("GET", path))).toBe("400 bad_request");
});

test("open sessions, waiting questions and MCP servers are counted without a journal, too", async () => {
  const mcp = (server: string, isConnected: boolean): Tool["remote"] => ({
    mcp: {
      listed: {},
      state: {
        isConnected,
        isPaused: !isConnected,
        running: 1,
        waiting: 2,
        refusedBusy: 3,
        refusedPaused: 4,
      },
      toJSON: () => ({ server }),
      call: () => Promise.resolve({ status: "cancelled", sent: false }),
    },
  });
  const imported = (name: string, remote: Tool["remote"]): Tool =>
    ({ name, description: "", inputSchema: { type: "object" }, sideEffects: "read", remote }) as Tool;
  const tools = [
    new WritingTool().tool,
    imported("files_read", mcp("files", true)),
    imported("files_list", mcp("files", true)),
    imported("mail_send", mcp("ma\u202eil", false)),
  ];
  const server = await startServer(tools, {});
  const [own, erin, mallory] = [
    new TestClient(server, "alice"),
    new TestClient(server, "erin"),
    new TestClient(server, "mallory"),
  ];
  await own.dispatch(await own.open(), [{ id: "c", name: "write_note", arguments: {} }]);
  await new TestClient(server, "carol").confirmations();
  const mcpServers = [
    { name: "files", isConnected: true, isPaused: false, running: 1, waiting: 2, tools: 2 },
    { name: "ma\\u202eil", isConnected: false, isPaused: true, running: 1, waiting: 2, tools: 1 },
  ];
  expect(await erin.json("GET", PATH)).toEqual({ sessions: { open: 1, running: 0, waiting: 1 }, mcpServers });
  const { text } = await erin.send("GET", "/metrics");
  expect(text).toContain('sandgate_mcp_server_connected{server="files"} 1\n');
  expect(text).toContain('sandgate_mcp_server_paused{server="files"} 0\n');
  expect(text).toContain('sandgate_mcp_server_calls_running{server="files"} 1\n');
  expect(text).toContain('sandgate_mcp_server_calls_waiting{server="files"} 2\n');
  expect(text).toContain('sandgate_mcp_server_calls_refused_total{server="files",reason="busy"} 3\n');
  expect(await mallory.json("GET", PATH)).toMatchObject({ sessions: { open: 0, running: 0, waiting: 0 } });
});
