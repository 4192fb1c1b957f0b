import { performance } from "node:perf_hooks";
import { isThenable, type OneShotThenable, toPromise } from "../../base/promises.ts";
import { describeThrown } from "../../base/thrown.ts";
import type { CapabilityName } from "../../policy/grant/capabilities.ts";
import type { FsGrant } from "../../policy/grant/fs-grant.ts";
import { firstLimitBesides, type LimitName, type ResourceLimits } from "../../policy/grant/limits.ts";
import {
  type HostFactory,
  type HostFunction,
  type HostImplementation,
  type HostInstance,
  isHostModule,
  logsFileAccess,
  type SandboxedTool,
  type ToolImplementations,
} from "../../tool/implementations/implementations.ts";
import type { WorkspaceFiles } from "../../tool/workspace-files.ts";
import { workspaceIsSupported } from "../../workspace/paths.ts";
import { refuseUnbound } from "../contract/bound-grant.ts";
import { limitsEnforcedBy } from "../contract/enforced-limits.ts";
import type { SandboxOutcome } from "../contract/outcome.ts";
import { type Sandbox, type SandboxTask, ToolPreparationError } from "../contract/sandbox.ts";
import type { StagedFiles } from "../contract/staged-changes.ts";
import type { FileAccessLog } from "./files/file-access-log.ts";
import type { CallFiles } from "./files/host-files.ts";
import { FunctionRun } from "./function-call.ts";
import type { ModuleRunner, ModuleRunnerOptions } from "./module-runner.ts";
import { AbandonedFunctions, RunningCalls } from "./running-calls.ts";

const ENFORCEABLE = limitsEnforcedBy("host");
const ENFORCEABLE_WITH_FILES = limitsEnforcedBy("host-files");

const NO_CAPABILITIES: ReadonlySet<CapabilityName> = new Set();
const FILES: ReadonlySet<CapabilityName> = new Set(workspaceIsSupported() ? (["fs"] as const) : []);

/** The options of {@link HostSandbox}. */
export interface HostSandboxOptions {
  readonly workers?: ModuleRunnerOptions;
  /** Where functions that do not stop are counted. */
  readonly abandonedFunctions?: AbandonedFunctions;
}

/**
 * Runs trusted tools: functions and factories in this process, and modules in threads of a pool. It confines nothing.
 * At its deadline, the call of a function ends: the function's signal is aborted, and a late result is dropped. A
 * function that keeps the CPU busy blocks the process, and should be a module: its thread is ended. A tool that declares
 * to use only `context.files` can be granted files; its other effects are not confined either.
 */
export class HostSandbox implements Sandbox {
  readonly mode = "host";
  readonly capabilities: ReadonlySet<CapabilityName> = NO_CAPABILITIES;
  /** None. Only the grant sets limits. */
  readonly defaults: ResourceLimits = Object.freeze({});
  readonly #options: HostSandboxOptions;
  readonly #functions: FunctionRunner;
  #modules: Promise<ModuleRunner> | undefined;
  /** Loaded on first use, since most programs have no tools with files. */
  #files: CallFiles | undefined;
  #closed = false;

  constructor(options: HostSandboxOptions = {}) {
    this.#options = options;
    this.#functions = new FunctionRunner(options.abandonedFunctions ?? new AbandonedFunctions());
  }

  capabilitiesFor({ usesFiles }: SandboxedTool): ReadonlySet<CapabilityName> {
    return usesFiles ? FILES : NO_CAPABILITIES;
  }

  /** Memory cannot be limited on the host, since V8's heap limit does not include buffers. */
  unenforceable(limits: ResourceLimits, { usesFiles }: SandboxedTool): LimitName | undefined {
    return firstLimitBesides(limits, usesFiles ? ENFORCEABLE_WITH_FILES : ENFORCEABLE);
  }

