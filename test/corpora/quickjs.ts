import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/router.ts";

interface Snippet {
  readonly id: string;
  readonly title: string;
  readonly code: string;
}

const snippets = readFileSync(`${process.env["SANDGATE_CORPORA"]}/js/own.jsonl`, "utf8")
  .trim()
  .split("\n")
  .map((line): Snippet => JSON.parse(line));

const sandboxes = await openSandboxes({ workers: { threads: 2 } });
afterAll(() => sandboxes.close());
const engine = new ToolDispatchEngine();
const policy = {
  check: () => allow({ sandbox: "quickjs", limits: { wallTimeMs: 500, memoryBytes: 32 * 2 ** 20 } }),
};

async function run(source: string): ReturnType<ToolDispatchEngine["dispatch"]> {
  const tool = { name: "snippet", description: "", inputSchema: {}, quickjs: { source } };
  const registry = new ToolRegistry().register(tool);
  return engine.dispatch(
    { id: "1", name: "snippet", arguments: {} },
    { registry, policy, sandboxes, sessionId: "s" },
  );
}

describe("hostile JavaScript is contained", () => {
  test.each(snippets)("$id: $title", async ({ code }) => {
    // Snippets are scripts: an indirect eval runs one as it was meant, and gives its last value.
    const execution = await run(
      `export default () => { const last = (0, eval)(${JSON.stringify(code)}); return String(last); }`,
    );
    expect(execution?.receipt.used.wallTimeMs).toBeLessThan(500 + 250);
    const next = await run("export default () => 'fine'");
    expect(next?.output).toBe("fine");
  });
});
