import { expect, test } from "vitest";
import { loadToolset } from "../../../../src/cli/config/toolsets/load-toolset.ts";
import { ConfigError } from "../../../../src/config/problem.ts";
import { ConfigSource } from "../../../../src/config/source.ts";
import { TOOLSET_NAMES } from "../../../../src/toolsets/toolsets.ts";

function load(item: string): readonly string[] {
  const source = ConfigSource.parse(`toolsets:\n  - ${item}\n`, "sandgate.yaml");
  try {
    return loadToolset(source, ["toolsets", 0]).map(({ name }) => name);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
  }
}

test("an item can be the name of a toolset, or its name with options", () => {
  expect(load("basic")).toEqual(["Echo", "Read", "Write"]);
  expect(load("basic: { prefix: my_ }")).toEqual(["my_Echo", "my_Read", "my_Write"]);
});

test.each([
  "constructor",
  "7",
  "{}",
  "[basic]",
  "{ basic: {}, fs: {} }",
  "null",
])("an item %s is refused with the names of the toolsets", (item) => {
  expect(load(item)).toEqual([`2:5 must be one of ${TOOLSET_NAMES.join(", ")}`]);
});

test("an unknown option is refused at its place", () => {
  expect(load("basic: { prefiks: my_ }")).toEqual(["2:14 unknown key 'prefiks': did you mean 'prefix'?"]);
});
