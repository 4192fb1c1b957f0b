import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFolder, type Outcome, sandgate } from "../../sandgate.ts";

const TOOLS = `tools:
  - name: run_command
    description: Runs a command
    inputSchema: { type: object, properties: { program: { type: string } }, required: [program] }
    sideEffects: execute
    host: { module: tools.mjs, export: run, thread: false }
`;
const POLICY = `rules:
  - name: shell
    tools: [run_command]
    when: { /program: { prefix: "git " } }
    effect: allow
    sandboxes: [host]
  - name: contradiction
    tools: [run_command]
    when: { /program: { all: [{ regex: "^ab" }, { regex: "cd$" }] } }
    effect: ask
    sandboxes: [host]
    capabilities: { clock: true }
`;

async function run(invariants: string, ...command: readonly string[]): Promise<Outcome> {
  const folder = await createFolder({
    "sandgate.yaml": `${TOOLS}policy: policy.yaml\n`,
    "policy.yaml": `${POLICY}invariants:\n${invariants}`,
    "tools.mjs": "export const run = () => 'done';",
  });
  const outcome = await sandgate([...command, "--config", join(folder, "sandgate.yaml")]);
  const without = (text: string): string => text.replaceAll(`${folder}/`, "");
  return { ...outcome, stdout: without(outcome.stdout), stderr: without(outcome.stderr) };
}

const prove = (invariants: string): Promise<Outcome> => run(invariants, "policy", "prove");

describe("sandgate policy prove", () => {
  test("prints which invariants are proved", async () => {
    const { code, stdout, stderr } = await prove(`
  - { name: no network, never: { capabilities: { net: any } } }
  - never: { sideEffects: [destructive], sandboxes: [host] }
`);
    expect(stdout).toBe(
      [
        "proved: 'no network', of run_command",
        "proved: 'invariant 2', of no registered tool: it says nothing",
        "2 of 2 invariants are proved\n",
      ].join("\n"),
    );
    expect([code, stderr]).toEqual([0, ""]);
  });

  test("prints the rules and calls that violate others, and exits with 1", async () => {
    const { code, stdout } = await prove(`
  - { name: no shell on the host, never: { tools: [run_command], sandboxes: [host] } }
  - never: { capabilities: { clock: any } }
  - never: { capabilities: { net: any } }
`);
    expect(stdout.split("\n")).toEqual([
      "does not hold: 'no shell on the host'",
      `  policy.yaml:2:5: this rule breaks 'no shell on the host': run_command {"program":"git "} is allowed in host`,
      `  policy.yaml:7:5: this rule breaks 'no shell on the host': run_command {"program":"abcd"} can run, once it is confirmed, in host, with clock`,
      "does not hold: 'invariant 2'",
      `  policy.yaml:7:5: this rule breaks 'invariant 2': run_command {"program":"abcd"} can run, once it is confirmed, in host, with clock`,
      "proved: 'invariant 3', of run_command",
      "1 of 3 invariants are proved",
      "",
    ]);
    expect(code).toBe(1);
  });

  test("refuses a config with other errors", async () => {
    const { code, stderr } = await prove("  - never: { sandboxes: [moon] }\n");
    expect(stderr).toContain("policy.yaml:14:26: must be one of host, wasm");
    expect(code).toBe(2);
  });
});

test.each([
  ["check"],
  ["policy", "explain", "--call", '{"tool":"run_command","arguments":{"program":"git "}}'],
])("sandgate %s refuses a policy whose invariants are not proved", async (...command) => {
  const { code, stderr } = await run("  - never: { sandboxes: [host] }\n", ...command);
  expect(stderr).toContain("policy.yaml:2:5: this rule breaks 'invariant 1': run_command");
  expect(code).toBe(2);
});
