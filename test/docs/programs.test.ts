import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/cli/config/load-config.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { allow } from "../../src/policy/decision.ts";
import { loadPolicyFile } from "../../src/policy/file/load.ts";
import type { PolicyRequest } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { NOT_HELD } from "../../src/sandboxes/process/landlock/not-held.ts";
import { unavailable } from "../sandboxes/process/availability.ts";

const DOCS = readFileSync(new URL("../../docs/programs.md", import.meta.url), "utf8");
const SECURITY = readFileSync(new URL("../../SECURITY.md", import.meta.url), "utf8");

test("the rule of docs/programs.md requires namespaces", async () => {
  const [, yaml = ""] = /```yaml\n(rules:\n[\s\S]*?)```/.exec(DOCS) ?? [];
  const folder = mkdtempSync(join(tmpdir(), "programs-"));
  writeFileSync(join(folder, "policy.yaml"), yaml);
  const { policy } = await loadPolicyFile(join(folder, "policy.yaml"));
  rmSync(folder, { recursive: true });
  const tool = { ...{ name: "count_lines", tags: [], sideEffects: "none" }, sandboxes: ["process"] } as const;
  const decision = policy.check({ tool, input: {}, callId: "1", sessionId: "s" } as unknown as PolicyRequest);
  expect(await decision).toMatchObject({ decision: "allow", grant: { isolation: "namespaces" } });
});

test.each(
  Object.entries(NOT_HELD),
)("docs/programs.md and SECURITY.md name what Landlock does not hold: %s", (name, what) => {
  expect(DOCS).toContain(`| ${name} | ${what} |`);
  expect(SECURITY).toContain(`  - ${name}: ${what}\n`);
});

test.skipIf(unavailable)("the tool of docs/programs.md runs", async () => {
  const [, yaml = ""] = /```yaml file=sandgate\.yaml\n([\s\S]*?)```/.exec(DOCS) ?? [];
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "programs-")));
  const directory = join(folder, "project");
  mkdirSync(directory);
  writeFileSync(join(directory, "a.txt"), "one\ntwo\n");
  writeFileSync(join(folder, "sandgate.yaml"), yaml);
  await using sandboxes = await openSandboxes();
  const { tools } = await loadConfig(join(folder, "sandgate.yaml"));
  const registry = new ToolRegistry();
  for (const { tool } of tools) registry.register(tool);
  const execution = await new ToolDispatchEngine().dispatch(
    { id: "1", name: "count_lines", arguments: {} },
    {
      registry,
      policy: { check: () => allow({ sandbox: "process", capabilities: { fs: [{ directory }] } }) },
      sandboxes,
      sessionId: "s",
    },
  );
  rmSync(folder, { recursive: true });
  expect(execution?.output).toBe("2\n");
});
