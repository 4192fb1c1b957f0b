import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { defineTool } from "../../../src/engine/tool.ts";
import { allow } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { contextFor, dispatchTool } from "../../engine/helpers.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const SPIN = "const spin = (ms) => { const end = Date.now() + ms; while (Date.now() < end); };";

async function run(files: Record<string, string>, wallTimeMs: number): Promise<ToolExecution> {
  const folder = await mkdtemp(join(tmpdir(), "sandgate-deadline-"));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const quickjs = { file: join(folder, Object.keys(files)[0] ?? "") };
  const tool = defineTool({ name: "tool", description: "", inputSchema: {}, quickjs });
  const policy = { check: () => allow({ sandbox: "quickjs", limits: { wallTimeMs } }) };
  return dispatchTool(await contextFor([tool], { sandboxes, policy }));
}

describe("the wall time of a call bounds loading and running together", () => {
  test("a tool whose loading takes most of the wall time has the rest to run", async () => {
    const source = `${SPIN} spin(600); export default () => { spin(600); return "late"; };`;
    const execution = await run({ "tool.js": source }, 1_000);
    expect(execution).toMatchObject({ success: false, error: { code: "timeout" } });
  });

  test("a tool whose loading and running fit into the wall time succeeds, and the receipt counts both", async () => {
    const source = `${SPIN} spin(100); export default () => { spin(100); return "in time"; };`;
    const execution = await run({ "tool.js": source }, 10_000);
    expect(execution.output).toBe("in time");
    expect(execution.receipt.used.wallTimeMs).toBeGreaterThan(195);
  });

  test("imports that restart the evaluation do not extend the wall time", async () => {
    const modules = Array.from({ length: 12 }, (_, i) => [`m${i}.js`, `export const n = ${i};`]);
    const imports = modules.map(([name]) => `spin(150); await import("./${name}");`).join("\n");
    const files = {
      "tool.js": `${SPIN}\n${imports}\nexport default () => "late";`,
      ...Object.fromEntries(modules),
    };
    const execution = await run(files, 1_000);
    expect(execution).toMatchObject({ success: false, error: { code: "timeout" } });
    // With a wall time for each of them, 4 s: six evaluations of 150 to 900 ms, and one that is ended.
    expect(execution.receipt.used.wallTimeMs).toBeLessThan(3_500);
  });
});
