import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
// Inside: calls the tools of the page with a grant for a folder of the test.
import { loadConfig } from "../../../src/cli/config/load-config.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { JsonObject, JsonValue } from "../../../src/json/value.ts";
import { loadPolicyFile } from "../../../src/policy/file/load.ts";
import { allow, type PolicyRequest } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { NOT_ENFORCED } from "../../../src/sandboxes/process/process-report.ts";
import { unavailable } from "../../sandboxes/process/availability.ts";

const DOCS = readFileSync(new URL("../../../docs/programs.md", import.meta.url), "utf8");
const SECURITY = readFileSync(new URL("../../../SECURITY.md", import.meta.url), "utf8");

const configs = Array.from(
  DOCS.matchAll(/```yaml file=sandgate\.yaml\n([\s\S]*?)```/g),
  ([, yaml = ""]) => yaml,
);

test("the rule of docs/programs.md requires namespaces", async () => {
  const [, yaml = ""] = /```yaml\n(rules:\n[\s\S]*?)```/.exec(DOCS) ?? [];
  const folder = mkdtempSync(join(tmpdir(), "programs-"));
  writeFileSync(join(folder, "policy.yaml"), yaml);
  const { policy } = await loadPolicyFile(join(folder, "policy.yaml"));
  rmSync(folder, { recursive: true });
  const tool = { name: "count_lines", tags: [], sideEffects: "none", sandboxes: ["process"] } as const;
  const decision = policy.check({ tool, input: {}, callId: "1", sessionId: "s" } as unknown as PolicyRequest);
  expect(await decision).toMatchObject({ decision: "allow", grant: { isolation: "namespaces" } });
});

test.each(
  Object.entries(NOT_ENFORCED),
)("docs/programs.md and SECURITY.md name what Landlock does not hold: %s", (name, what) => {
  expect(DOCS).toContain(`| ${name} | ${what} |`);
  expect(SECURITY).toContain(`  - ${name}: ${what}\n`);
});

/** Calls the only tool of a config, on a project with two directories. */
async function call(yaml: string, args: JsonObject): Promise<JsonValue | undefined> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "programs-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const directory = join(folder, "project");
  mkdirSync(join(directory, "sub"), { recursive: true });
  writeFileSync(join(directory, "a.txt"), "one\ntwo\n");
  writeFileSync(join(directory, "sub/b.txt"), "-v three\n");
  writeFileSync(join(folder, "sandgate.yaml"), yaml);
  await using sandboxes = await openSandboxes();
  const { tools } = await loadConfig(join(folder, "sandgate.yaml"));
  const registry = new ToolRegistry();
  for (const { tool } of tools) registry.register(tool);
  const execution = await new ToolDispatchEngine().dispatch(
    { id: "1", name: tools[0]?.tool.name ?? "", arguments: args },
    {
      registry,
      policy: { check: () => allow({ sandbox: "process", capabilities: { fs: [{ directory }] } }) },
      sandboxes,
      sessionId: "s",
    },
  );
  return execution?.output;
}

describe.skipIf(unavailable)("docs/programs.md", () => {
  test("has a tool that counts lines", async () => {
    expect(await call(configs[0] ?? "", {})).toBe("2\n");
  });

  test("has a tool with arguments of the call", async () => {
    const yaml = configs[1] ?? "";
    const found = { exitCode: 0, signal: null, stdout: "a.txt:2:two\n", stderr: "", truncated: false };
    expect(await call(yaml, { text: "two", files: ["a.txt", "sub/b.txt"] })).toEqual(found);
    const inFolder = { text: "-v", files: ["b.txt"], folder: "sub" };
    expect(await call(yaml, inFolder)).toEqual({ ...found, stdout: "1:-v three\n" });
    const [, none = ""] = /```json\n([\s\S]*?)```/.exec(DOCS) ?? [];
    expect(await call(yaml, { text: "four", files: ["a.txt"] })).toEqual(JSON.parse(none));
  });
});
