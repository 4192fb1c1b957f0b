import type { Capabilities, CapabilityName } from "../../policy/capabilities.ts";
import { firstLimitBesides, type LimitName, type ResourceLimits } from "../../policy/limits.ts";
import { entryBeside } from "../entry.ts";
import type { ToolImplementations } from "../implementation.ts";
import type { PoolOutcome } from "../pool-task.ts";
import { type Sandbox, type SandboxOutcome, type SandboxTask, ToolPreparationError } from "../sandbox.ts";
import { untilAborted } from "../until-aborted.ts";
import { WorkerPool, type WorkerPoolOptions } from "../worker-pool.ts";
import type { CappedComponent } from "./component.ts";
import { ComponentCache, defaultCacheDirectory } from "./component-cache.ts";
import { ComponentLoader } from "./component-loader.ts";
import { findExport } from "./exports/find-export.ts";
import type { WasmImplementation } from "./implementation.ts";
import { memoryExceeded, readOutcome, unavailable } from "./outcome.ts";
import type { WasiGrant } from "./wasi/grant.ts";
import type { WasmAnswer, WasmTask } from "./worker-entry.ts";

/** Options of {@link WasmSandbox}. */
export interface WasmSandboxOptions {
  /** Where is kept which components are valid. Default: `sandgate/wasm` in the user's cache directory. */
  readonly cacheDirectory?: string;
  readonly workers?: WorkerPoolOptions;
}

const DEFAULTS = Object.freeze({
  wallTimeMs: 30_000,
  memoryBytes: 64 * 1_024 * 1_024,
  outputBytes: 1_024 * 1_024,
  logLines: 1_000,
});

/** A component, and which of its functions is called. */
interface ReadyTool extends CappedComponent {
  readonly export: string;
}

/** What a component makes the border hold lives on the thread's heap, outside its memories. */
const THREAD_LIMITS = Object.freeze({ maxOldGenerationSizeMb: 256 });

/**
 * Runs functions of untrusted WebAssembly components in threads of a pool: a fresh instance for every call,
 * JSON text across the border, memories that cannot grow past their cap, and of WASI what was granted. A
 * component is validated once, by jco in a process of its own, and that is kept on disk.
 */
export class WasmSandbox implements Sandbox {
  readonly mode = "wasm";
  readonly capabilities: ReadonlySet<CapabilityName> = new Set<CapabilityName>([
    "env",
    "clock",
    "random",
    "frozenClock",
    "randomSeed",
  ]);
  readonly defaults: ResourceLimits = DEFAULTS;
  readonly #loader: ComponentLoader;
  readonly #workers: WorkerPoolOptions | undefined;
  #pool: WorkerPool | undefined;
  readonly #closing = new AbortController();

  constructor({ cacheDirectory = defaultCacheDirectory(), workers }: WasmSandboxOptions = {}) {
    this.#loader = new ComponentLoader(new ComponentCache(cacheDirectory));
    this.#workers = workers;
  }

  /** What it enforces, it enforces on every component. */
  unenforceable(limits: ResourceLimits): LimitName | undefined {
    return firstLimitBesides(limits, ["wallTimeMs", "memoryBytes", "outputBytes", "logLines"]);
  }

  async prepare({ wasm }: ToolImplementations): Promise<void> {
    if (wasm === undefined) return;
    if (this.#closing.signal.aborted) throw new ToolPreparationError("the sandbox is closed");
    const component = await this.#loader.load(wasm);
    findExport(component.exports, wasm);
    await component.withCap(Math.max(DEFAULTS.memoryBytes, component.initialBytes));
  }

  async run(task: SandboxTask): Promise<SandboxOutcome> {
    const { wasm } = task.implementations;
    if (wasm === undefined) return unavailable("the tool has no implementation for Wasm");
    if (this.#closing.signal.aborted) return unavailable("the sandbox is closed");
    const { memoryBytes = DEFAULTS.memoryBytes } = task.limits;
    try {
      const making = this.#makeReady(wasm, memoryBytes);
      const ready = await untilAborted(making, this.#closing.signal, task.signal);
      if (ready === "aborted") return { status: "cancelled", effect: "none", used: { wallTimeMs: 0 } };
      if (ready === "needs-more-memory") return memoryExceeded();
      return readOutcome(await this.#runInThread(ready, wasm.tool ?? task.toolName, task), task.limits);
    } catch (error) {
      // What cannot be prepared was never started.
      return unavailable(String(error));
    }
  }

  async #makeReady(wasm: WasmImplementation, memoryBytes: number): Promise<ReadyTool | "needs-more-memory"> {
    const component = await this.#loader.load(wasm);
    const name = findExport(component.exports, wasm);
    if (component.initialBytes > memoryBytes) return "needs-more-memory";
    return { ...(await component.withCap(memoryBytes)), export: name };
  }

  /** A thread keeps the components that it ran: only one that lacks this one is given it. */
  async #runInThread(
    { key, artifact, export: name }: ReadyTool,
    tool: string,
    { callId, canonical, limits, capabilities, signal, observer }: SandboxTask,
  ): Promise<PoolOutcome<WasmAnswer>> {
    // It may have been closed while the component was made ready: no pool may start that nobody ends.
    if (this.#closing.signal.aborted) {
      return { status: "unavailable", reason: "the sandbox is closed", wallTimeMs: 0 };
    }
    this.#pool ??= new WorkerPool(entryBeside(import.meta.filename, "worker-entry"), this.#workers, {
      limits: THREAD_LIMITS,
    });
    const { wallTimeMs, outputBytes, logLines = DEFAULTS.logLines } = limits;
    const task: WasmTask = {
      ...{ key, artifact: undefined, export: name, tool, input: canonical.text, callId },
      ...{ wallTimeMs, outputBytes, logLines, grant: readGrant(capabilities) },
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
function readGrant({ env = [], clock = false, random = false, ...replay }: Capabilities): WasiGrant {
  const variables = env.flatMap((name): [string, string][] => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  const { frozenClock, randomSeed } = replay;
  return { env: variables, clock, random, frozenClock, randomSeed };
}
