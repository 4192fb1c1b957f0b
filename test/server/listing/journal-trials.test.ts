import { expect, onTestFinished, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { defineTool } from "../../../src/engine/tool.ts";
import { JournalHistory } from "../../../src/journal/history/journal-history.ts";
import { type Journal, openJournal } from "../../../src/journal/journal.ts";
import type { JournalOptions } from "../../../src/journal/options.ts";
import { RecordedInputs } from "../../../src/journal/recorded-inputs.ts";
import type { RuntimePolicy } from "../../../src/policy/policy.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { Redaction } from "../../../src/redaction/redaction.ts";
import type { Server } from "../../../src/server/server.ts";
import { dispatch, dispatchBody } from "../../executor/harness.ts";
import { TemporaryDirectory } from "../../journal/records.ts";
import { type ClientName, refusalOf, startServer, TestClient, WITH_EXECUTOR } from "../harness.ts";

const ran: unknown[] = [];

function tool(name: string, sideEffects: "read" | "write") {
  return defineTool({
    name,
    description: "",
    sideEffects,
    inputSchema: { type: "object" },
    host: (input) => {
      ran.push(input);
      return { found: "sk-ant-api03-0123456789abcdefghijklmnop" };
    },
  });
}

const ALLOW = { effect: "allow", sandboxes: ["host"] } as const;
const OPEN = new RulePolicy({ rules: [{ name: "all", tools: ["*"], ...ALLOW }] });

interface Trial {
  readonly server: Server;
  readonly journal: Journal;
  readonly client: (name: ClientName) => TestClient;
}

/** A server whose journal has a call for each of these inputs, the first of which is record 2. */
async function recorded(
  calls: readonly { readonly name: string; readonly input: object }[],
  policy: RuntimePolicy = OPEN,
  options: Partial<JournalOptions> = {},
): Promise<Trial> {
  ran.length = 0;
  const directory = new TemporaryDirectory();
  onTestFinished(() => directory[Symbol.dispose]());
  const tools = [tool("look_up", "read"), tool("save", "write")];
  const registry = new ToolRegistry();
  for (const each of tools) registry.register(each);
  await new RecordedInputs(directory.path).store(policy, registry.subjects);
  const journal = await openJournal({ directory: directory.path, ...options });
  onTestFinished(() => journal.close());
  const server = await startServer(tools, {
    ...WITH_EXECUTOR,
    policy,
    journal,
    redaction: new Redaction(),
    history: new JournalHistory(journal, directory.path),
  });
  const heidi = new TestClient(server, "heidi");
  for (const [index, { name, input }] of calls.entries()) {
    const body = dispatchBody({ id: `c${index}`, name, arguments: input });
    await dispatch(server, body, { headers: heidi.authorization });
  }
  return { server, journal, client: (name) => new TestClient(server, name) };
}

interface Listed {
  readonly calls: readonly { readonly seq: number; readonly callId: string; readonly principal?: object }[];
}

async function seqOf({ client }: Trial, index = 0): Promise<number> {
  const { calls } = await client("frank").json<Listed>("GET", "/v1/journal/calls");
  return calls.at(-1 - index)?.seq ?? 0;
}

const DIFF = "/v1/journal/policy-diff";

test("says on which of the latest calls another policy would decide differently, and replaces nothing", async () => {
  const trial = await recorded([
    { name: "look_up", input: { key: "a" } },
    { name: "look_up", input: { key: "b" } },
    { name: "save", input: { key: "a" } },
  ]);
  const policy = `
rules:
  - { name: all, tools: ["*"], effect: allow, sandboxes: [host] }
  - { name: not a, tools: ["*"], effect: deny, when: { /key: { equals: a } } }
`;
  const frank = trial.client("frank");
  expect(await frank.json("POST", DIFF, { policy, last: 2 })).toEqual({
    compared: 2,
    isCut: false,
    counts: { same: 1, different: 1, undecided: 0, undecidable: {} },
    changed: [
      {
        seq: await seqOf(trial, 2),
        toolName: "save",
        before: "allow",
        after: "deny",
        changes: ["allow → deny"],
        rules: ["not a"],
      },
    ],
  });
  expect(await frank.json("POST", DIFF, { policy, last: 100 })).toMatchObject({
    compared: 3,
    counts: { different: 2 },
  });
});

test("lists the problems of a policy that has errors", async () => {
  const trial = await recorded([]);
  const answer = await trial.client("frank").send("POST", DIFF, { policy: "rules: [1]", last: 2 });
  expect(refusalOf(answer)).toBe("422 invalid_policy");
  expect(JSON.parse(answer.text)).toMatchObject({ problems: [{ line: 1 }] });
});

test.each(["alice", "carol", "erin"] as const)("%s, who is no admin, tries nothing", async (name) => {
  const trial = await recorded([{ name: "look_up", input: {} }]);
  const client = trial.client(name);
  const seq = await seqOf(trial);
  for (const [path, body] of [
    [DIFF, { policy: "rules: []", last: 1 }],
    [`/v1/journal/calls/${seq}/repeat`, { dryRun: true }],
    [`/v1/journal/calls/${seq}/repeat`, { dryRun: false }],
  ] as const)
    expect(refusalOf(await client.send("POST", path, body))).toBe("403 forbidden");
  expect(ran).toHaveLength(1);
});

test("runs a call again that changes nothing, in the name of the admin, and records it", async () => {
  const trial = await recorded([{ name: "look_up", input: { key: "a" } }]);
  const seq = await seqOf(trial);
  const frank = trial.client("frank");
  const answer = await frank.json("POST", `/v1/journal/calls/${seq}/repeat`, { dryRun: false });
  expect(answer).toMatchObject({
    dryRun: false,
    toolChanged: false,
    principal: { id: "frank" },
    execution: { success: true, output: { found: "[redacted: api-key]" } },
  });
  expect(ran).toEqual([{ key: "a" }, { key: "a" }]);
  await trial.journal.flush();
  const { calls } = await frank.json<Listed>("GET", "/v1/journal/calls");
  expect(calls[0]).toMatchObject({
    callId: expect.stringMatching(`^repeat-${seq}-`),
    sessionId: "console-repeat",
    principal: { id: "frank" },
  });
});

test("decides on a call again as on one of the admin, and runs nothing", async () => {
  const policy = new RulePolicy({
    rules: [{ name: "heidi", tools: ["*"], ...ALLOW, principals: ["heidi"] }],
  });
  const trial = await recorded([{ name: "save", input: {} }], policy);
  const seq = await seqOf(trial);
  const frank = trial.client("frank");
  expect(await frank.json("POST", `/v1/journal/calls/${seq}/repeat`, { dryRun: true })).toMatchObject({
    dryRun: true,
    decision: { decision: "deny", near: [{ rule: "heidi" }] },
  });
  expect(ran).toHaveLength(1);
});

test("runs no call again that can change something, or whose arguments are not recorded", async () => {
  const secret = { token: "sk-ant-api03-0123456789abcdefghijklmnop" };
  const trial = await recorded([
    { name: "save", input: {} },
    { name: "look_up", input: secret },
  ]);
  const frank = trial.client("frank");
  const [save, hidden] = [await seqOf(trial), await seqOf(trial, 1)];
  for (const [seq, dryRun] of [
    [save, false],
    [hidden, false],
    [hidden, true],
  ] as const) {
    const answer = await frank.send("POST", `/v1/journal/calls/${seq}/repeat`, { dryRun });
    expect(refusalOf(answer)).toBe("422 not_repeatable");
  }
  expect(ran).toHaveLength(2);
  const missing = await frank.send("POST", "/v1/journal/calls/999/repeat", { dryRun: true });
  expect(refusalOf(missing)).toBe("404 not_found");
});

test("asks nobody: a call that a person must confirm is denied", async () => {
  const policy = new RulePolicy({
    rules: [{ tools: ["*"], effect: "ask", sandboxes: ["host"] }],
  });
  const trial = await recorded([{ name: "look_up", input: {} }], policy);
  const seq = await seqOf(trial);
  const answer = await trial
    .client("frank")
    .json("POST", `/v1/journal/calls/${seq}/repeat`, { dryRun: false });
  expect(answer).toMatchObject({ execution: { success: false, error: { code: "permission_denied" } } });
  expect(ran).toHaveLength(0);
});

test("repeats nothing while the server is paused", async () => {
  const trial = await recorded([{ name: "look_up", input: {} }]);
  const seq = await seqOf(trial);
  const frank = trial.client("frank");
  await frank.send("POST", "/v1/pause");
  const answer = await frank.send("POST", `/v1/journal/calls/${seq}/repeat`, { dryRun: false });
  expect(refusalOf(answer)).toBe("503 paused");
});
