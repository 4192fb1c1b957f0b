import { readFileSync } from "node:fs";
import { copyFile, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/router.ts";
import { componentTools } from "../../src/sandboxes/wasm/exports/component-tools.ts";
import { contractComponent } from "../fixtures/wasm/contract-component.ts";

test("docs/wasm-tools.md: its program registers every tool of a component, and they run", async () => {
  const document = readFileSync(new URL("../../docs/wasm-tools.md", import.meta.url), "utf8");
  const [, program] =
    /^```ts\nimport \{ componentTools \} from "sandgate";\n(.*?)^```$/ms.exec(document) ?? [];
  const component = join(await mkdtemp(join(tmpdir(), "sandgate-docs-")), "adder.wasm");
  await copyFile(await contractComponent(), component);
  await using sandboxes = await openSandboxes({ workers: { threads: 1 } });
  const registry = new ToolRegistry();
  const body = program?.replace('"adder.wasm"', JSON.stringify(component)) ?? "";
  const AsyncFunction = (async () => {}).constructor as FunctionConstructor;
  await new AsyncFunction("componentTools", "sandboxes", "registry", body)(
    componentTools,
    sandboxes,
    registry,
  );
  expect(registry.isEmpty).toBe(false);
  const [name = ""] = registry.names;
  const execution = await new ToolDispatchEngine().dispatch(
    { id: "1", name, arguments: {} },
    { registry, sandboxes, sessionId: "docs", policy: { check: () => allow({ sandbox: "wasm" }) } },
  );
  expect(execution?.sandbox).toBe("wasm");
  expect(execution?.error?.code).not.toBe("sandbox_unavailable");
});
