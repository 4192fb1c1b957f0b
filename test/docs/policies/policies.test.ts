import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ConfigSource } from "../../../src/config/source.ts";
import { readPolicy } from "../../../src/policy/file/read.ts";
// Inside: compares the page with all conditions, which only their shape lists.
import { CONDITION_DEFINITIONS } from "../../../src/policy/rule/conditions/condition-shape.ts";
import { blocksOf } from "../snippets.ts";

const text = readFileSync("docs/policies.md", "utf8");
const examples = blocksOf("docs/policies.md", "yaml");

describe("docs/policies.md", () => {
  test("has examples", () => expect(examples.length).toBeGreaterThan(2));

  test.each(
    examples.map((yaml) => [yaml.split("\n")[1]?.trim() ?? "", yaml]),
  )("the example that begins with '%s' is a valid policy", (_start, yaml) => {
    expect(readPolicy(ConfigSource.parse(yaml, "policies.md"), []).warnings).toEqual([]);
  });

  test("names every condition", () => {
    const { condition } = CONDITION_DEFINITIONS as { condition: { properties: object } };
    const section = text.slice(text.indexOf("## Conditions"), text.indexOf("## Grants that"));
    for (const name of Object.keys(condition.properties)) expect(section).toContain(`\`${name}\``);
  });
});
