import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
// Inside: loads items of `toolsets` one by one, without a config around them.
import { loadToolset } from "../../../../../src/cli/config/tools/load-tools.ts";
import { ConfigError } from "../../../../../src/config/problem.ts";
import { ConfigSource } from "../../../../../src/config/source.ts";
import { ToolRegistry } from "../../../../../src/engine/registry.ts";
import { TOOLSET_NAMES } from "../../../../../src/toolsets/toolsets.ts";

async function load(item: string, folder = ""): Promise<readonly string[]> {
  const source = ConfigSource.parse(`toolsets:\n  - ${item}\n`, join(folder, "sandgate.yaml"));
  try {
    return (await loadToolset(source, ["toolsets", 0], new ToolRegistry())).map(({ name }) => name);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
  }
}

test("an item can be the name of a toolset, or its name with options", async () => {
  expect(await load("basic")).toEqual(["Echo", "Read", "Write"]);
  expect(await load("basic: { prefix: my_ }")).toEqual(["my_Echo", "my_Read", "my_Write"]);
});

test.each([
  "constructor",
  "7",
  "{}",
  "[basic]",
  "{ basic: {}, fs: {} }",
  "null",
])("an item %s is refused with the names of the toolsets", async (item) => {
  expect(await load(item)).toEqual([`2:5 must be one of ${TOOLSET_NAMES.join(", ")}`]);
});

test("an unknown option is refused at its place", async () => {
  expect(await load("basic: { prefiks: my_ }")).toEqual([
    "2:14 unknown key 'prefiks': did you mean 'prefix'?",
  ]);
});

const MODULE = `export default { get: () => 1, update: () => true, switchBackend: () => true };
export const part = { get: () => 1 };`;

test("the functions of settings are those of a module's export", async () => {
  const folder = mkdtempSync(join(tmpdir(), "settings-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "settings.mjs"), MODULE);
  const names = ["get_setting", "update_setting", "switch_backend"];
  expect(await load("settings: { module: settings.mjs }", folder)).toEqual(names);
  expect(await load("settings: { module: settings.mjs, export: part }", folder)).toEqual([
    "2:5 The toolset 'settings' needs a function update",
  ]);
  expect(await load("settings: { module: missing.mjs }", folder)).toEqual([
    "2:25 the module cannot be found",
  ]);
  expect(await load("settings", folder)).toEqual([
    "2:5 module is missing: the module whose export has get, update and switchBackend",
  ]);
});

test("the time of a search is a duration", async () => {
  expect(await load("search: { time: 5s }")).toEqual(["search_files", "grep", "find_references"]);
  expect(await load("search: { time: soon }")).toEqual([
    "2:21 must be a duration such as 250ms, 5s or 2m, or a number of milliseconds",
  ]);
});
