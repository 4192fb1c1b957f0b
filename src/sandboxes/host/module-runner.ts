import { stat } from "node:fs/promises";
import { encodedGuardedFiles } from "../../base/guarded-files.ts";
import { entryFile } from "../../base/package-files.ts";
import { freezeJson } from "../../json/value.ts";
import { type HostModule, logsFileAccess } from "../../tool/implementations/implementations.ts";
import type { ThrownFailure } from "../contract/failure.ts";
import type { ResourceUse, SandboxOutcome } from "../contract/outcome.ts";
import { checkOutput, outcomeOf } from "../contract/output.ts";
import { type SandboxTask, ToolPreparationError } from "../contract/sandbox.ts";
import { AbandonedThreads } from "../threads/abandoned-threads.ts";
import {
  callerOf,
  type ForeignPool,
  notEnded,
  notRun,
  type PoolOutcome,
  type TaskPool,
  timesOf,
} from "../threads/pool-task.ts";
import { type PoolOptions, WorkerPool } from "../threads/worker-pool.ts";
import type { WorkerAnswer, WorkerTask } from "./worker-entry.ts";

/** The options of {@link ModuleRunner}. */
export interface ModuleRunnerOptions extends PoolOptions {
  /** The embedder's threads. Default: threads of its own. */
  readonly pool?: ForeignPool | undefined;
}

/** Runs modules in threads, which a deadline can end. */
export class ModuleRunner {
  readonly #pool: TaskPool;

  constructor(options: ModuleRunnerOptions = {}) {
    const entry = entryFile("sandboxes/host/worker-entry");
    const { pool, maxWaitMs, abandoned = new AbandonedThreads(options.threads) } = options;
    this.#pool = pool?.open({ entry, maxWaitMs, abandoned }) ?? new WorkerPool({ entry }, options);
  }

  /** @throws {ToolPreparationError} if the file of the module does not exist. The first call imports it. */
  async prepare({ module }: HostModule): Promise<void> {
    try {
      await stat(module instanceof URL || module.startsWith("file:") ? new URL(module) : module);
    } catch {
      throw new ToolPreparationError(`the module cannot be read: ${module}`);
    }
  }

  async run({ module, export: name = "default" }: HostModule, task: SandboxTask): Promise<SandboxOutcome> {
    const { wallTimeMs, outputBytes: maxOutputBytes } = task.limits;
    const fields: WorkerTask = {
      module: String(module),
      export: name,
      input: task.canonical.text,
      callId: task.callId,
      sessionId: task.sessionId,
      turnId: task.turnId,
      idempotencyKey: task.idempotencyKey,
      resultChars: task.resultChars,
      workspace: task.workspace,
      toolName: task.toolName,
      principal: task.principal,
      maxOutputBytes,
      fs: task.capabilities.fs,
      guarded: task.capabilities.fs && encodedGuardedFiles(),
      fileBytes: task.limits.fileBytes,
      logFileAccess: logsFileAccess(task.implementations),
    };
    const { signal, observer, waitedMs } = task;
    const tool = `${fields.export}\0${fields.module}`;
    const options = { wallTimeMs, signal, observer, tool, ...callerOf(task), waitedMs };
    return readPoolOutcome(await this.#pool.run<WorkerAnswer>(fields, options), maxOutputBytes);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

function readPoolOutcome(
  outcome: PoolOutcome<WorkerAnswer>,
  maxOutputBytes: number | undefined,
): SandboxOutcome {
  const fileBytes = outcome.status === "returned" ? outcome.result.fileBytes : undefined;
  const times = timesOf(outcome);
  const used = fileBytes === undefined ? times : { ...times, fileBytes };
  switch (outcome.status) {
    case "returned": {
      const { changes } = outcome.result;
      const read = readAnswer(outcome.result, used, maxOutputBytes);
      return changes === undefined ? read : { ...read, changes };
    }
    case "unavailable":
      return notRun(outcome);
    case "crashed": {
      const message = "Tool ended the thread that it ran in";
      const effect = outcome.started ? "unknown" : "none";
      return {
        status: "failed",
        effect,
        used,
        message,
        userVisible: true,
        detail: String(outcome.error.stack),
      };
    }
    default: {
      const effect = outcome.started ? "unknown" : "none";
      return { status: outcome.status, effect, used, ...notEnded(outcome) };
    }
  }
}

function readAnswer(
  answer: WorkerAnswer,
  used: ResourceUse,
  maxOutputBytes: number | undefined,
): SandboxOutcome {
  switch (answer.status) {
    case "returned":
      return outcomeOf(checkOutput(answer.text, maxOutputBytes, answer), "committed", used);
    case "limit_exceeded": {
      const { outputBytes } = answer;
      return {
        status: "limit_exceeded",
        limit: "outputBytes",
        effect: "committed",
        used: { ...used, outputBytes },
      };
    }
    case "not-loaded":
      return { status: "unavailable", effect: "none", used, detail: answer.detail };
    case "not-json":
      return { status: "failed", effect: "committed", used, message: answer.message, userVisible: true };
    case "threw":
      return { status: "failed", effect: "unknown", used, ...frozenMetadata(answer.thrown) };
  }
}

/** What arrives from a thread is a copy, which is not frozen. */
function frozenMetadata(thrown: ThrownFailure): ThrownFailure {
  if (thrown.unhandled || thrown.metadata === undefined) return thrown;
  return { ...thrown, metadata: freezeJson(thrown.metadata) };
}
