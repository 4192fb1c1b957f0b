/** A process that makes the calls of one case, and tells what it took: the parent sends the name. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { EventStream } from "../../../src/engine/call/events.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { defineTool } from "../../../src/engine/tool.ts";
import { allow } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { MEMORY_CASES } from "./cases.ts";
import type { MemoryCase, MemoryReport } from "./memory-case.ts";

const MIB = 2 ** 20;

/** How long a nested call takes: all calls wait for theirs at the same time. */
const NESTED_MS = 500;

const SAMPLE_MS = 2;

const cacheDirectory = mkdtempSync(join(tmpdir(), "sandgate-memory-"));
process.on("exit", () => rmSync(cacheDirectory, { recursive: true, force: true }));
process.once("message", (name: string) => {
  const found = MEMORY_CASES.find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no case '${name}'`);
  void measure(found).then((report) => process.send?.(report));
});

async function measure({ tools, limits, calls = 1, rounds = 1 }: MemoryCase): Promise<MemoryReport> {
  await using sandboxes = await openSandboxes({ workers: { threads: 2 }, wasm: { cacheDirectory } });
  const { guest, harmless } = await tools();
  const registry = new ToolRegistry();
  registry.register(defineTool({ ...guest, name: "guest", description: "", inputSchema: {} }));
  registry.register(defineTool({ ...harmless, name: "harmless", description: "", inputSchema: {} }));
  const wait = async (): Promise<number> => after(NESTED_MS, 1);
  registry.register(defineTool({ name: "wait", description: "", inputSchema: {}, host: wait }));
  const sandbox = "wasm" in guest ? "wasm" : "quickjs";
  const policy = {
    check: ({ tool }: { readonly tool: { readonly name: string } }) =>
      tool.name === "wait"
        ? allow({ sandbox: "host" })
        : allow({ sandbox, limits, ...(sandbox === "quickjs" && { capabilities: { tools: ["wait"] } }) }),
  };
  const engine = new ToolDispatchEngine();
  const events = new EventStream();
  events.on(() => {});
  const call = async (name: string, index: number): Promise<string> => {
    const ctx = { registry, policy, sandboxes, sessionId: `session-${index % 16}`, events };
    const execution = await engine.dispatch({ id: String(index), name, arguments: {} }, ctx);
    return execution?.error?.code ?? "success";
  };
  await call("harmless", 0);
  await sandboxes.prepare(guest);
  globalThis.gc?.();
  const baseline = process.memoryUsage.rss();
  let highest = baseline;
  const sampling = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage.rss());
  }, SAMPLE_MS);
  const codes = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    const ends = await Promise.all(Array.from({ length: calls }, (_, index) => call("guest", index)));
    for (const code of ends) codes.add(code);
  }
  clearInterval(sampling);
  highest = Math.max(highest, process.memoryUsage.rss());
  return { baselineMiB: baseline / MIB, highestMiB: highest / MIB, codes: [...codes] };
}
