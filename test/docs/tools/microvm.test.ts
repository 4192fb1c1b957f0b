import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
// Inside: calls the tool of the page under a policy of the test, since the page's config has none.
import { loadConfig } from "../../../src/cli/config/load-config.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { allow } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { unavailable } from "../../sandboxes/microvm/availability.ts";

test.skipIf(unavailable)("the tool of docs/microvm.md runs", { timeout: 300_000 }, async () => {
  const text = readFileSync(new URL("../../../docs/microvm.md", import.meta.url), "utf8");
  const [, yaml = ""] = /```yaml file=sandgate\.yaml\n([\s\S]*?)```/.exec(text) ?? [];
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "microvm-docs-")));
  mkdirSync(join(folder, "image"));
  writeFileSync(join(folder, "sandgate.yaml"), yaml);
  await using sandboxes = await openSandboxes({ microvm: { ready: 0 } });
  const { tools } = await loadConfig(join(folder, "sandgate.yaml"));
  const registry = new ToolRegistry();
  for (const { tool } of tools) registry.register(tool);
  const execution = await new ToolDispatchEngine().dispatch(
    { id: "1", name: "count_words", arguments: { text: "one two" } },
    { registry, policy: { check: () => allow({ sandbox: "microvm" }) }, sandboxes, sessionId: "s" },
  );
  rmSync(folder, { recursive: true });
  expect(execution?.output).toBe(2);
});
