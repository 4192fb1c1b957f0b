import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Outcome, sandgate } from "../../sandgate.ts";
import { createProject } from "./project.ts";

const CASES = `
- name: sources can be read
  call: { tool: read_file, arguments: { path: src/a.ts } }
  expect: allow
  sandbox: host
  limits: { wallTime: 2s }
- call: { tool: read_file, arguments: { path: lib/a.ts } }
  principal: { id: "staff:eve", kind: user }
  session: s1
  userText: Read it
  workspace: .
  expect: allow
- call: { tool: read_file, arguments: { path: lib/a.ts } }
  expect: deny
- call: { tool: deploy }
  expect: ask
`;

async function runCases(cases: string): Promise<Outcome & { readonly file: string }> {
  const file = join(await createProject({ "cases.yaml": cases }), "cases.yaml");
  return { ...(await sandgate(["policy", "test", file, "--yes"])), file };
}

describe("sandgate policy test", () => {
  test("decides on the cases beside the config", async () => {
    const folder = await createProject({ "sandgate.policy-test.yaml": CASES });
    const { code, stdout } = await sandgate(["policy", "test", "--config", join(folder, "sandgate.yaml")]);
    expect(stdout).toBe("4 cases are decided as expected\n");
    expect(code).toBe(0);
  });

  test("prints each difference with its position, and exits with 1", async () => {
    const { code, stdout, file } = await runCases(`
- name: a key
  call: { tool: read_file, arguments: { path: src/a.key } }
  expect: allow
- name: elsewhere
  call: { tool: read_file, arguments: { path: lib/a.ts } }
  expect: ask
- name: sources
  call: { tool: read_file, arguments: { path: src/a.ts } }
  expect: allow
  sandbox: quickjs
  limits: { wallTime: 1s, output: 1KiB }
- name: deployment
  call: { tool: deploy, arguments: {} }
  expect: allow
`);
    expect(stdout.split("\n")).toEqual([
      `${file}:4:11: 'a key': expected allow, but the policy decides deny: 'keys' denies this call`,
      `${file}:7:11: 'elsewhere': expected ask, but the policy decides deny: no rule allows this call ('sources' missed /path (glob), 'everyone' missed principals, unclear)`,
      `${file}:11:12: 'sources': expected the sandbox quickjs, but the policy grants host`,
      `${file}:12:11: 'sources': expected wallTime 1s, but the policy grants 2s`,
      `${file}:12:11: 'sources': expected output 1 KiB, but the policy grants no such limit`,
      `${file}:15:11: 'deployment': expected allow, but the policy decides ask by 'asks'`,
      "4 of 4 cases are decided differently",
      "",
    ]);
    expect(code).toBe(1);
  });

  test.each([
    "[]",
    "# no cases yet\n",
  ])("refuses a file without cases, and exits with 2: %j", async (cases) => {
    const { code, stderr, stdout } = await runCases(cases);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/cases\.yaml:1:1: must (not be empty|be a list, not null)/);
    expect(code).toBe(2);
  });

  test("reports every case that is not valid, with its position, and exits with 2", async () => {
    const { code, stderr, file } = await runCases(`
- call: { tool: read_flie, arguments: { path: src/a.ts } }
  expect: allow
- call: { tool: read_file, arguments: { path: 1 } }
  expect: allow
  limits: { wallTime: soon }
- call: { tool: deploy }
  expect: deny
  sandbox: host
- call: { tool: deploy }
  expect: allow
  principal: { id: eve }
`);
    const places = stderr
      .split("\n")
      .map((line) => line.replace(file, "").split(": ").slice(0, 2).join(": "));
    expect(places).toEqual([
      ":2:17: there is no tool 'read_flie'",
      ":4:47: /path must be string",
      expect.stringContaining(":6:23: must be a duration"),
      ":9:3: a denied call is granted no sandbox and no limits",
      expect.stringContaining(":12:14: a principal's kind"),
      "",
    ]);
    expect(code).toBe(2);
  });

  const HISTORY_CONFIG = `
tools:
  - name: send
    description: Sends
    inputSchema: { type: object, properties: { to: { type: string }, amount: { type: number } } }
    sideEffects: write
    host: { module: tools.mjs, export: run, thread: false }
  - name: contacts
    description: Lists contacts
    inputSchema: { type: object, properties: { name: { type: string } } }
    sideEffects: read
    host: { module: tools.mjs, export: run, thread: false }
policy:
  rules:
    - name: few and small
      tools: [send]
      effect: allow
      sandboxes: [host]
      when: { /to: { from: [user, { lookup: contacts, field: /mail }] } }
      history:
        - { count: [send], within: 1h, lessThan: 3 }
        - { count: [send], in: turn, lessThan: 2 }
        - { sum: /amount, of: [send], within: 24h, atMost: 100, by: principal }
    - { name: approved, tools: [contacts], effect: allow, sandboxes: [host], history: [{ after: [send], approved: true, in: session }] }
`;

  test("decides on cases by the calls and words before them", async () => {
    const sends = (to: string, rest: string): string =>
      `call: { tool: send, arguments: { to: ${to}, amount: 10 } }\n  principal: { id: eve, kind: user }\n  userText: Pay ann\n  ${rest}`;
    const call = "call: { tool: send, arguments: { to: ann, amount: 10 } }";
    const lookup = (name: string): string =>
      `{ call: { tool: contacts, arguments: { name: ${name} } }, output: { mail: bob@x.example } }`;
    const cases = [
      ["allow", sends("ann", "earlier: []")],
      ["deny", sends("bob", "earlier: []")],
      ["allow", sends("bob", "earlier: [{ userText: 'Bob is bob, of course' }]")],
      ["allow", sends("bob@x.example", `earlier: [${lookup("ann")}]`)],
      ["deny", sends("bob@x.example", `earlier: [${lookup("zoe")}]`)],
      ["deny", sends("bob@x.example", `earlier: [{ session: s2, ${lookup("ann").slice(1)}]`)],
      ["deny", sends("bob@x.example", `earlier: [{ failed: true, ${lookup("ann").slice(1)}]`)],
      ["allow", sends("ann", `earlier: [{ ${call}, turn: earlier, times: 2 }]`)],
      ["deny", sends("ann", `earlier: [{ ${call}, turn: earlier, times: 3 }]`)],
      ["allow", sends("ann", `earlier: [{ ${call}, turn: earlier, times: 3, ago: 1h }]`)],
      ["deny", sends("ann", `earlier: [{ ${call}, times: 2 }]`)],
      ["allow", sends("ann", `earlier: [{ ${call}, times: 9, session: s2 }]`)],
      ["deny", sends("ann", `earlier: [{ ${call}, times: 10, session: s2 }]`)],
      ["allow", sends("ann", `earlier: [{ ${call}, times: 10, session: s2, ago: 48h }]`)],
      ["allow", `call: { tool: contacts }\n  earlier: [{ ${call}, approved: true }]`],
      ["deny", `call: { tool: contacts }\n  earlier: [{ ${call}, approved: true, failed: true }]`],
      ["deny", `call: { tool: contacts }\n  earlier: [{ ${call} }]`],
      ["deny", "call: { tool: contacts }"],
    ];
    const yaml = cases.map(([expect, rest]) => `- ${rest}\n  expect: ${expect}\n`).join("");
    const folder = await createProject({
      "sandgate.yaml": HISTORY_CONFIG,
      "sandgate.policy-test.yaml": yaml,
    });
    const config = join(folder, "sandgate.yaml");
    const { stdout, stderr } = await sandgate(["policy", "test", "--config", config]);
    expect({ stdout, stderr }).toEqual({ stdout: "18 cases are decided as expected\n", stderr: "" });
    const explained = await sandgate([
      "policy",
      "explain",
      "--config",
      config,
      "--call",
      '{"tool":"contacts"}',
      "--earlier",
      '[{"call":{"tool":"send"},"approved":true}]',
    ]);
    expect(explained.stdout).toContain("allow: contacts runs in host");
  });

  test("reports what is wrong with what came before a case", async () => {
    const { code, stderr, file } = await runCases(`
- call: { tool: deploy }
  earlier:
    - {}
    - { userText: hello, approved: true }
    - { call: { tool: read_flie } }
    - { call: { tool: read_file, arguments: { path: 1 } } }
    - { call: { tool: deploy }, ago: soon }
  expect: ask
`);
    expect(stderr.replaceAll(file, "").split("\n")).toEqual([
      ":4:7: must have either 'call' or 'userText'",
      expect.stringMatching(/^:5:\d+: words of the user cannot have this/),
      ":6:23: there is no tool 'read_flie'",
      expect.stringMatching(/^:7:\d+: \/path must be string/),
      expect.stringMatching(/^:8:\d+: must be a duration/),
      "",
    ]);
    expect(code).toBe(2);
  });

  test("refuses a file that is not a list of cases", async () => {
    const { code, stderr } = await runCases("call: { tool: deploy }");
    expect(stderr).toContain("must be a list, not a map");
    expect(code).toBe(2);
    const other = await runCases("- call: { tool: deploy }\n  expects: allow");
    expect(other.stderr).toContain(":2:3: unknown key 'expects': did you mean 'expect'?");
  });
});
