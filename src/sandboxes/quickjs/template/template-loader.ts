import type { SandboxOutcome, TaskObserver } from "../../contract/sandbox.ts";
import { ToolPreparationError } from "../../contract/sandbox.ts";
import { DEFAULT_LOG_BUDGET } from "../../threads/thread-log.ts";
import type { WorkerPool } from "../../threads/worker-pool.ts";
import type { Snapshot } from "../engine/snapshot.ts";
import { readQuickJsOutcome } from "../outcome.ts";
import { INTERRUPT_GRACE_MS } from "../quickjs-call.ts";
import type { QuickJsLimits } from "../quickjs-limits.ts";
import { decodeOutcome, encodeTask, type WireAnswer } from "../thread/task-wire.ts";
import type { QuickJsTask } from "../thread/thread-task.ts";
import type { TemplateKind } from "./template-store.ts";
import type { ToolSource } from "./tool-source.ts";

/**
 * Evaluates a tool under the limits of a call; the wall time limits the whole process. The engine reports which files
 * the modules import. A missing file is read and the evaluation starts again, so none of the tool's code runs before
 * all files are available.
 */
export async function loadTemplate(
  pool: WorkerPool,
  source: ToolSource,
  { key: owner, hasExternalAccess }: TemplateKind,
  { wallTimeMs, memoryBytes, outputBytes, stackBytes, logLines }: QuickJsLimits,
  observer: TaskObserver,
): Promise<Snapshot | SandboxOutcome> {
  const options = { wallTimeMs, graceMs: INTERRUPT_GRACE_MS, signal: undefined, observer };
  for (;;) {
    const task: QuickJsTask = {
      step: { kind: "load", program: source.program, stackBytes, hasExternalAccess },
      ...{ owner, wallTimeMs, memoryBytes, outputBytes },
      log: { lines: logLines, bytes: DEFAULT_LOG_BUDGET.bytes },
      nested: { left: 0, granted: 0 },
      outside: undefined,
      frozenClock: undefined,
    };
    const outcome = decodeOutcome(await pool.run<WireAnswer>(encodeTask(task), options));
    const answer = outcome.status === "returned" ? outcome.result : undefined;
    if (answer?.status === "loaded") return answer.template;
    if (answer?.status !== "needs_module") {
      return readQuickJsOutcome(outcome, { wallTimeMs: outcome.wallTimeMs }, "none", outputBytes);
    }
    try {
      await source.read(answer.name);
    } catch (error) {
      if (!(error instanceof ToolPreparationError)) throw error;
      const used = { wallTimeMs: outcome.wallTimeMs };
      return { status: "failed", effect: "none", used, message: `${answer.importer}: ${error.message}` };
    }
  }
}
