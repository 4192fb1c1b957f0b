import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Outcome, sandgate } from "../../sandgate.ts";
import { createProject } from "./project.ts";

async function explain(call: string, ...others: readonly string[]): Promise<Outcome> {
  const config = join(await createProject(), "sandgate.yaml");
  return sandgate(["policy", "explain", "--config", config, "--call", call, ...others]);
}

describe("sandgate policy explain", () => {
  test("prints the decision, why each rule matched or not, and where the grant comes from", async () => {
    const { code, stdout } = await explain('{"tool":"read_file","arguments":{"path":"src/a.ts"}}');
    expect(stdout.split("\n")).toEqual([
      "allow: read_file runs in host",
      "  'sources' (allow) matches: every condition is met",
      "  'everyone' (allow) may match: unclear: principals, so it only restricts what other rules grant",
      "  'keys' (deny) does not match: not met: /path (glob)",
      "  sandbox host: from 'sources'",
      "  limit wallTime 2s: from 'sources'",
      "",
    ]);
    expect(code).toBe(0);
  });

  test("explains denials and questions", async () => {
    const denied = await explain('{"tool":"read_file","arguments":{"path":"src/a.key"}}');
    expect(denied.stdout).toContain("deny: read_file does not run: 'keys' denies this call\n");
    const asked = await explain('{"tool":"deploy"}');
    expect(asked.stdout).toContain("ask: deploy runs in host once a person confirms: 'Deploy?'\n");
    expect(asked.code).toBe(0);
  });

  test("knows who calls", async () => {
    const principal = '{"id":"staff:eve","kind":"user"}';
    const { stdout } = await explain(
      '{"tool":"read_file","arguments":{"path":"lib/a.ts"}}',
      "--principal",
      principal,
      "--session",
      "s1",
    );
    expect(stdout).toContain("'everyone' (allow) matches: every condition is met\n");
  });

  test("suggests the change that would allow a denied call, and where it belongs", async () => {
    const call = '{"tool":"read_file","arguments":{"path":"src/a.key"}}';
    const { stdout, code } = await explain(call, "--suggest");
    expect(stdout.split("\n").slice(4)).toEqual([
      "to allow the call: The rule 'keys' denies the call: except exactly this call from it.",
      '# In place of the rule "keys" of "sandgate.yaml", line 22',
      "- name: keys",
      '  tools: ["*"]',
      "  when:",
      '    /path: { glob: "**/*.key" }',
      '    "": { not: { equals: { path: src/a.key } } }',
      "  effect: deny",
      "  this also allows the same call in other sessions",
      "  this also allows calls of 'deploy' with the same arguments",
      "",
    ]);
    expect(code).toBe(0);
    const json = await explain(call, "--suggest", "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      suggestion: { decision: "allow", changes: [{ kind: "replace", rule: "keys" }] },
    });
  });

  test("suggests nothing for a call that can run, and says why it suggests nothing for another", async () => {
    const allowed = await explain('{"tool":"read_file","arguments":{"path":"src/a.ts"}}', "--suggest");
    expect(allowed.stdout).not.toContain("to allow");
    const long = JSON.stringify({ tool: "read_file", arguments: { path: `${"x".repeat(2_000)}.key` } });
    expect((await explain(long, "--suggest")).stdout).toContain(
      "no change is suggested: the arguments are too long to be part of a rule\n",
    );
  });

  test("prints JSON", async () => {
    const { stdout } = await explain('{"tool":"read_file","arguments":{"path":"src/a.ts"}}', "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      decision: { decision: "allow", rules: ["sources", "everyone"] },
      sandbox: "sources",
      limits: { wallTimeMs: "sources" },
    });
  });

  test.each([
    ["nothing", "Invalid"],
    ['{"tool":"read_files"}', "--call.tool: there is no tool 'read_files'"],
    ['{"tool":"read_file"}', "--call.arguments: "],
    ['{"tool":"read_file","arguments":{"path":1}}', "--call.arguments.path: "],
    ['{"tools":"read_file"}', "--call.tools: unknown key 'tools': did you mean 'tool'?"],
  ])("says what is wrong with the call %s", async (call, message) => {
    const { code, stderr } = await explain(call);
    expect(stderr).toContain(message === "Invalid" ? "--call is not valid JSON" : message);
    expect(code).toBe(2);
  });

  test("says what is wrong with a principal", async () => {
    const { code, stderr } = await explain('{"tool":"deploy"}', "--principal", '{"id":""}');
    expect(stderr).toContain("--principal: a principal's id must be a string");
    expect(code).toBe(2);
  });
});

describe("sandgate policy", () => {
  test("requires a known subcommand", async () => {
    const { code, stderr } = await sandgate(["policy", "toString"]);
    expect(stderr).toContain("'policy' must be followed by one of explain, ");
    expect(code).toBe(2);
    expect((await sandgate(["policy", "--help"])).stdout).toContain("policy explain  prints");
    expect((await sandgate(["policy", "explain", "--config", "x"])).stderr).toContain(
      "--call JSON is missing",
    );
  });
});
