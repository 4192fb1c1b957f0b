import { readdirSync, readFileSync } from "node:fs";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Tool } from "../../src/engine/tool.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { componentTools } from "../../src/sandboxes/wasm/tools/component-tools.ts";
import type { StallCase } from "./turn-meter.ts";

const limits = { wallTimeMs: 500, memoryBytes: 32 * 2 ** 20 };

/** Dispatches a tool in sandboxes in which it has not been loaded. The call's deadline also bounds the loading. */
async function loadAndCall(mode: "quickjs" | "wasm", tool: Tool): Promise<void> {
  await using sandboxes = await openSandboxes({ workers: { threads: 1 } });
  const registry = new ToolRegistry().register(tool);
  const policy = { check: () => allow({ sandbox: mode, limits }) };
  const ctx = { registry, policy, sandboxes, sessionId: "s" };
  await new ToolDispatchEngine().dispatch({ id: "1", name: tool.name, arguments: {} }, ctx);
}

function javaScript(name: string, source: string): StallCase {
  const tool = { name: "tool", description: "", inputSchema: {}, quickjs: { source } };
  return { name, prepare: () => () => loadAndCall("quickjs", tool) };
}

/** A component that cannot be read has no tools. */
const readComponent = async (path: string): Promise<readonly Tool[]> => {
  await using sandboxes = await openSandboxes({ workers: { threads: 1 } });
  return (await componentTools(path, sandboxes).catch(() => undefined))?.tools ?? [];
};

/** The cases of hostile programs in `js/own.jsonl` and of hostile components in `wasm/hostile`. */
export async function casesIn(folder: string): Promise<readonly StallCase[]> {
  const cases: StallCase[] = [];
  for (const row of readFileSync(`${folder}/js/own.jsonl`, "utf8").trim().split("\n")) {
    const { id, title, code }: { id: string; title: string; code: string } = JSON.parse(row);
    const inCall = `export default async () => { const last = await (0, eval)(${JSON.stringify(code)});
      return typeof last === "object" ? last : String(last); }`;
    cases.push(javaScript(`${id}: ${title}, in a call`, inCall));
    cases.push(javaScript(`${id}: ${title}, as a module`, `${code}\nexport default () => 1;`));
  }
  for (const name of readdirSync(`${folder}/wasm/hostile`).filter((file) => file.endsWith(".wasm"))) {
    const path = `${folder}/wasm/hostile/${name}`;
    for (const tool of await readComponent(path)) {
      cases.push({ name: `${name}: ${tool.name}`, prepare: () => () => loadAndCall("wasm", tool) });
    }
    cases.push({ name: `${name}, read`, prepare: () => () => readComponent(path) });
  }
  return cases;
}
