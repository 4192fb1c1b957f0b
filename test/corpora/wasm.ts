import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/router.ts";
import { contractComponent } from "../fixtures/wasm/contract-component.ts";

interface Hostile {
  readonly id: string;
  readonly desc: string;
}

const folder = `${process.env["SANDGATE_CORPORA"]}/wasm`;
const components = readFileSync(`${folder}/hostile.jsonl`, "utf8")
  .trim()
  .split("\n")
  .map((line): Hostile => JSON.parse(line));

const sandboxes = await openSandboxes({ workers: { threads: 2 } });
afterAll(() => sandboxes.close());
const engine = new ToolDispatchEngine();
const limits = { wallTimeMs: 500, memoryBytes: 32 * 2 ** 20 };

async function run(component: string, tool = "run"): ReturnType<ToolDispatchEngine["dispatch"]> {
  const definition = { name: "tool", description: "", inputSchema: {}, wasm: { component, tool } };
  const registry = new ToolRegistry().register(definition);
  const policy = { check: () => allow({ sandbox: "wasm", limits }) };
  const ctx = { registry, policy, sandboxes, sessionId: "corpus" };
  return engine.dispatch({ id: "1", name: "tool", arguments: {} }, ctx);
}

// None of them exports `sandgate:tool/guest`, the only way to be a tool so far: each is refused.
describe("hostile components are refused or contained", () => {
  test.each(components)("$id: $desc", async ({ id }) => {
    const execution = await run(`${folder}/hostile/${id}.wasm`);
    expect(execution?.success).toBe(false);
    expect(execution?.receipt.used.wallTimeMs).toBeLessThan(limits.wallTimeMs + 250);
    const next = await run(await contractComponent(), "echo");
    expect(next?.output).toEqual({});
  });
});
