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
  return { ...(await sandgate(["policy", "test", file])), file };
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
      "4 of 4 cases are decided otherwise",
      "",
    ]);
    expect(code).toBe(1);
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

  test("refuses a file that is not a list of cases", async () => {
    const { code, stderr } = await runCases("call: { tool: deploy }");
    expect(stderr).toContain("must be a list, not a map");
    expect(code).toBe(2);
    const other = await runCases("- call: { tool: deploy }\n  expects: allow");
    expect(other.stderr).toContain(":2:3: unknown key 'expects': did you mean 'expect'?");
  });
});
