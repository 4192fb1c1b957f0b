import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/cli/config/load-config.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { allow } from "../../src/policy/decision.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { unavailable } from "../sandboxes/process/availability.ts";

test.skipIf(unavailable)("the tool of docs/programs.md runs", async () => {
  const text = readFileSync(new URL("../../docs/programs.md", import.meta.url), "utf8");
  const [, yaml = ""] = /```yaml file=sandgate\.yaml\n([\s\S]*?)```/.exec(text) ?? [];
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