  async prepare({ host }: ToolImplementations): Promise<void> {
    if (!isHostModule(host)) return;
    if (this.#closed) throw new ToolPreparationError("the sandbox is closed");
    await (await this.#moduleRunner()).prepare(host);
  }

  run(task: SandboxTask): SandboxOutcome | OneShotThenable<SandboxOutcome> {
    const { host } = task.implementations;
    if (this.#closed || host === undefined) {
      const detail = this.#closed ? "the sandbox is closed" : "the tool has no implementation for the host";
      return { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail };
    }
    const now = performance.now();
    const refused = refuseUnbound(task, "host", now);
    if (refused !== undefined) return refused;
    // A module logs what it opens in its thread.
    if (!isHostModule(host) && logsFileAccess(task.implementations)) return this.#runLogged(host, task);
    return this.#run(host, task, now);
  }

  #run(
    host: HostImplementation<never, never>,
    task: SandboxTask,
    now: number,
    accesses?: FileAccessLog,
  ): SandboxOutcome | OneShotThenable<SandboxOutcome> {
    const { fs } = task.capabilities;
    if (fs !== undefined) return this.#runWithFiles(host, task, fs, accesses);
    if (isHostModule(host)) return this.#moduleRunner().then((runner) => runner.run(host, task));
    if (accesses === undefined) return this.#functions.run(host, task, now);
    return accesses.run(() => this.#functions.run(host, task, now));
  }

  async #runLogged(host: HostImplementation<never, never>, task: SandboxTask): Promise<SandboxOutcome> {
    const { FileAccessLog, observerOutside } = await import("./files/file-access-log.ts");
    const observer = observerOutside(task.observer);
    const accesses = new FileAccessLog(task.toolName, (message) => observer.log("warn", message));
    try {
      return await this.#run(host, { ...task, observer }, performance.now(), accesses);
    } finally {
      accesses.end();
    }
  }

  /** Opens the granted files before anything runs, and closes them when the call has ended. */
  async #runWithFiles(
    host: HostImplementation<never, never>,
    task: SandboxTask,
    fs: readonly FsGrant[],
    accesses: FileAccessLog | undefined,
  ): Promise<SandboxOutcome> {
    let files: StagedFiles;
    try {
      const opener = this.#files ?? (await this.#loadFiles());
      if (this.#closed) throw new ToolPreparationError("the sandbox is closed");
      // A module opens them again in its thread, where its changes cannot be staged.
      files = opener.open(fs, task.limits.fileBytes, isHostModule(host) ? undefined : task.stageChanges);
    } catch (error) {
      const { detail } = describeThrown(error);
      return { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail };
    }
    try {
      if (isHostModule(host)) return await (await this.#moduleRunner()).run(host, task);
      const run = (): ReturnType<FunctionRunner["run"]> =>
        this.#functions.run(host, task, performance.now(), files.files);
      const outcome = await (accesses === undefined ? run() : accesses.run(run));
      const used = { ...outcome.used, fileBytes: files.writtenBytes };
      return { ...outcome, used, changes: files.changes };
    } finally {
      files.end();
    }
  }

  async #loadFiles(): Promise<CallFiles> {
    const { CallFiles } = await import("./files/host-files.ts");
    this.#files ??= new CallFiles();
    return this.#files;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#files?.[Symbol.dispose]();
    await Promise.all([this.#functions.close(), this.#modules?.then((runner) => runner.close())]);
  }

  /** Loaded on first use, since most programs have no modules as tools. */
  #moduleRunner(): Promise<ModuleRunner> {
    this.#modules ??= import("./module-runner.ts").then(
      ({ ModuleRunner }) => new ModuleRunner(this.#options.workers),
    );
    return this.#modules;
  }
}

/** Runs tools that are functions in this process. */
class FunctionRunner {
  /** The instances that factories have returned, since an instance is used for one call only. */
  readonly #usedInstances = new WeakSet<object>();
  readonly #running = new RunningCalls<FunctionRun>();
  readonly #abandoned: AbandonedFunctions;

  constructor(abandoned: AbandonedFunctions) {
    this.#abandoned = abandoned;
  }

  run(
    implementation: HostFunction<never, never> | HostFactory<never, never>,
    task: SandboxTask,
    startedAt: number,
    files?: WorkspaceFiles,
  ): SandboxOutcome | OneShotThenable<SandboxOutcome> {
    const run = new FunctionRun(task, this.#running, this.#abandoned, startedAt, files);
    let result: unknown;
    try {
      if (typeof implementation === "function") result = implementation(task.input as never, run.call);
      else {
        const instance = implementation.create();
        const flaw = this.#flawOf(instance);
        if (flaw !== undefined) return run.refused(`the factory ${flaw}`);
        this.#usedInstances.add(instance);
        run.instance = instance;
        result = instance.execute(task.input as never, run.call);
      }
      return isThenable(result) ? run.settle(toPromise(result)) : run.returned(result);
    } catch (thrown) {
      return run.threw(thrown);
    }
  }

  #flawOf(instance: HostInstance): string | undefined {
    if (typeof instance !== "object" || instance === null) return "did not return an object";
    if (typeof instance.execute !== "function") return "returned an object without execute()";
    return this.#usedInstances.has(instance) ? "returned the same instance twice" : undefined;
  }

  /** Cancels all running calls, and waits until they end. */
  async close(): Promise<void> {
    await Promise.all(
      this.#running.all.map((run) => {
        run.stop("cancelled");
        return run.ended;
      }),
    );
  }
}
