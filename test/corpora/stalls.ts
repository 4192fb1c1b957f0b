import { readdirSync, readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Tool } from "../../src/engine/tool.ts";
import { allow } from "../../src/policy/decision.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { componentTools } from "../../src/sandboxes/wasm/tools/component-tools.ts";
import { isShort, longestTurn } from "../main-thread/turn-meter.ts";

const folder = process.env["SANDGATE_CORPORA"] ?? "";
const limits = { wallTimeMs: 500, memoryBytes: 32 * 2 ** 20 };

const longest: [number, string][] = [];
afterAll(() => {
  const table = longest.sort(([a], [b]) => b - a).slice(0, 10);
  const lines = table.map(([ms, name]) => `  ${ms.toFixed(1).padStart(6)} ms  ${name}`);
  console.log(`stalls: longest turns of the main thread, of ${longest.length} works\n${lines.join("\n")}`);
});

async function expectNoStall(name: string, work: () => Promise<unknown>): Promise<void> {
  const turnMs = await longestTurn(work);
  longest.push([turnMs, name]);
  expect(isShort(turnMs), `${turnMs} ms`).toBe(true);
}

/** Dispatches a tool in sandboxes in which it has not been loaded. The call's deadline also bounds the loading. */
async function loadAndCall(mode: "quickjs" | "wasm", tool: Tool): Promise<void> {
  await using sandboxes = await openSandboxes({ workers: { threads: 1 } });
  const registry = new ToolRegistry().register(tool);
  const ctx = {
    registry,
    policy: { check: () => allow({ sandbox: mode, limits }) },
    sandboxes,
    sessionId: "s",
  };
  await new ToolDispatchEngine().dispatch({ id: "1", name: tool.name, arguments: {} }, ctx);
}

describe("the main thread is not stalled by hostile JavaScript", () => {
  const rows = readFileSync(`${folder}/js/own.jsonl`, "utf8").trim().split("\n");
  test.each(
    rows.map((row): { id: string; title: string; code: string } => JSON.parse(row)),
  )("$id: $title", async ({ id, title, code }) => {
    const tool = { name: "tool", description: "", inputSchema: {} };
    const quick = `export default async () => { const last = await (0, eval)(${JSON.stringify(code)});
      return typeof last === "object" ? last : String(last); }`;
    await expectNoStall(`${id}: ${title}, in a call`, () =>
      loadAndCall("quickjs", { ...tool, quickjs: { source: quick } }),
    );
    await expectNoStall(`${id}: ${title}, as a module`, () =>
      loadAndCall("quickjs", { ...tool, quickjs: { source: `${code}\nexport default () => 1;` } }),
    );
  });
});

describe("the main thread is not stalled by hostile components", () => {
  test.each(
    readdirSync(`${folder}/wasm/hostile`).filter((name) => name.endsWith(".wasm")),
  )("%s", async (name) => {
    const component = `${folder}/wasm/hostile/${name}`;
    await using sandboxes = await openSandboxes({ workers: { threads: 1 } });
    const found = await componentTools(component, sandboxes).catch(() => undefined);
    for (const tool of found?.tools ?? []) {
      await expectNoStall(`${name}: ${tool.name}`, () => loadAndCall("wasm", tool));
    }
    await expectNoStall(`${name}, read`, () => componentTools(component, sandboxes).catch(() => undefined));
  });
});
