import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/cli/config/load-config.ts";
import { TOOLSET_TABLE } from "../toolsets/toolset-table.ts";

const text = readFileSync(new URL("../../docs/toolsets.md", import.meta.url), "utf8");

test("the config of docs/toolsets.md loads", async () => {
  const [, yaml = ""] = /```yaml file=sandgate\.yaml\n([\s\S]*?)```/.exec(text) ?? [];
  const folder = mkdtempSync(join(tmpdir(), "toolsets-"));
  writeFileSync(join(folder, "sandgate.yaml"), yaml);
  const { problems, registry } = await loadConfig(join(folder, "sandgate.yaml"));
  rmSync(folder, { recursive: true });
  expect(problems).toEqual([]);
  const { basic, fs, search, index } = TOOLSET_TABLE;
  const names = [basic, fs, search, index].flatMap((rows) => rows.map(({ tool }) => tool));
  expect(registry.names.toSorted()).toEqual([...names, "other_Echo", "other_Read", "other_Write"].sort());
});

test.each(
  Object.entries(TOOLSET_TABLE),
)("the table of docs/toolsets.md names the tools of %s", (name, rows) => {
  const row = text.split("\n").find((line) => line.startsWith(`| \`${name}\` |`)) ?? "";
  expect([...row.matchAll(/`([A-Za-z_]+)`/g)].slice(1).map(([, tool]) => tool)).toEqual(
    rows.map(({ tool }) => tool),
  );
});
