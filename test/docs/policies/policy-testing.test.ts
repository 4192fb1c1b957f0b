import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { ConfigSource } from "../../../src/config/source.ts";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import { DECISION_CHANGES } from "../../../src/policy/compare-decisions.ts";
import type { PolicyTool } from "../../../src/policy/file/checked-rule.ts";
import { readPolicy } from "../../../src/policy/file/read.ts";
import type { RuntimePolicy } from "../../../src/policy/policy.ts";
import { createFolder, sandgate } from "../../cli/sandgate.ts";
import { blocksOf } from "../snippets.ts";

const text = readFileSync("docs/policy-testing.md", "utf8");
const all = blocksOf("docs/policy-testing.md", "yaml");
/** A file of a policy test is a list. */
const cases = all.filter((yaml) => yaml.startsWith("- "));
const examples = all.filter((yaml) => !cases.includes(yaml));

const TOOLS: readonly PolicyTool[] = [
  {
    name: "run_command",
    sideEffects: "execute",
    sandboxes: ["host", "quickjs"],
    inputSchema: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
  },
  {
    name: "drop_table",
    sideEffects: "destructive",
    sandboxes: ["remote"],
    inputSchema: { type: "object", properties: { table: { type: "string" } } },
  },
];

// Below the repository, so that the snippets find the package.
mkdirSync(".cache", { recursive: true });
const folder = mkdtempSync(join(process.cwd(), ".cache/docs-policy-testing-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The snippet with a text, with more code after it. */
function code(part: string, more: string): string {
  const snippet = blocksOf("docs/policy-testing.md", "ts").find((block) => block.includes(part));
  return `${snippet}${more}`;
}

async function load(snippet: string): Promise<Readonly<Record<string, unknown>>> {
  const file = join(mkdtempSync(join(folder, "snippet-")), "snippet.ts");
  writeFileSync(file, snippet);
  return import(file);
}

describe("docs/policy-testing.md", () => {
  test.each(
    examples.map((yaml) => [yaml.split("\n")[1]?.trim() ?? "", yaml]),
  )("the example that begins with '%s' is a valid policy", (_start, yaml) => {
    const tools = yaml.includes("invariants:") ? TOOLS : undefined;
    expect(readPolicy(ConfigSource.parse(yaml, "policies.md"), [], tools).warnings).toEqual([]);
  });

  test("shows the error of an invariant that is not proved", () => {
    const yaml = examples.find((example) => example.includes("invariants:")) ?? "";
    const [error = ""] = /^policy\.yaml:.*$/m.exec(text) ?? [];
    const broken = yaml.replace(
      "effect: ask\n    sandboxes: [quickjs]",
      "effect: allow\n    sandboxes: [quickjs, host]",
    );
    expect(() => readPolicy(ConfigSource.parse(broken, "policy.yaml"), [], TOOLS)).toThrow(error);
  });

  test("has an example of a shadow policy, which reports what the candidate decides differently", async () => {
    const { policy } = await load(code("new ShadowPolicy", "export { policy };"));
    const printed = vi.spyOn(console, "log").mockImplementation(() => {});
    (policy as RuntimePolicy).check({
      callId: "c",
      sessionId: "s",
      input: {},
      canonical: new CanonicalJson({}),
      tool: { name: "t", sideEffects: "read", sandboxes: ["host", "quickjs"], inputSchema: {} },
    });
    expect(printed.mock.calls).toEqual([["t: narrower"]]);
    printed.mockRestore();
  });

  test("has an example of a policy file that is reloaded, which reports its revisions", async () => {
    const file = join(folder, "policy.yaml");
    writeFileSync(file, "rules: []");
    const change = `
      import { writeFileSync } from "node:fs";
      writeFileSync("policy.yaml", "rules: [{ tools: [x], effect: deny }]");
      await policy.reload();
      writeFileSync("policy.yaml", "rules: 1");
      await policy.reload();`;
    const printed = vi.spyOn(console, "log").mockImplementation(() => {});
    await load(code("openPolicyFile", change).replaceAll('"policy.yaml"', JSON.stringify(file)));
    expect(printed.mock.calls).toEqual([
      [expect.stringMatching(/^from now on: [0-9a-f]{64}$/)],
      [expect.stringContaining("policy.yaml:1:8: must be a list")],
    ]);
    printed.mockRestore();
  });

  test("tests and explains a policy as it says", async () => {
    const policy = examples.find((yaml) => yaml.includes("examples:")) ?? "";
    const folder = await createFolder({
      "sandgate.yaml": `
tools:
  - name: read_file
    description: Reads a file
    inputSchema: { type: object, properties: { path: { type: string } } }
    host: { module: tools.mjs, export: run, thread: false }
policy: policy.yaml
`,
      "tools.mjs": "export const run = () => {};",
      "policy.yaml": policy,
      "sandgate.policy-test.yaml": cases[0] ?? "",
    });
    const config = join(folder, "sandgate.yaml");
    expect(cases).toHaveLength(2);
    expect(await sandgate(["policy", "test", "--config", config])).toMatchObject({
      code: 0,
      stdout: "2 cases are decided as expected\n",
      stderr: "",
    });
    const [, call = "", output = ""] =
      /policy explain --call '(.+)'\n```\n\n```text\n([\s\S]*?)```/.exec(text) ?? [];
    const explained = await sandgate(["policy", "explain", "--config", config, "--call", call]);
    expect(explained.stdout).toBe(output);
  });

  test("decides on the cases with earlier calls as it says", async () => {
    const tool = (name: string): string => `
  - name: ${name}
    description: Does it
    inputSchema: { type: object, properties: { to: { type: string } } }
    host: { module: tools.mjs, export: run, thread: false }`;
    const folder = await createFolder({
      "sandgate.yaml": `
tools:${tool("send_email")}${tool("list_contacts")}
policy:
  rules:
    - name: a few mails
      tools: [send_email]
      effect: allow
      sandboxes: [host]
      when: { /to: { from: [user, { tool: list_contacts, field: /email }] } }
      history: [{ count: [send_email], within: 1h, lessThan: 9 }, { count: [send_email], in: turn, lessThan: 2 }]
    - { tools: [list_contacts], effect: allow, sandboxes: [host] }
`,
      "tools.mjs": "export const run = () => {};",
      "sandgate.policy-test.yaml": cases[1] ?? "",
    });
    expect(await sandgate(["policy", "test", "--config", join(folder, "sandgate.yaml")])).toMatchObject({
      code: 0,
      stdout: "2 cases are decided as expected\n",
      stderr: "",
    });
  });

  test("names every change between two decisions", () => {
    const section = text.slice(text.indexOf("## Comparing two"), text.indexOf("## What `sandgate check`"));
    for (const change of Object.keys(DECISION_CHANGES)) expect(section).toContain(`\`${change}\``);
  });
});
