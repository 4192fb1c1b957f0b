import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
// Inside: asks the registry of a loaded config for the names of all its tools.
import { loadConfig } from "../../../src/cli/config/load-config.ts";
import type { ToolsetName } from "../../../src/toolsets/toolsets.ts";
import { TOOLSET_TABLE } from "../../toolsets/toolset-table.ts";

const text = readFileSync(new URL("../../../docs/toolsets.md", import.meta.url), "utf8");

const [CONFIG = "", WEB = ""] = Array.from(
  text.matchAll(/```yaml file=sandgate\.yaml\n([\s\S]*?)```/g),
  ([, yaml]) => yaml,
);

function namesOf(...sets: readonly ToolsetName[]): readonly string[] {
  return sets.flatMap((set) => TOOLSET_TABLE[set].map(({ tool }) => tool));
}

test.each([
  [CONFIG, [...namesOf("basic", "fs", "search", "index"), "other_Echo", "other_Read", "other_Write"]],
  [WEB, namesOf("web")],
])("the configs of docs/toolsets.md load", async (yaml, names) => {
  const folder = mkdtempSync(join(tmpdir(), "toolsets-"));
  writeFileSync(join(folder, "sandgate.yaml"), yaml);
  const { problems, registry } = await loadConfig(join(folder, "sandgate.yaml"));
  rmSync(folder, { recursive: true });
  expect(problems).toEqual([]);
  expect(registry.names.toSorted()).toEqual(names.toSorted());
});

test.each(
  Object.entries(TOOLSET_TABLE),
)("the table of docs/toolsets.md names the tools of %s", (name, rows) => {
  const row = text.split("\n").find((line) => line.startsWith(`| \`${name}\` |`)) ?? "";
  expect([...row.matchAll(/`([A-Za-z0-9_]+)`/g)].slice(1).map(([, tool]) => tool)).toEqual(
    rows.map(({ tool }) => tool),
  );
});
