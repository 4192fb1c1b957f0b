import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFolder, sandgate } from "../../sandgate.ts";

const TOOLS = `tools:
  - name: upper
    description: Writes in capitals
    inputSchema: { type: object, properties: { text: { type: string } } }
    sideEffects: none
    quickjs: { source: "export default () => 1" }
  - name: me
    description: Says who the user is
    inputSchema: { type: object }
    sideEffects: read
    remote: { http: { method: GET, url: "https://users.example/me" } }
  - name: team
    description: Says who is in the team
    inputSchema: { type: object }
    sideEffects: read
    remote: { http: { method: GET, url: "https://teams.example/mine" } }
`;

const POLICY = `policy:
  rules:
    - { tools: [upper], effect: allow, sandboxes: [quickjs] }
    - { tools: [me], effect: allow, sandboxes: [remote], capabilities: { net: ["https://users.example"] } }
`;
const EXECUTOR = "server: { token: { file: agent.token } }\n";
const SESSIONS = `server:
  sessions: true
  credentials: [{ id: agent, token: { file: agent.token }, roles: [caller] }]
`;

/** Returns the warnings of `sandgate check` about a config, without their positions. */
async function warningsOf(config: string): Promise<readonly string[]> {
  const files = {
    "sandgate.yaml": TOOLS + config,
    "agent.token": "a".repeat(20),
    "note.txt": "",
    "policy.yaml": "rules: [{ tools: [upper], effect: allow, sandboxes: [quickjs] }]\n",
  };
  const folder = await createFolder(files);
  const { code, stderr } = await sandgate(["check", "--config", join(folder, "sandgate.yaml")]);
  expect([code, stderr.includes("error")]).toEqual([0, false]);
  const lines = stderr.replaceAll(`${folder}/`, "").split("\n");
  return lines.filter((line) => line !== "").map((line) => line.replace(/^.*?warning: /, ""));
}

const withRule = (rule: string): string => `${POLICY}    - { ${rule} }\n`;

describe("sandgate check names rules that depend on sessions, on a server without any", () => {
  test.each([
    ["deny, asked: send", "only sessions know the user's words"],
    ["deny, history: [{ count: [me], atLeast: 3, in: session }]", "only sessions know earlier calls"],
    ["deny, when: { /text: { from: [user] } }", "only sessions know where values came from"],
    ["ask", "a call without a session asks no one"],
  ])("%s", async (rule, reason) => {
    const config = withRule(`tools: [upper], effect: ${rule}`);
    expect(await warningsOf(EXECUTOR + config)).toEqual([expect.stringContaining(reason)]);
    expect((await warningsOf(SESSIONS + config)).join()).not.toContain(reason);
    expect(await warningsOf(config)).toEqual([]);
  });
});

describe("sandgate check names conditions on earlier calls that no session can meet", () => {
  const approved = withRule(
    "tools: [me], effect: deny, history: [{ after: [upper], approved: true, in: session }]",
  );

  test("an approval of calls about which no one is asked", async () => {
    expect(await warningsOf(SESSIONS + approved)).toEqual([
      expect.stringContaining("no rule and no level asks a person about calls of 'upper'"),
    ]);
    for (const asked of [
      `${approved}confirmations: { tools: { upper: prompt } }\n`,
      `${approved}confirmations: { mode: manual }\n`,
      `${approved}    - { tools: [upper], effect: ask }\n`,
    ])
      expect((await warningsOf(asked)).join()).not.toContain("no level asks a person");
  });

  test.each([
    ["calls: 5", "atLeast: 6", "this is never met, as 'sessions.limits' allows 5"],
    ["callsPerTool: { upper: 2 }", "lessThan: 4", "this is always met, as 'sessions.limits' allows 2"],
    ["calls: 5", "atLeast: 5", undefined],
    ["callsPerTool: { me: 2 }", "atLeast: 4", undefined],
  ])("sessions.limits with %s, and %s", async (limits, count, reason) => {
    const rule = withRule(`tools: [me], effect: deny, history: [{ count: [upper], ${count}, in: session }]`);
    const found = await warningsOf(`${SESSIONS}sessions: { limits: { ${limits} } }\n${rule}`);
    expect(found).toEqual(reason === undefined ? [] : [expect.stringContaining(reason)]);
  });
});

describe("sandgate check names grants of what is not there, or what no tool uses", () => {
  test.each([
    ["fs: [{ directory: nowhere }]", "nowhere', so that this grants nothing until it exists"],
    ["fs: [{ file: nowhere.txt }]", "nowhere.txt', so that this grants nothing"],
    ["fs: [{ file: { argument: /text }, within: nowhere }]", "nowhere', so that this grants nothing"],
    ["fs: [{ directory: note.txt }]", "is a file: write 'file' in place of 'directory'"],
    ["fs: [{ file: /usr, at: /granted }]", "is a directory: write 'directory' in place of 'file'"],
  ])("%s", async (capabilities, reason) => {
    const rule = `tools: [upper], effect: allow, sandboxes: [quickjs], capabilities: { ${capabilities} }`;
    expect(await warningsOf(withRule(rule))).toEqual([expect.stringContaining(reason)]);
  });

  test("but not a file that can be made", async () => {
    const fs = "fs: [{ file: note.txt }, { file: new.txt, write: true }]";
    const rule = `tools: [upper], effect: allow, sandboxes: [quickjs], capabilities: { ${fs} }`;
    expect(await warningsOf(withRule(rule))).toEqual([]);
  });

  test("origins and secrets of HTTP tools that none of the rule's tools uses", async () => {
    const more = `net: ["https://users.example", "https://teams.example"]`;
    const other = POLICY.replace('net: ["https://users.example"]', `${more}, secrets: [PATH]`);
    expect(await warningsOf(other)).toEqual([
      expect.stringContaining("no tool of this rule sends requests there"),
      expect.stringContaining("no tool of this rule sends this secret"),
    ]);
    expect(await warningsOf(other.replace("[me]", "[me, team]").replace(", secrets: [PATH]", ""))).toEqual(
      [],
    );
  });
});

describe("sandgate check names entries that change nothing", () => {
  test.each([
    ["agents: { a: { tools: [upper, upper] } }\n", "the same stands before"],
    ['agents: { a: { tools: [me], net: ["https://256.1.1.1"] } }\n', "its host is not valid"],
    ['agents: { a: { tools: [me], net: ["http://10.0.0.1"] } }\n', "is not a public address"],
  ])("%s", async (agents, reason) => {
    expect(await warningsOf(POLICY + agents)).toEqual([expect.stringContaining(reason)]);
  });

  test("a policy that is listed twice, and one that is its own candidate", async () => {
    expect(await warningsOf("policy: [policy.yaml, policy.yaml]\n")).toEqual([
      "the same stands before: remove this",
    ]);
    expect(await warningsOf("policy: policy.yaml\nshadow: policy.yaml\n")).toEqual([
      expect.stringContaining("this is the policy itself"),
    ]);
  });
});

test("sandgate check says what is wrong with an agent's grant of neither a directory nor a file", async () => {
  const folder = await createFolder({
    "sandgate.yaml": `${TOOLS}${POLICY}agents: { a: { fs: [{ write: true }] } }\n`,
  });
  const { code, stderr } = await sandgate(["check", "--config", join(folder, "sandgate.yaml")]);
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining("an fs capability must be { directory, write } or { file, write }"),
  ]);
});
