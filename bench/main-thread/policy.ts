import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PolicyTool } from "../../src/policy/file/checked-rule.ts";
import { loadPolicyFile, loadPolicyText } from "../../src/policy/file/load.ts";
import type { StallCase } from "./turn-meter.ts";

const TOOLS: readonly PolicyTool[] = Array.from({ length: 100 }, (_, index) => ({
  name: `tool_${index}`,
  sandboxes: ["host"],
  sideEffects: "write",
  inputSchema: {
    type: "object",
    additionalProperties: false,
    properties: { path: { type: "string" }, to: { type: "string" }, count: { type: "integer" } },
  },
}));

function ruleAt(index: number): string {
  const tool = `tool_${index % 100}`;
  const allow = "effect: allow, sandboxes: [host]";
  const kinds = [
    `tools: [${tool}], ${allow}, when: { /path: { glob: "dir${index}/**" } }`,
    `tools: [${tool}], effect: deny, when: { /path: { regex: "^a${index}[0-9]+$" } }`,
    `tools: ["tool_${index % 10}*"], effect: ask, when: { /count: { range: { min: ${index} } } }`,
    `tools: [${tool}], ${allow}, when: { /to: { oneOf: [a${index}, b${index}] } }`,
  ];
  return `  - { name: r${index}, ${kinds[index % kinds.length]} }\n`;
}

const TEXT = `rules:\n${Array.from({ length: 1_000 }, (_, index) => ruleAt(index)).join("")}`;

export const cases: readonly StallCase[] = [
  {
    name: "1,000 rules about 100 tools, read from a file",
    prepare: (later) => {
      const directory = mkdtempSync(join(tmpdir(), "sandgate-stalls-"));
      later.defer(() => rmSync(directory, { recursive: true }));
      const path = join(directory, "policy.yaml");
      writeFileSync(path, TEXT);
      return () => loadPolicyFile(path, TOOLS);
    },
  },
  {
    name: "1,000 rules about 100 tools, read from a text",
    prepare: () => () => loadPolicyText(TEXT, "policy.yaml", TOOLS),
  },
];
