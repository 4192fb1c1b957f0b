import { entryFile } from "../../base/entry-file.ts";
import { untilAborted } from "../../base/race.ts";
import { Egress, type EgressOptions } from "../../egress/egress.ts";
import type { Capabilities, CapabilityName } from "../../policy/grant/capabilities.ts";
import type { LimitName, ResourceLimits } from "../../policy/grant/limits.ts";
import type { ToolImplementations } from "../../tool/implementations.ts";
import type { QuickJsImplementation } from "../../tool/quickjs-implementation.ts";
import { workspaceIsSupported } from "../../workspace/paths/fd-path.ts";
import { checkDirectories } from "../../workspace/workspace.ts";
import {
  type Sandbox,
  type SandboxOutcome,
  type SandboxTask,
  type TaskObserver,
  ToolPreparationError,
} from "../contract/sandbox.ts";
import { WorkerPool, type WorkerPoolOptions } from "../threads/worker-pool.ts";
import { compileEngine } from "./engine/engine-binary.ts";
import { describeLoadFailure } from "./failure.ts";
import { notStarted } from "./outcome.ts";
import { type CallHost, QuickJsCall } from "./quickjs-call.ts";
import {
  completeLimits,
  QUICKJS_DEFAULT_LIMITS,
  type QuickJsLimits,
  unenforceableLimit,
} from "./quickjs-limits.ts";
import { loadTemplate } from "./template/template-loader.ts";
import { isKindFor, type Template, TemplateStore, templateKind } from "./template/template-store.ts";
import { ToolSource } from "./template/tool-source.ts";
import type { QuickJsThreadData } from "./thread/thread-task.ts";

/** Options of {@link QuickJsSandbox}. */
export interface QuickJsSandboxOptions {
  readonly workers?: WorkerPoolOptions;
  /** How tools' requests leave: who resolves names, which authorities of certificates are trusted. */
  readonly egress?: EgressOptions;
}

const CAPABILITIES: readonly CapabilityName[] = [
  "clock",
  "random",
  "tools",
  "net",
  ...(workspaceIsSupported() ? (["fs"] as const) : []),
  "frozenClock",
  "randomSeed",
];

/** The engine recurses on V8's stack, which must be large enough for a guest to reach the engine's own limit first. */
const THREAD_LIMITS = Object.freeze({ stackSizeMb: 16 });

/**
 * Runs untrusted JavaScript in QuickJS, compiled to WebAssembly, in a pool of threads. A tool is evaluated once and
 * kept as a snapshot, and each call starts from it in its own heap: no call sees data of another. Only JSON text
 * crosses between guest and host, and the linear memory cannot grow beyond its cap. A guest has the language,
 * `console` and the context of its call, and can reach outside only what the call's grant allows: other tools, HTTP
 * requests, files.
 */
export class QuickJsSandbox implements Sandbox {
  readonly mode = "quickjs";
  readonly capabilities: ReadonlySet<CapabilityName> = new Set(CAPABILITIES);
  readonly defaults: ResourceLimits = QUICKJS_DEFAULT_LIMITS;
  readonly #workers: WorkerPoolOptions | undefined;
  readonly #egressOptions: EgressOptions | undefined;
  readonly #sources = new WeakMap<QuickJsImplementation, ToolSource | Promise<ToolSource>>();
  readonly #templates = new TemplateStore<SandboxOutcome>((key) => this.#forget(key));
  readonly #closing = new AbortController();
  /** What each tool's last call started from. */
  readonly #last = new WeakMap<QuickJsImplementation, Template>();
  #pool: WorkerPool | Promise<WorkerPool> | undefined;
  /** Set as soon as the pool is open. */
  #host: CallHost | undefined;
  #egress: Egress | undefined;

  constructor({ workers, egress }: QuickJsSandboxOptions = {}) {
    this.#workers = workers;
    this.#egressOptions = egress;
  }

  unenforceable(limits: ResourceLimits): LimitName | undefined {
    return unenforceableLimit(limits);
  }

