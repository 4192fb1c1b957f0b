import { boundFailure } from "../../contract/failure-text.ts";
import type { SandboxOutcome } from "../../contract/outcome.ts";
import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { TaskObserver } from "../../contract/task.ts";
import type { PoolTaskOptions } from "../../threads/pool-task.ts";
import { DEFAULT_LOG_BUDGET } from "../../threads/thread-log.ts";
import type { WorkerPool } from "../../threads/worker-pool.ts";
import { readQuickJsOutcome } from "../outcome.ts";
import { INTERRUPT_GRACE_MS, type QuickJsLimits } from "../quickjs-limits.ts";
import { decodeOutcome, encodeTask, type WireAnswer } from "../thread/task-wire.ts";
import type { QuickJsTask } from "../thread/thread-task.ts";
import type { LoadedTool, TemplateKind } from "./template-store.ts";
import type { ToolSource } from "./tool-source.ts";

/** The call for which a tool is evaluated. */
export interface TemplateCall {
  readonly observer: TaskObserver;
  /** Who waits for it. Default: it is not known. */
  readonly caller?: Pick<PoolTaskOptions, "caller" | "session">;
}

/**
 * Evaluates a tool under the limits of a call; the wall time limits the whole process. The engine reports which files
 * the modules import. A missing file is read and the evaluation starts again, so none of the tool's code runs before
 * all files are available.
 */
export async function loadTemplate(
  { pool, engine }: { readonly pool: WorkerPool; readonly engine: WebAssembly.Module },
  source: ToolSource,
  { key: owner, tool }: TemplateKind,
  { wallTimeMs, memoryBytes, outputBytes, stackBytes, logLines }: QuickJsLimits,
  { observer, caller }: TemplateCall,
): Promise<LoadedTool | SandboxOutcome> {
  let elapsedMs = 0;
  let waitedMs = 0;
  for (;;) {
    const leftMs = wallTimeMs - elapsedMs;
    if (leftMs <= 0) return { status: "timeout", effect: "none", used: { wallTimeMs: elapsedMs } };
    const times = { wallTimeMs: leftMs, graceMs: INTERRUPT_GRACE_MS, waitedMs };
    const options = { ...times, signal: undefined, observer, tool, ...caller };
    const task: QuickJsTask = {
      step: { kind: "load", engine, program: source.program, stackBytes },
      owner,
      wallTimeMs: leftMs,
      memoryBytes,
      outputBytes,
      log: { lines: logLines, bytes: DEFAULT_LOG_BUDGET.bytes },
      nested: { left: 0, granted: 0 },
      access: undefined,
      frozenClock: undefined,
      toolNames: undefined,
    };
    const outcome = decodeOutcome(await pool.run<WireAnswer>(encodeTask(task), options));
    elapsedMs += outcome.wallTimeMs;
    waitedMs += outcome.waitedMs ?? 0;
    const used = waitedMs > 0 ? { wallTimeMs: elapsedMs, waitedMs } : { wallTimeMs: elapsedMs };
    const answer = outcome.status === "returned" ? outcome.result : undefined;
    switch (answer?.status) {
      case "loaded":
        return { snapshot: answer.template, positions: answer.positions, wallTimeMs: elapsedMs, waitedMs };
      case "invalid_types":
        if (source.isEntry(answer.module)) throw new ToolPreparationError(answer.message);
        return { status: "failed", effect: "none", used, message: answer.message };
      case "needs_module":
        break;
      default:
        return readQuickJsOutcome(outcome, used, "none", outputBytes);
    }
    const readFrom = performance.now();
    try {
      await source.read(answer.name);
    } catch (error) {
      if (!(error instanceof ToolPreparationError)) throw error;
      const failure = boundFailure({ message: `${answer.importer}: ${error.message}` }, outputBytes);
      return { status: "failed", effect: "none", used, ...failure };
    }
    elapsedMs += performance.now() - readFrom;
  }
}
