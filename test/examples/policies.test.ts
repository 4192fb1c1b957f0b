import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
// Inside: compares the folder with the names that `sandgate init` takes, which only its definition lists.
import { POLICIES } from "../../src/cli/definitions/tool.ts";
import { readConfigFile } from "../../src/config/source.ts";
import { createFolder, sandgate } from "../cli/sandgate.ts";

const folder = join(import.meta.dirname, "../../examples/policies");
const names = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

test("init offers every policy of the gallery", () => {
  expect([...POLICIES].sort()).toEqual(names.sort());
});

test.each([
  [
    "coding-agent",
    "effect: ask\n      when: { /command: { not: { oneOf: [git status, git diff, git log --oneline -20] } } }\n      question: Run this command?",
    "effect: allow",
    "untrusted-to-execution",
  ],
  ["coding-agent", 'prefix: "https://nodejs.org/api/"', 'prefix: "https://nodejs.org"', "secret-to-outsider"],
  ["payments", "/recipient: { from: [user] }", "/recipient: { regex: . }", "money-to-strangers"],
])("An attack on the policy '%s' succeeds with %j as %j", async (name, sound, hole, end) => {
  const text = readFileSync(join(folder, name, "sandgate.yaml"), "utf8");
  expect(text).toContain(sound);
  const place = await createFolder({
    "sandgate.yaml": text.replace(sound, hole),
    "tools.mjs": readFileSync(join(folder, name, "tools.mjs"), "utf8"),
  });
  const argv = ["policy", "attack", "--bad", end, "--config", join(place, "sandgate.yaml")];
  expect((await sandgate(argv)).code).toBe(1);
});

test("A project begins with a policy of the gallery", async () => {
  const place = join(await createFolder({}), "new");
  expect((await sandgate(["init", place, "--policy", "payments"])).code).toBe(0);
  expect(readdirSync(place).sort()).toEqual(readdirSync(join(folder, "payments")).sort());
  expect((await sandgate(["init", place, "--policy", "no-such"])).code).toBe(2);
});

describe.each(names)("The policy '%s' of the gallery", (name) => {
  const config = join(folder, name, "sandgate.yaml");

  test.each([
    ["check"],
    ["policy", "test"],
    ["policy", "prove"],
    ["policy", "attack"],
  ])("passes sandgate %s %s", async (...command) => {
    const { code, stdout, stderr } = await sandgate([...command, "--config", config]);
    expect([code, stdout, stderr].join("\n")).toMatch(/^0\n/);
  });

  test("has at most 40 rules, and a page", async () => {
    const source = await readConfigFile(config);
    expect((source.at(["policy", "rules"]) as readonly unknown[]).length).toBeLessThanOrEqual(40);
    expect(readdirSync(join(folder, name))).toContain("README.md");
  });
});
