/** The process in which the components of the corpus run, one after another: the parent sends the name of each. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { defineTool } from "../../../src/engine/tool.ts";
import { allow } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { watComponent } from "../../fixtures/wasm/wat-component.ts";
import { ALL_CASES } from "./all-cases.ts";
import type { DeadlineCase } from "./deadline-case.ts";
import { type CaseReport, WALL_TIME_MS } from "./report.ts";

const DEFAULT_MEMORY_BYTES = 64 * 2 ** 20;

/** How often each component is called: V8 optimises its code meanwhile. */
const ROUNDS = 3;

const cacheDirectory = mkdtempSync(join(tmpdir(), "sandgate-guests-"));
process.on("exit", () => rmSync(cacheDirectory, { recursive: true, force: true }));
const echo = await watComponent();

process.on("message", (name: string) => {
  const found = ALL_CASES.find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no case '${name}'`);
  runCase(found).then(
    (report) => process.send?.(report),
    (error: unknown) => process.send?.({ problem: String(error) }),
  );
});

async function runCase({
  variation,
  memoryBytes = DEFAULT_MEMORY_BYTES,
  capabilities = {},
}: DeadlineCase): Promise<CaseReport> {
  await using sandboxes = await openSandboxes({ workers: { threads: 1 }, wasm: { cacheDirectory } });
  const registry = new ToolRegistry();
  const guest = defineTool({
    name: "guest",
    description: "",
    inputSchema: {},
    wasm: { component: await watComponent(variation) },
  });
  registry.register(guest);
  registry.register(
    defineTool({ name: "echo", description: "", inputSchema: {}, wasm: { component: echo } }),
  );
  registry.register(
    defineTool({
      name: "spin",
      description: "",
      inputSchema: {},
      host: (_input, { signal }) => untilAborted(signal),
    }),
  );
  const policy = {
    check: ({ tool }: { readonly tool: { readonly name: string } }) =>
      tool.name === "guest"
        ? allow({ sandbox: "wasm", limits: { wallTimeMs: WALL_TIME_MS, memoryBytes }, capabilities })
        : allow({ sandbox: tool.name === "echo" ? "wasm" : "host" }),
  };
  const engine = new ToolDispatchEngine();
  const call = async (name: string): Promise<ToolExecution> => {
    const execution = await engine.dispatch(
      { id: "1", name, arguments: {} },
      { registry, policy, sandboxes, sessionId: "guests" },
    );
    if (execution === null) throw new Error("the call has no result");
    return execution;
  };
  // What is refused would not test anything.
  await sandboxes.prepare(guest);
  const report = { codes: [] as string[], lateMs: 0, settledLateMs: 0, mayStillRun: false, echoes: true };
  for (let round = 0; round < ROUNDS; round++) {
    report.echoes &&= (await call("echo")).success;
    const from = performance.now();
    const { error, receipt } = await call("guest");
    report.codes.push(error?.code ?? "success");
    report.settledLateMs = Math.max(report.settledLateMs, performance.now() - from - WALL_TIME_MS);
    report.lateMs = Math.max(report.lateMs, receipt.used.wallTimeMs - WALL_TIME_MS);
    report.mayStillRun ||= receipt.mayStillRun === true;
  }
  return { ...report, abandoned: sandboxes.abandonedThreads };
}

/** A nested call that returns only when it is cancelled. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}
