import { expect, test } from "vitest";
import { TestClient, WritingTool } from "../../server/harness.ts";
import { connect, PEERS, startMcpServer } from "./harness.ts";

test.each(PEERS)("a paused server begins no call of an MCP client with %s", async (peer) => {
  const tool = new WritingTool("read_note", { sideEffects: "read" });
  const server = await startMcpServer([tool.tool]);
  const client = await connect(server, peer);
  const frank = new TestClient(server, "frank");
  await frank.json("POST", "/v1/pause");
  const call = { name: "read_note", arguments: {} };
  await expect(client.callTool(call)).resolves.toMatchObject({ isError: true });
  expect(tool.inputs).toEqual([]);
  await frank.json("POST", "/v1/resume");
  expect(await client.callTool(call)).not.toHaveProperty("isError", true);
  expect(tool.inputs).toHaveLength(1);
});
