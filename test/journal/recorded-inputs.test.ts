import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { RecordedInputs } from "../../src/journal/recorded-inputs.ts";
import { RulePolicy } from "../../src/policy/rule/rule-policy.ts";
import { hostTool } from "../engine/helpers.ts";
import { TemporaryDirectory } from "./records.ts";

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex");

test.each([
  ["text", "no JSON"],
  ["null", "null"],
  ["a tool without implementations", JSON.stringify({ name: "other", inputSchema: {} })],
  ["a tool whose implementations are text", JSON.stringify({ name: "other", implementations: "x" })],
  ["a tool without a name", JSON.stringify({ implementations: {}, inputSchema: {} })],
])("A file among the tools of a journal that has %s under its digest hides no other one", async (_, text) => {
  using temporary = new TemporaryDirectory();
  const kept = new RecordedInputs(temporary.path);
  const { subjects } = new ToolRegistry().register(hostTool(() => 1, { name: "read_file" }));
  await kept.store(new RulePolicy({ rules: [] }), subjects);
  for (const folder of ["tools", "policies"])
    writeFileSync(join(temporary.path, folder, `${digestOf(text)}.json`), text);
  expect([...(await kept.tools()).values()].map(({ name }) => name)).toEqual(["read_file"]);
  await kept.policy(digestOf(text));
});

test("A pipe among the tools and policies of a journal does not block", async () => {
  using temporary = new TemporaryDirectory();
  const digest = digestOf("x");
  for (const folder of ["tools", "policies"]) {
    mkdirSync(join(temporary.path, folder));
    execFileSync("mkfifo", [join(temporary.path, folder, `${digest}.json`)]);
  }
  const kept = new RecordedInputs(temporary.path);
  expect([(await kept.tools()).size, await kept.policy(digest)]).toEqual([0, undefined]);
});
