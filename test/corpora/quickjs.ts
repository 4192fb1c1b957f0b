import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ERROR_CODES } from "../../src/engine/errors.ts";
import type { ToolExecution } from "../../src/engine/execution.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/router.ts";

interface Snippet {
  readonly id: string;
  readonly title: string;
  readonly code: string;
  readonly expect: string;
}

const snippets = readFileSync(`${process.env["SANDGATE_CORPORA"]}/js/own.jsonl`, "utf8")
  .trim()
  .split("\n")
  .map((line): Snippet => JSON.parse(line));

const WALL_TIME_MS = 500;
const CANARY = "CANARY-7f3a";
process.env["SANDGATE_CANARY"] = CANARY;

const sandboxes = await openSandboxes({ workers: { threads: 2 } });
afterAll(() => sandboxes.close());
const engine = new ToolDispatchEngine();
const limits = { wallTimeMs: WALL_TIME_MS, memoryBytes: 32 * 2 ** 20 };
const policy = { check: () => allow({ sandbox: "quickjs", limits }) };

async function run(source: string): Promise<ToolExecution> {
  const tool = { name: "snippet", description: "", inputSchema: {}, quickjs: { source } };
  const registry = new ToolRegistry().register(tool);
  const call = { id: "1", name: "snippet", arguments: {} };
  const execution = await engine.dispatch(call, { registry, policy, sandboxes, sessionId: "s" });
  if (execution === null) throw new Error("nobody aborts here");
  return execution;
}

/** The globals that docs/javascript-tools.md promises, and no others. */
const documented = /The globals are (.*?)\./s.exec(
  readFileSync(new URL("../../docs/javascript-tools.md", import.meta.url), "utf8"),
)?.[1];

describe("hostile JavaScript is contained", () => {
  let firstRss: number | undefined;

  test.each(snippets)("$id: $title", async ({ code, expect: expected, title }) => {
    // Snippets are scripts: an indirect eval runs one as it was meant, and gives its last value.
    const execution = await run(`
      export default async () => {
        const last = await (0, eval)(${JSON.stringify(code)});
        return typeof last === "object" ? last : String(last);
      }`);
    expect(execution.receipt.used.wallTimeMs).toBeLessThan(WALL_TIME_MS + 250);
    const text = JSON.stringify(execution);
    expect(text).not.toContain(CANARY);
    if (execution.error !== undefined) {
      expect(ERROR_CODES).toContain(execution.error.code);
      expect(execution.error.effect).toBe("none");
    } else if (expected === "SAFE") {
      expect(execution.output).toMatch(/^SAFE/);
    } else if (expected === "documented" && execution.output !== "SAFE") {
      expect(documented).toContain(`\`${title.replace("global ", "")}\``);
    }
    for (let call = 0; call < 100; call++) {
      expect((await run("export default () => 'fine'")).output).toBe("fine");
    }
    firstRss ??= process.memoryUsage().rss;
  });

  test("and the process has not grown", () => {
    expect((process.memoryUsage().rss - (firstRss ?? 0)) / 2 ** 20).toBeLessThan(256);
  });
});
