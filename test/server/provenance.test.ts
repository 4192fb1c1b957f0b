import { expect, test } from "vitest";
import { defineTool } from "../../src/engine/tool.ts";
import { RulePolicy } from "../../src/policy/rule/rule-policy.ts";
import { startServer, TestClient, WritingTool } from "./harness.ts";

const list = { tool: "list_names", field: "" };

test("a server's sessions know the user's words and earlier results, also under a policy that came later", async () => {
  const names = defineTool({
    name: "list_names",
    description: "",
    inputSchema: { type: "object" },
    sideEffects: "read",
    host: () => ["rosa", "ben"],
  });
  const writing = new WritingTool("write_note", { sideEffects: "read" });
  const reading = { tools: ["list_names"], effect: "allow", sandboxes: ["host"] } as const;
  const server = await startServer([names, writing.tool], { policy: new RulePolicy({ rules: [reading] }) });
  const alice = new TestClient(server, "alice");
  const session = await alice.open();
  const codes = async (...texts: readonly string[]): Promise<unknown[]> => {
    const calls = texts.map((text) => ({ id: text, name: "write_note", arguments: { text } }));
    const { turnId } = await alice.dispatch(session, calls, { userText: "Note 'rosa' and 'ann', please." });
    return (await alice.executions(session, turnId)).map((each) => (each as { success: boolean }).success);
  };
  expect(await codes("ann", "ben", "eve")).toEqual([false, false, false]);
  const policy = {
    rules: [
      reading,
      {
        tools: ["write_note"],
        effect: "allow",
        sandboxes: ["host"],
        asked: "note",
        when: { "/text": { from: ["user", list] } },
      },
    ],
  };
  const body = JSON.stringify(policy);
  const headers = { "content-type": "application/yaml", "content-length": String(Buffer.byteLength(body)) };
  const put = await new TestClient(server, "frank").send("PUT", "/v1/policy", undefined, { body, headers });
  expect(put.status).toBe(200);
  expect(await codes("ann", "ben", "eve")).toEqual([true, false, false]);
  const { turnId } = await alice.dispatch(session, [{ id: "l", name: "list_names", arguments: {} }]);
  await alice.executions(session, turnId);
  expect(await codes("ann", "ben", "eve")).toEqual([true, true, false]);
});
