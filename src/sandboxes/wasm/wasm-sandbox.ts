import type { Capabilities, CapabilityName } from "../../policy/capabilities.ts";
import type { LimitName, ResourceLimits } from "../../policy/limits.ts";
import { entryBeside } from "../entry.ts";
import type { ToolImplementations } from "../implementation.ts";
import { type Sandbox, type SandboxOutcome, type SandboxTask, ToolPreparationError } from "../sandbox.ts";
import { type PoolOutcome, WorkerPool, type WorkerPoolOptions } from "../worker-pool.ts";
import type { CappedComponent, Component } from "./component.ts";
import { ComponentCache, defaultCacheDirectory } from "./component-cache.ts";
import { ComponentLoader } from "./component-loader.ts";
import { memoryExceeded, readOutcome, unavailable } from "./outcome.ts";
import type { WasiGrant } from "./wasi/grant.ts";
import type { WasmAnswer, WasmTask } from "./worker-entry.ts";

/** Options of {@link WasmSandbox}. */
export interface WasmSandboxOptions {
  /** Where transpiled components are kept. Default: `sandgate/wasm` in the user's cache directory. */
  readonly cacheDirectory?: string;
  readonly workers?: WorkerPoolOptions;
}

const DEFAULTS = Object.freeze({
  wallTimeMs: 30_000,
  memoryBytes: 64 * 1_024 * 1_024,
  outputBytes: 1_024 * 1_024,
});

/** What a component makes the border hold lives on the thread's heap, outside its memories. */
const THREAD_LIMITS = Object.freeze({ maxOldGenerationSizeMb: 256 });

/**
 * Runs untrusted WebAssembly components of the world `sandgate:tool` in threads of a pool: a fresh instance
 * for every call, JSON text across the border, memories that cannot grow past their cap, and of WASI what was
 * granted. jco makes a component ready once, in a process of its own, and the result is kept on disk.
 */
export class WasmSandbox implements Sandbox {
  readonly mode = "wasm";
  readonly capabilities: ReadonlySet<CapabilityName> = new Set(["env", "clock", "random"] as const);
  readonly defaults: ResourceLimits = DEFAULTS;
  readonly #loader: ComponentLoader;
  readonly #workers: WorkerPoolOptions | undefined;
  #pool: WorkerPool | undefined;
  readonly #closing = new AbortController();

  constructor({ cacheDirectory = defaultCacheDirectory(), workers }: WasmSandboxOptions = {}) {
    this.#loader = new ComponentLoader(new ComponentCache(cacheDirectory));
    this.#workers = workers;
  }

  /** It enforces all of them, on every component. */
  unenforceable(): LimitName | undefined {
    return undefined;
  }

  async prepare({ wasm }: ToolImplementations): Promise<void> {
    if (wasm === undefined) return;
    if (this.#closing.signal.aborted) throw new ToolPreparationError("the sandbox is closed");
    const component = await this.#loader.load(wasm);
    await component.withCap(Math.max(DEFAULTS.memoryBytes, component.initialBytes));
  }

  async run(task: SandboxTask): Promise<SandboxOutcome> {
    const { wasm } = task.implementations;
    if (wasm === undefined) return unavailable("the tool has no implementation for Wasm");
    if (this.#closing.signal.aborted) return unavailable("the sandbox is closed");
    const { memoryBytes = DEFAULTS.memoryBytes } = task.limits;
    try {
      const making = this.#makeReady(this.#loader.load(wasm), memoryBytes);
      const ready = await untilAborted(making, [this.#closing.signal, task.signal]);
      if (ready === "aborted") return { status: "cancelled", effect: "none", used: { wallTimeMs: 0 } };
      if (ready === "needs-more-memory") return memoryExceeded();
      return readOutcome(await this.#runInThread(ready, wasm.tool ?? task.toolName, task), task.limits);
    } catch (error) {
      // What cannot be prepared was never started.
      return unavailable(String(error));
    }
  }

  async #makeReady(
    loading: Promise<Component>,
    memoryBytes: number,
  ): Promise<CappedComponent | "needs-more-memory"> {
    const component = await loading;
    return component.initialBytes > memoryBytes ? "needs-more-memory" : component.withCap(memoryBytes);
  }

  /** A thread keeps the components that it ran: only one that lacks this one is given it. */
  async #runInThread(
    { key, artifact }: CappedComponent,
    tool: string,
    { callId, input, limits, capabilities, signal, observer }: SandboxTask,
  ): Promise<PoolOutcome<WasmAnswer>> {
    this.#pool ??= new WorkerPool(
      entryBeside(import.meta.filename, "worker-entry"),
      this.#workers,
      THREAD_LIMITS,
    );
    const { wallTimeMs, outputBytes } = limits;
    const task: WasmTask = {
      ...{ key, artifact: undefined, tool, input: JSON.stringify(input), callId },
      ...{ wallTimeMs, outputBytes, grant: readGrant(capabilities) },
    };
    const options = { wallTimeMs, signal, observer };
    const outcome = await this.#pool.run<WasmAnswer>(task, options);
    if (outcome.status !== "returned" || outcome.result.status !== "needs-artifact") return outcome;
    return this.#pool.run<WasmAnswer>({ ...task, artifact }, options);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#loader.close();
    await this.#pool?.close();
  }
}

/** The variables have the values of the moment of the call. */
function readGrant({ env = [], clock = false, random = false }: Capabilities): WasiGrant {
  const variables = env.flatMap((name): [string, string][] => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { env: variables, clock, random };
}

/** Waits for a preparation, which others may share, no longer than it is wanted. */
async function untilAborted<T>(
  work: Promise<T>,
  signals: readonly (AbortSignal | undefined)[],
): Promise<T | "aborted"> {
  const { promise: aborted, resolve } = Promise.withResolvers<"aborted">();
  const onAbort = (): void => resolve("aborted");
  for (const signal of signals) {
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
  }
  try {
    return await Promise.race([aborted, work]);
  } finally {
    for (const signal of signals) signal?.removeEventListener("abort", onAbort);
  }
}
