import { strictEqual } from "node:assert";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LoadedPolicy, loadPolicyFile, type PolicyTool } from "sandgate";
import { parseDocument } from "yaml";
import type { OpenCase, Question } from "../harness/case.ts";

const RULES = 10_000;
const TOOLS = 100;

const INVARIANTS = `invariants:
  - never: { tools: [tool_1, tool_2], sandboxes: [host] }
  - never: { capabilities: { net: any }, sideEffects: [read] }
  - always: { sideEffects: [destructive], effect: ask }
`;

/** Loading a large policy file and proving its invariants, compared to parsing its YAML alone. */
export const prove: Question = {
  name: "policy-prove",
  cases: [
    {
      name: `yaml: parse ${RULES} rules`,
      open: () => {
        const text = textOf(true);
        return { run: () => parseDocument(text).errors.length, check: (errors) => strictEqual(errors, 0) };
      },
    },
    { name: "loadPolicyFile, without tools", open: () => openLoad(false) },
    { name: `loadPolicyFile, with ${TOOLS} tools and 3 invariants`, open: () => openLoad(true) },
  ],
};

function openLoad(isProved: boolean): OpenCase {
  const folder = mkdtempSync(join(tmpdir(), "sandgate-bench-"));
  const file = join(folder, "policy.yaml");
  writeFileSync(file, textOf(isProved));
  const tools = isProved ? Array.from({ length: TOOLS }, (_, index) => toolAt(index)) : undefined;
  return {
    run: () => loadPolicyFile(file, tools),
    check: (loaded) => {
      const { proofs, warnings } = loaded as LoadedPolicy;
      strictEqual(warnings.length, 0);
      strictEqual(proofs.filter(({ verdict }) => verdict === "proved").length, isProved ? 3 : 0);
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}

function textOf(isProved: boolean): string {
  const rules = Array.from(
    { length: RULES },
    (_, index) =>
      `- {tools: [tool_${index % TOOLS}], when: {/path: {equals: item ${index}}}, effect: allow, sandboxes: [quickjs]}\n`,
  );
  return `rules:\n${rules.join("")}${isProved ? INVARIANTS : ""}`;
}

function toolAt(index: number): PolicyTool {
  return {
    name: `tool_${index}`,
    sandboxes: ["host", "quickjs"],
    sideEffects: index % 2 === 0 ? "read" : "write",
    inputSchema: { type: "object", properties: { path: { type: "string" } } },
  };
}
