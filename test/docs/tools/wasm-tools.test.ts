import { readFileSync } from "node:fs";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { allow } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { componentTools } from "../../../src/sandboxes/wasm/tools/component-tools.ts";
import { sandgate } from "../../cli/sandgate.ts";
import { builtProject } from "../../examples/built-project.ts";
import { contractComponent } from "../../fixtures/wasm/contract-component.ts";

const document = readFileSync(new URL("../../../docs/wasm-tools.md", import.meta.url), "utf8");
/** The text of the document's code blocks in a language. */
const blocks = (language: string): readonly string[] =>
  [...document.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))].map(
    ([, text]) => text ?? "",
  );

const folder = await mkdtemp(join(tmpdir(), "sandgate-docs-"));
vi.stubEnv("XDG_CACHE_HOME", join(folder, "cache"));
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

test("docs/wasm-tools.md: its program registers every tool of a component, and they run", async () => {
  const [program = ""] = blocks("ts");
  const component = join(folder, "adder.wasm");
  await copyFile(await contractComponent(), component);
  await using sandboxes = await openSandboxes({ workers: { threads: 1 } });
  const registry = new ToolRegistry();
  const body = program
    .replace('import { componentTools } from "sandgate/components";\n', "")
    .replace('"adder.wasm"', JSON.stringify(component));
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

const javascript = await builtProject("javascript");
const shout = await builtProject("javascript", {
  file: "tool.js",
  text: (blocks("js")[0] ?? "").replace(
    "if (typeof text",
    'if (text === "crash") throw new Error("a secret of its own");\n    if (typeof text',
  ),
});
if ("missing" in javascript)
  console.warn(`the JavaScript of docs/wasm-tools.md is skipped: ${javascript.missing}`);
describe.skipIf("missing" in javascript)("docs/wasm-tools.md: its JavaScript", () => {
  test("is a project whose commands do what they say", async () => {
    const component = "component" in javascript ? javascript.component : "";
    const [create = "", use = ""] = blocks("sh");
    expect(create.split("\n")[0]).toBe("sandgate tool new --wasm csv");
    const [check = "", run = ""] = use.replaceAll("dist/tool.wasm", component).trim().split("\n");
    const checked = await sandgate(check.split(" ").slice(1));
    expect(checked).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("'parse_csv'") });
    const [command = "", input = ""] = run.split(" --input ");
    const args = [...command.split(" ").slice(1), "--input", input.slice(1, -1)];
    expect(JSON.parse((await sandgate(args)).stdout)).toMatchObject({ output: [{ name: "Ada", age: "36" }] });
    const policy = join(folder, "policy.yaml");
    await writeFile(policy, blocks("yaml")[0] ?? "");
    const granted = await sandgate([...args, "--policy", policy]);
    expect(JSON.parse(granted.stdout)).toMatchObject({
      success: true,
      receipt: { enforced: { wallTimeMs: 2_000, memoryBytes: 32 * 2 ** 20 } },
    });
  });

  test("builds, fails with the tool's own words, and crashes without any", async () => {
    const call = async (input: string): Promise<unknown> => {
      const component = "component" in shout ? shout.component : "";
      return JSON.parse((await sandgate(["tool", "run", component, "--input", input])).stdout);
    };
    expect(await call('{"text":"Hello"}')).toMatchObject({
      output: "HELLO",
      log: [{ level: "debug", message: "call call" }],
    });
    expect(await call("{}")).toMatchObject({
      error: { code: "execution_error", message: "there is no text" },
      detail: ["error code invalid-input"],
    });
    const crashed = await call('{"text":"crash"}');
    expect(crashed).toMatchObject({ success: false, error: { code: "execution_error", effect: "none" } });
    expect(JSON.stringify(crashed)).not.toContain("secret");
  });
});

const c = await builtProject("c", { file: "tool.c", text: blocks("c")[0] ?? "" });
if ("missing" in c) console.warn(`the C of docs/wasm-tools.md is skipped: ${c.missing}`);
test.skipIf("missing" in c)("docs/wasm-tools.md: its C builds and runs", async () => {
  const component = "component" in c ? c.component : "";
  const { stdout } = await sandgate(["tool", "run", component, "--input", '{"a":1}']);
  expect(JSON.parse(stdout)).toMatchObject({
    output: "hello",
    log: [{ level: "info", message: 'input: {"a":1}' }],
  });
});