  async prepare({ quickjs }: ToolImplementations): Promise<void> {
    if (quickjs === undefined) return;
    const loaded = await this.#load(quickjs, QUICKJS_DEFAULT_LIMITS, {}, SILENT);
    if (!("status" in loaded)) return;
    if (loaded.status !== "failed") throw new ToolPreparationError(`loading it ended with ${loaded.status}`);
    const { detail, message } = loaded;
    throw new ToolPreparationError(detail === undefined ? message : describeLoadFailure(detail));
  }

  run(task: SandboxTask): Promise<SandboxOutcome> {
    const { quickjs } = task.implementations;
    const limits = completeLimits(task.limits);
    const last = quickjs && this.#last.get(quickjs);
    // Most calls start from the same template as the last one, and can start synchronously.
    if (last === undefined || this.#host === undefined || task.capabilities.fs !== undefined) {
      return this.#loadAndRun(task, limits);
    }
    return isKindFor(last, limits, task.capabilities) && this.#templates.use(last)
      ? QuickJsCall.run(this.#host, task, limits, last)
      : this.#loadAndRun(task, limits);
  }

  async #loadAndRun(task: SandboxTask, limits: QuickJsLimits): Promise<SandboxOutcome> {
    const { implementations, capabilities, signal, observer } = task;
    try {
      const { quickjs } = implementations;
      if (quickjs === undefined) throw new ToolPreparationError("the tool has no implementation for QuickJS");
      if (capabilities.fs !== undefined) checkDirectories(capabilities.fs);
      // Loading is for all calls to come, so it goes on when this one no longer waits for it.
      const loaded = await untilAborted(this.#load(quickjs, limits, capabilities, observer), signal);
      if (loaded === "aborted") return { status: "cancelled", effect: "none", used: { wallTimeMs: 0 } };
      if ("status" in loaded) return loaded;
      this.#last.set(quickjs, loaded);
      const pool = await this.#openPool();
      this.#host ??= { pool, openEgress: this.#openEgress, closing: this.#closing.signal };
      return await QuickJsCall.run(this.#host, task, limits, loaded);
    } catch (error) {
      return notStarted(error);
    }
  }

  /** Finds or loads the template of a tool for limits and capabilities. Returns an outcome if loading failed. */
  async #load(
    implementation: QuickJsImplementation,
    limits: QuickJsLimits,
    capabilities: Capabilities,
    observer: TaskObserver,
  ): Promise<Template | SandboxOutcome> {
    const source = await this.#source(implementation);
    const kind = templateKind(source.key, limits, capabilities);
    const known = this.#templates.find(kind.key);
    if (known !== undefined) return known;
    return this.#templates.load(kind, limits.wallTimeMs, async () =>
      loadTemplate(await this.#openPool(), source, kind, limits, observer),
    );
  }

  /** Opens a tool's modules once; if that fails, the next call tries again. */
  #source(implementation: QuickJsImplementation): ToolSource | Promise<ToolSource> {
    const known = this.#sources.get(implementation);
    if (known !== undefined) return known;
    const opening = ToolSource.open(implementation);
    this.#sources.set(implementation, opening);
    opening.then(
      (source) => this.#sources.set(implementation, source),
      () => this.#sources.delete(implementation),
    );
    return opening;
  }

  #openPool(): WorkerPool | Promise<WorkerPool> {
    if (this.#closing.signal.aborted) throw new ToolPreparationError("the sandbox is closed");
    this.#pool ??= compileEngine().then((engine) => {
      if (this.#closing.signal.aborted) throw new ToolPreparationError("the sandbox is closed");
      const data: QuickJsThreadData = { engine };
      const entry = entryFile("sandboxes/quickjs/thread/worker-entry");
      this.#pool = new WorkerPool({ entry, limits: THREAD_LIMITS, data }, this.#workers);
      return this.#pool;
    });
    return this.#pool;
  }

  readonly #openEgress = (): Egress => {
    if (this.#closing.signal.aborted) throw new ToolPreparationError("the sandbox is closed");
    this.#egress ??= new Egress(this.#egressOptions);
    return this.#egress;
  };

  /** What is no longer kept here, no thread keeps either. */
  #forget(template: string): void {
    if (this.#pool instanceof WorkerPool) this.#pool.forget(template);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const pool = await Promise.resolve(this.#pool).catch(() => undefined);
    await pool?.close();
    await this.#egress?.close();
  }
}

const SILENT: TaskObserver = { output: () => {}, log: () => {} };
