import { readFile } from "node:fs/promises";
import { entryFile } from "../../../base/package-files.ts";
import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { PoolOutcome } from "../../threads/pool-task.ts";
import { WorkerPool } from "../../threads/worker-pool.ts";
import { limitCoreModule } from "../core-module/core-limits.ts";
import { readCoreModule } from "../core-module/core-module.ts";
import { vendoredFile } from "../vendored-file.ts";
import type { ValidationAnswer, ValidationTask } from "./worker-entry.ts";

/** The maximum time to validate a component. The largest take less than a second on an idle machine. */
const TIMEOUT_MS = 10_000;

/** The maximum memory of wasm-tools, in pages of 64 KiB: 1 GiB. */
const MAX_PAGES = 16_384;

/** What validating takes outside of the memory of wasm-tools. */
const THREAD_LIMITS = Object.freeze({ maxOldGenerationSizeMb: 64 });

const NO_OBSERVER = Object.freeze({ output: () => {}, log: () => {} });

/**
 * Validates components with wasm-tools, which is itself WebAssembly and has no access to anything, in a thread that is
 * ended when it takes too long. wasm-tools is compiled once, and instantiated for each component.
 */
export class ComponentValidator {
  #wasmTools: Promise<WebAssembly.Module> | undefined;
  #pool: WorkerPool | undefined;
  readonly #closing = new AbortController();

  /** @throws {ToolPreparationError} with the reason if a component is not valid. */
  async validate(binary: Uint8Array): Promise<void> {
    const problem = problemOf(await this.#run({ kind: "validate", binary }));
    if (problem !== undefined) throw new ToolPreparationError(problem);
  }

  /**
   * Compiles a core module in the thread, because V8 first copies it in the thread that asks.
   *
   * @throws {ToolPreparationError} with the reason if it does not compile.
   */
  async compile(binary: Uint8Array): Promise<WebAssembly.Module> {
    const outcome = await this.#run({ kind: "compile", binary });
    if (outcome.status === "returned" && outcome.result instanceof WebAssembly.Module) return outcome.result;
    throw new ToolPreparationError(problemOf(outcome) ?? "it does not compile");
  }

  async #run(task: ValidationTask): Promise<PoolOutcome<ValidationAnswer>> {
    if (this.#closing.signal.aborted) throw closed();
    this.#pool ??= new WorkerPool(
      { entry: entryFile("sandboxes/wasm/validation/worker-entry"), limits: THREAD_LIMITS },
      { threads: 1 },
    );
    this.#wasmTools ??= compileWasmTools();
    const artifact = { name: "wasm-tools", value: await this.#wasmTools };
    const outcome = await this.#pool.run<ValidationAnswer>(task, {
      wallTimeMs: TIMEOUT_MS,
      signal: this.#closing.signal,
      observer: NO_OBSERVER,
      artifact,
    });
    if (this.#closing.signal.aborted) throw closed();
    return outcome;
  }

  /** Ends what runs. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#pool?.close();
  }
}

function problemOf(outcome: PoolOutcome<ValidationAnswer>): string | undefined {
  switch (outcome.status) {
    case "returned":
      return typeof outcome.result === "string" ? `it is not valid: ${outcome.result}` : undefined;
    case "timeout":
      return `validating it took longer than ${TIMEOUT_MS} ms`;
    case "crashed":
      return `the validator crashed: ${outcome.error.message}`;
    case "unavailable":
      return `the validator cannot be started: ${outcome.reason}`;
    case "cancelled":
      return "its validation was cancelled";
  }
}

function closed(): ToolPreparationError {
  return new ToolPreparationError("the sandbox is closed");
}

async function compileWasmTools(): Promise<WebAssembly.Module> {
  const binary = await readFile(vendoredFile("wasm-tools.core.wasm"));
  const { tables } = readCoreModule(binary);
  const limits = {
    memories: [{ maxPages: MAX_PAGES, lowered: true }],
    tables: tables.map(({ limits: { min } }) => ({ minElements: min, maxElements: min })),
    globals: [],
  };
  return WebAssembly.compile((await limitCoreModule(binary, limits)) as BufferSource);
}
