import { expect, test } from "vitest";
import { formatProblem } from "../../../src/config/problem.ts";
import { ConfigSource } from "../../../src/config/source.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { readPolicy } from "../../../src/policy/file/read.ts";
import { registerToolset } from "../../../src/toolsets/toolsets.ts";

/** The warnings of a policy with one rule, for the tools of the toolsets `fs` and `system`. */
function warningsOf(rule: string): readonly string[] {
  const registry = new ToolRegistry();
  registerToolset(registry, "fs");
  registerToolset(registry, "system");
  const source = ConfigSource.parse(`rules:\n  - ${rule}\n`, "p.yaml");
  return readPolicy(source, [], registry.subjects).warnings.map(formatProblem);
}

test("a rule that grants no files to tools that work on files is a warning, which says what to add", () => {
  const rule = "{ tools: [read_file, list_directory, system_monitor], effect: allow, sandboxes: [host] }";
  expect(warningsOf(rule)).toEqual([
    "p.yaml:2:5: warning: this rule grants no files, which 'read_file', 'list_directory' need: " +
      "add 'capabilities: { fs: [{ workspace: true }] }', with 'write: true' if they change files",
  ]);
  expect(
    warningsOf("{ tools: [read_file], effect: ask, sandboxes: [host], capabilities: { fs: [] } }"),
  ).toContainEqual(expect.stringContaining("this rule grants no files, which 'read_file' needs"));
});

test.each([
  ["grants files", "allow, sandboxes: [host], capabilities: { fs: [{ workspace: true }] }"],
  ["grants nothing", "deny"],
  ["only asks", "ask"],
])("a rule that %s is none", (_, rest) => {
  const warnings = warningsOf(`{ tools: [read_file], effect: ${rest} }`);
  expect(warnings.filter((warning) => warning.includes("files"))).toEqual([]);
});

test("a rule is none for tools that use no files, or run elsewhere", () => {
  expect(warningsOf("{ tools: [system_monitor], effect: allow, sandboxes: [host] }")).toEqual([]);
});
