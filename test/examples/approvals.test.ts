import { HostPolicy, openSandboxes } from "sandgate";
import { startServer } from "sandgate/server";
import { expect, test } from "vitest";
import { runAgent } from "../../examples/approvals/agent.ts";
import { Approver, decideByRule, type Question } from "../../examples/approvals/approver.ts";
import { registerTools } from "../../examples/approvals/tools.ts";

test("in examples/approvals, the agent orders what the person allows, and reads that the rest was denied", async () => {
  const tokens = { agent: "the-token-of-the-agent", ann: "the-token-of-ann-the-person" };
  await using sandboxes = await openSandboxes();
  await using server = await startServer({
    registry: registerTools(),
    policy: new HostPolicy(),
    sandboxes,
    listen: "127.0.0.1:0",
    credentials: [
      { id: "agent", token: tokens.agent, roles: ["caller"] },
      { id: "ann", token: tokens.ann, roles: ["approver"], approves: ["agent"] },
    ],
    sessions: {},
  });
  const asked: Question[] = [];
  const ended = new AbortController();
  const approving = new Approver(`http://${server.address}`, tokens.ann, (question) => {
    asked.push(question);
    return decideByRule(question);
  }).run(ended.signal);
  const read = await runAgent(`http://${server.address}`, tokens.agent);
  ended.abort();
  await approving;
  expect(read).toEqual(["2", "1900", "ordered: pencil", "User denied this operation."]);
  expect(asked.map(({ inputSummary }) => inputSummary).sort()).toEqual([
    '{"item":"laptop"}',
    '{"item":"pencil"}',
  ]);
});
