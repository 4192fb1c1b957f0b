import type { OneShotThenable } from "../../base/promises.ts";
import type { CapabilityName } from "../../policy/grant/capabilities.ts";
import { firstLimitBesides, type LimitName, type ResourceLimits } from "../../policy/grant/limits.ts";
import type { ToolImplementations } from "../../tool/implementations.ts";
import {
  type Sandbox,
  type SandboxOutcome,
  type SandboxTask,
  ToolPreparationError,
} from "../contract/sandbox.ts";
import type { WorkerPoolOptions } from "../threads/worker-pool.ts";
import { FunctionRunner } from "./function-runner.ts";
import type { ModuleRunner } from "./module-runner.ts";

const ENFORCEABLE: readonly LimitName[] = ["wallTimeMs", "outputBytes"];

/** The options of {@link HostSandbox}. */
export interface HostSandboxOptions {
  readonly workers?: WorkerPoolOptions;
}

/**
 * Runs trusted tools: functions and factories in this process, and modules in threads of a pool. It confines nothing.
 * At its deadline, the call of a function ends: the function's signal is aborted, and a late result is dropped. A
 * function that keeps the CPU busy blocks the process, and should be a module: its thread is ended.
 */
export class HostSandbox implements Sandbox {
  readonly mode = "host";
  readonly capabilities: ReadonlySet<CapabilityName> = new Set();
  /** None. Only the grant sets limits. */
  readonly defaults: ResourceLimits = Object.freeze({});
  readonly #options: HostSandboxOptions;
  readonly #functions = new FunctionRunner();
  #workers: Promise<ModuleRunner> | undefined;
  #closed = false;

  constructor(options: HostSandboxOptions = {}) {
    this.#options = options;
  }

  /** Memory cannot be limited on the host, since V8's heap limit does not include buffers. */
  unenforceable(limits: ResourceLimits): LimitName | undefined {
    return firstLimitBesides(limits, ENFORCEABLE);
  }

  async prepare({ worker }: ToolImplementations): Promise<void> {
    if (worker === undefined) return;
    if (this.#closed) throw new ToolPreparationError("the sandbox is closed");
    await (await this.#moduleRunner()).prepare(worker);
  }

  run(task: SandboxTask): SandboxOutcome | OneShotThenable<SandboxOutcome> {
    const { host, worker } = task.implementations;
    if (this.#closed || (host === undefined && worker === undefined)) {
      const detail = this.#closed ? "the sandbox is closed" : "the tool has no implementation for the host";
      return { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail };
    }
    if (host !== undefined) return this.#functions.run(host, task);
    return this.#moduleRunner().then((runner) => runner.run(task));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([this.#functions.close(), this.#workers?.then((runner) => runner.close())]);
  }

  /** Loaded on first use, since most programs have no modules as tools. */
  #moduleRunner(): Promise<ModuleRunner> {
    this.#workers ??= import("./module-runner.ts").then(
      (module) => new module.ModuleRunner(this.#options.workers),
    );
    return this.#workers;
  }
}
