import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { componentTools } from "../../src/sandboxes/wasm/tools/component-tools.ts";
import { contractComponent } from "../fixtures/wasm/contract-component.ts";

interface Hostile {
  readonly id: string;
  readonly desc: string;
  readonly expect: string;
}

const folder = `${process.env["SANDGATE_CORPORA"]}/wasm`;
const components = readFileSync(`${folder}/hostile.jsonl`, "utf8")
  .trim()
  .split("\n")
  .map((line): Hostile => JSON.parse(line));

const sandboxes = await openSandboxes({ workers: { threads: 2 } });

/** How many components were refused, by reason. */
const refusals = new Map<string, number>();

function countRefusal(message: string): void {
  const reason = message.replaceAll(/'[^']*'|\d+/g, "…");
  refusals.set(reason, (refusals.get(reason) ?? 0) + 1);
}

afterAll(async () => {
  for (const [reason, count] of refusals) console.log(`refused: ${count} × ${reason}`);
  console.log(
    `refused: ${[...refusals.values()].reduce((sum, count) => sum + count, 0)} of ${components.length}`,
  );
  await sandboxes.close();
});
const engine = new ToolDispatchEngine();
/** What does not end at its deadline does not end. `npm run test:guests` measures how late it ends. */
const GRACE_MS = 3_000;
const limits = { wallTimeMs: 500, memoryBytes: 32 * 2 ** 20 };

async function dispatch(
  tool: Parameters<ToolRegistry["register"]>[0],
  input: object,
): Promise<ToolExecution> {
  const registry = new ToolRegistry().register({ ...tool, name: "tool" });
  const policy = { check: () => allow({ sandbox: "wasm", limits }) };
  const ctx = { registry, policy, sandboxes, sessionId: "corpus" };
  const execution = await engine.dispatch({ id: "1", name: "tool", arguments: { ...input } }, ctx);
  if (execution === null) throw new Error("the call has no result");
  return execution;
}

/** How each kind of hostile component ends. */
const ENDS: Record<string, (execution: ToolExecution) => void> = {
  deadline: (execution) => expect(execution.error?.code).toBe("timeout"),
  trap: (execution) => expect(execution.error).toMatchObject({ code: "execution_error", effect: "none" }),
  trap_or_replacement: (execution) => expect(execution.error?.code).toBe("execution_error"),
  memory_cap: ({ success, error, receipt }) => {
    if (!success) expect(error?.code).toBe("limit_exceeded");
    expect(receipt.used.memoryBytes ?? 0).toBeLessThanOrEqual(limits.memoryBytes);
  },
  ok_or_reject: ({ success, error }) => expect(success || error?.code === "sandbox_unavailable").toBe(true),
  reject_contract: ({ success, output }) => expect(success && output === "NaN").toBe(true),
};

describe("hostile components are refused or contained", () => {
  test.each(components)("$id: $desc", async ({ id, expect: end }) => {
    const component = `${folder}/hostile/${id}.wasm`;
    const found = await componentTools(component, sandboxes).catch((error: Error) => error);
    if (found instanceof Error) {
      countRefusal(found.message);
      expect(end).toBe("reject_link");
      expect(found.message).toMatch(/it imports 'evil:/);
    } else {
      const [tool] = found.tools;
      if (tool === undefined) {
        expect(id).toBe("no-exports");
      } else {
        const takesText = JSON.stringify(tool.inputSchema).includes('"string"');
        const input = Object.keys(tool.inputSchema["properties"] ?? {}).map((name) => [
          name,
          takesText ? "a" : 1e6,
        ]);
        const execution = await dispatch(tool, Object.fromEntries(input));
        console.log(
          `${id}: ${execution.success ? JSON.stringify(execution.output) : execution.error?.message}`,
        );
        if (execution.error?.code === "sandbox_unavailable") countRefusal(execution.error.message);
        ENDS[end]?.(execution);
        expect(execution.receipt.used.wallTimeMs).toBeLessThan(limits.wallTimeMs + GRACE_MS);
      }
    }
    const echo = {
      description: "",
      inputSchema: {},
      wasm: { component: await contractComponent(), tool: "echo" },
    };
    expect(await dispatch({ ...echo, name: "echo" }, {})).toMatchObject({ success: true, output: {} });
  });
});
