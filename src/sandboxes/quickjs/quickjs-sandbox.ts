import { readFile } from "node:fs/promises";
import type { CapabilityName } from "../../policy/capabilities.ts";
import type { LimitName, ResourceLimits } from "../../policy/limits.ts";
import { entryBeside } from "../entry.ts";
import type { ToolImplementations } from "../implementation.ts";
import { checkOutput } from "../output.ts";
import {
  type ResourceUse,
  type Sandbox,
  type SandboxOutcome,
  type SandboxTask,
  ToolPreparationError,
} from "../sandbox.ts";
import { type PoolOutcome, WorkerPool, type WorkerPoolOptions } from "../worker-pool.ts";
import { readFailure } from "./failure.ts";
import { MIN_MEMORY_BYTES } from "./heap.ts";
import type { QuickJsImplementation } from "./implementation.ts";
import type { QuickJsAnswer, QuickJsTask } from "./worker-entry.ts";

/** Options of {@link QuickJsSandbox}. */
export interface QuickJsSandboxOptions {
  readonly workers?: WorkerPoolOptions;
}

const DEFAULTS: Required<ResourceLimits> = Object.freeze({
  wallTimeMs: 30_000,
  memoryBytes: 64 * 1_024 * 1_024,
  outputBytes: 1_024 * 1_024,
});

/** How long a guest may take to notice its deadline before its thread is ended. */
const INTERRUPT_GRACE_MS = 50;

/** The engine recurses on V8's stack: a guest must hit the engine's own limit first. */
const THREAD_LIMITS = Object.freeze({ stackSizeMb: 16 });

/**
 * Runs untrusted JavaScript in QuickJS, compiled to WebAssembly, in threads of a pool: a fresh runtime for
 * every call, JSON text across the border, a linear memory that cannot grow past its cap. A guest has the
 * language and `console`, and nothing else, so no failure of it can have had an effect.
 */
export class QuickJsSandbox implements Sandbox {
  readonly mode = "quickjs";
  readonly capabilities: ReadonlySet<CapabilityName> = new Set();
  readonly defaults: ResourceLimits = DEFAULTS;
  readonly #pool: WorkerPool;
  readonly #sources = new WeakMap<QuickJsImplementation, Promise<string>>();

  constructor(options: QuickJsSandboxOptions = {}) {
    this.#pool = new WorkerPool(
      entryBeside(import.meta.filename, "worker-entry"),
      options.workers,
      THREAD_LIMITS,
    );
  }

  /** The engine does not run in less memory than its binary declares: 16 MiB. */
  unenforceable({ memoryBytes = MIN_MEMORY_BYTES }: ResourceLimits): LimitName | undefined {
    return memoryBytes < MIN_MEMORY_BYTES ? "memoryBytes" : undefined;
  }

  async prepare({ quickjs }: ToolImplementations): Promise<void> {
    if (quickjs === undefined) return;
    const source = await this.#source(quickjs);
    const outcome = await this.#runProgram(source, quickjs.export, undefined, DEFAULTS, SILENT);
    if (outcome.status === "completed") return;
    throw new ToolPreparationError(
      outcome.status === "failed" ? outcome.message : `it ended with ${outcome.status}`,
    );
  }

  async run(task: SandboxTask): Promise<SandboxOutcome> {
    const { quickjs } = task.implementations;
    try {
      if (quickjs === undefined) throw new ToolPreparationError("the tool has no implementation for QuickJS");
      const source = await this.#source(quickjs);
      return await this.#runProgram(source, quickjs.export, JSON.stringify(task.input), task.limits, task);
    } catch (error) {
      return { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail: String(error) };
    }
  }

  async #runProgram(
    source: string,
    exportName = "default",
    input: string | undefined,
    limits: ResourceLimits,
    { signal, observer }: Pick<SandboxTask, "signal" | "observer">,
  ): Promise<SandboxOutcome> {
    const { wallTimeMs, memoryBytes, outputBytes } = { ...DEFAULTS, ...limits };
    const task: QuickJsTask = { source, exportName, input, wallTimeMs, memoryBytes };
    const options = { wallTimeMs, graceMs: INTERRUPT_GRACE_MS, signal, observer };
    return readPoolOutcome(await this.#pool.run<QuickJsAnswer>(task, options), outputBytes);
  }

  /** A file is read once; a failed reading is tried again. */
  #source(implementation: QuickJsImplementation): Promise<string> {
    if ("source" in implementation) return Promise.resolve(implementation.source);
    const known = this.#sources.get(implementation);
    if (known !== undefined) return known;
    const reading = readFile(implementation.file, "utf8").catch((error: unknown) => {
      this.#sources.delete(implementation);
      throw new ToolPreparationError(`the module cannot be read: ${String(error)}`);
    });
    this.#sources.set(implementation, reading);
    return reading;
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

const SILENT: Pick<SandboxTask, "signal" | "observer"> = {
  signal: undefined,
  observer: { output: () => {}, log: () => {} },
};

function readPoolOutcome(outcome: PoolOutcome<QuickJsAnswer>, maxOutputBytes: number): SandboxOutcome {
  const used = { wallTimeMs: outcome.wallTimeMs };
  const effect = "none";
  switch (outcome.status) {
    case "returned":
      return readAnswer(outcome.result, { ...used, memoryBytes: outcome.result.memoryBytes }, maxOutputBytes);
    case "unavailable":
      return { status: "unavailable", effect, used, detail: outcome.reason };
    case "crashed":
      return { status: "failed", effect, used, message: ENGINE_BROKE, detail: String(outcome.error.stack) };
    default:
      return { status: outcome.status, effect, used };
  }
}

const ENGINE_BROKE = "Tool broke the JavaScript engine that it ran in";

function readAnswer(answer: QuickJsAnswer, used: ResourceUse, maxOutputBytes: number): SandboxOutcome {
  const effect = "none";
  if (answer.status === "timeout") return { status: "timeout", effect, used };
  if (answer.status === "text" && answer.text.startsWith("+")) {
    const { outputBytes, ...checked } = checkOutput(answer.text.slice(1), maxOutputBytes);
    return { effect, ...checked, used: { ...used, outputBytes } };
  }
  // A guest out of memory fails in any way, its own or the engine's; that it asked for more is what counts.
  if (answer.hitMemoryCap) return { status: "limit_exceeded", limit: "memoryBytes", effect, used };
  switch (answer.status) {
    case "stalled":
      return { status: "failed", effect, used, message: "Tool awaits a promise that can never settle" };
    case "broken":
      return { status: "failed", effect, used, message: ENGINE_BROKE, detail: answer.detail };
    case "text":
      return { status: "failed", effect, used, ...readFailure(answer.text.slice(1)) };
  }
}
