import { afterAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../../src/engine/call/execution.ts";
import { defineTool } from "../../../../src/engine/tool.ts";
import { allow } from "../../../../src/policy/policy.ts";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { contextFor, dispatchTool, recordEvents } from "../../../engine/helpers.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const recorded = recordEvents();

async function run(source: string): Promise<ToolExecution> {
  recorded.seen.length = 0;
  const tool = defineTool({ name: "tool", description: "", inputSchema: {}, quickjs: { source } });
  const policy = { check: () => allow({ sandbox: "quickjs", limits: { wallTimeMs: 5_000 } }) };
  return dispatchTool(await contextFor([tool], { sandboxes, policy, events: recorded.events }));
}

/** Hostile versions of a property that JSON.stringify looks up. */
const HOSTILE_PROTOTYPES: readonly (readonly [string, string])[] = [
  ["throws", "() => { throw new Error('toJSON'); }"],
  ["returns itself", "function () { return this; }"],
  ["returns a large value", "() => 'x'.repeat(8e6)"],
  ["returns a large array", "() => { const a = []; for (let i = 0; i < 1e6; i++) a[i] = i; return a; }"],
];

describe.each(HOSTILE_PROTOTYPES)("a guest whose Array.prototype.toJSON %s", (_case, toJson) => {
  const setUp = `Array.prototype.toJSON = ${toJson};`;

  test("fails with its own error", async () => {
    const { error } = await run(`${setUp} export default () => { throw new RangeError("mine"); };`);
    expect(error).toMatchObject({ code: "execution_error", message: "mine" });
  });

  test("logs its own lines", async () => {
    const { output } = await run(`${setUp} export default () => { console.warn("mine"); return 1; };`);
    expect(output).toBe(1);
    expect(recorded.seen).toContainEqual(
      expect.objectContaining({ type: "tool.log", level: "warn", message: "mine" }),
    );
  });
});
