import { entryFile } from "../../base/package-files.ts";
import { race } from "../../base/timers.ts";
import type { CapabilityName } from "../../policy/grant/capabilities.ts";
import type { LimitName, ResourceLimits } from "../../policy/grant/limits.ts";
import type {
  QuickJsImplementation,
  ToolImplementations,
} from "../../tool/implementations/implementations.ts";
import { workspaceIsSupported } from "../../workspace/paths.ts";
import { checkDirectories } from "../../workspace/workspace.ts";
import { refuseUnbound } from "../contract/bound-grant.ts";
import { GuestMemory } from "../contract/guest-memory.ts";
import type { SandboxOutcome } from "../contract/outcome.ts";
import {
  type Sandbox,
  type SandboxTask,
  type TaskObserver,
  ToolPreparationError,
} from "../contract/sandbox.ts";
import { type SuspendedTask, SuspensionError, type TaskSuspension } from "../contract/suspension.ts";
import type { OpenEgress } from "../guest-services/http-service.ts";
import { callerOf } from "../threads/pool-task.ts";
import { type PoolOptions, WorkerPool } from "../threads/worker-pool.ts";
import { compileEngine } from "./engine/engine-binary.ts";
import { notResumed, notStarted } from "./outcome.ts";
import { type CallHost, QuickJsCall } from "./quickjs-call.ts";
import {
  completeLimits,
  QUICKJS_DEFAULT_LIMITS,
  type QuickJsLimits,
  unenforceableLimit,
} from "./quickjs-limits.ts";
import { engineBuild, otherBuildText } from "./suspension/engine-build.ts";
import { readTemplate } from "./suspension/waiting-guest.ts";
import {
  type FoundTemplate,
  isKindFor,
  loadTemplate,
  type Template,
  type TemplateCall,
  TemplateStore,
  templateKind,
} from "./template-store.ts";
import { ToolSource } from "./tool-source.ts";

/** The longest stack frame in which a position is looked for, in characters. */
const MAX_FRAME_LENGTH = 1_024;

/** Options of {@link QuickJsSandbox}. */
export interface QuickJsSandboxOptions {
  readonly workers?: PoolOptions;
  /** Opens the egress for tools' requests. */
  readonly openEgress: OpenEgress;
  /** The memory for guests that wait, and for what is in flight for them. Default: one of its own. */
  readonly memory?: GuestMemory;
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
 * Runs untrusted JavaScript in QuickJS, compiled to WebAssembly, in a pool of threads. A tool is evaluated
 * once and saved as a snapshot, and each call starts from it in its own heap: no call sees data of another.
 * Only JSON text crosses between guest and host, and the linear memory cannot grow beyond its cap. A guest
 * has the language, `console` and the context of its call, and can reach outside only what the call's grant
 * allows: other tools, HTTP requests, files.
 */
export class QuickJsSandbox implements Sandbox {
  readonly mode = "quickjs";
  readonly capabilities: ReadonlySet<CapabilityName> = new Set(CAPABILITIES);
  readonly defaults: ResourceLimits = QUICKJS_DEFAULT_LIMITS;
  readonly suspends = true;
  readonly #workers: PoolOptions | undefined;
  readonly #openEgress: OpenEgress;
  readonly #sources = new WeakMap<QuickJsImplementation, ToolSource | Promise<ToolSource>>();
  readonly #templates = new TemplateStore<SandboxOutcome>((key) => this.#forget(key));
  readonly #closing = new AbortController();
  readonly #memory: GuestMemory;
  /** The template of each tool's last call. */
  readonly #last = new WeakMap<QuickJsImplementation, Template>();
  #pool: WorkerPool | undefined;
  /** Set as soon as the pool is open. */
  #host: CallHost | undefined;

  constructor({ workers, openEgress, memory = new GuestMemory() }: QuickJsSandboxOptions) {
    this.#workers = workers;
    this.#openEgress = openEgress;
    this.#memory = memory;
  }

  unenforceable(limits: ResourceLimits): LimitName | undefined {
    return unenforceableLimit(limits);
  }

  async prepare({ quickjs }: ToolImplementations): Promise<void> {
    if (quickjs === undefined) return;
    const loaded = await this.#load(quickjs, QUICKJS_DEFAULT_LIMITS, { observer: SILENT });
    if (!("status" in loaded)) return;
    const { detail } = loaded;
    if (loaded.status === "timeout" && detail !== undefined) {
      throw new ToolPreparationError(describeLoadFailure(detail.replace(/^.*/, "loading it took too long")));
    }
    if (loaded.status !== "failed") throw new ToolPreparationError(`loading it ended with ${loaded.status}`);
    const { message } = loaded;
    throw new ToolPreparationError(detail === undefined ? message : describeLoadFailure(detail));
  }

  run(task: SandboxTask): SandboxOutcome | Promise<SandboxOutcome> {
    const refused = refuseUnbound(task, "quickjs");
    if (refused !== undefined) return refused;
    const { quickjs } = task.implementations;
    const limits = completeLimits(task.limits);
    const last = quickjs && this.#last.get(quickjs);
    // Most calls start from the same template as the last one, and can start synchronously.
    const isSuspended = task.suspension?.from !== undefined;
    if (last === undefined || this.#host === undefined || task.capabilities.fs !== undefined || isSuspended) {
      return this.#loadAndRun(task, limits);
    }
    return isKindFor(last, limits) && this.#templates.use(last)
      ? QuickJsCall.run(this.#host, task, limits, { template: last, loadMs: 0, waitedMs: 0 })
      : this.#loadAndRun(task, limits);
  }

  async #loadAndRun(task: SandboxTask, limits: QuickJsLimits): Promise<SandboxOutcome> {
    const { implementations, capabilities, signal, observer, suspension, turn } = task;
    /** What a call may have done that does not start here. */
    const before = suspension?.from === undefined ? "none" : "unknown";
    let start: { readonly host: CallHost; readonly found: FoundTemplate };
    try {
      const { quickjs } = implementations;
      if (quickjs === undefined) throw new ToolPreparationError("the tool has no implementation for QuickJS");
      if (capabilities.fs !== undefined) checkDirectories(capabilities.fs);
      // Later calls need the template too, so loading continues if this call is cancelled.
      const loading =
        suspension?.from === undefined
          ? this.#load(quickjs, limits, { observer, caller: callerOf(task) })
          : this.#reload(suspension, suspension.from, limits);
      // Other calls may load it, and take turns for the threads.
      turn?.waits();
      const loaded = await race(loading, { signals: [signal] });
      turn?.begins();
      if (loaded === "aborted") return { status: "cancelled", effect: before, used: { wallTimeMs: 0 } };
      if ("status" in loaded) return loaded;
      const { template } = loaded;
      // The tool may have changed since it was suspended.
      if (suspension?.from === undefined) this.#last.set(quickjs, template);
      this.#host ??= {
        pool: this.#openPool(),
        engine: await compileEngine(),
        openEgress: this.#openEgress,
        memory: this.#memory,
        closing: this.#closing.signal,
      };
      start = { host: this.#host, found: loaded };
    } catch (error) {
      return { ...notStarted(error), effect: before };
    }
    return QuickJsCall.run(start.host, task, limits, start.found);
  }

  /** Finds or loads the template of a tool for limits. Returns an outcome if loading failed. */
  async #load(
    implementation: QuickJsImplementation,
    limits: QuickJsLimits,
    call: TemplateCall,
  ): Promise<FoundTemplate | SandboxOutcome> {
    // The first thread starts while the engine is compiled and the tool is read.
    const pool = this.#openPool();
    const compiling = compileEngine();
    const [source] = await Promise.all([this.#source(implementation), compiling]);
    const kind = templateKind(source.key, limits);
    const known = this.#templates.find(kind.key);
    if (known !== undefined) return { template: known, loadMs: 0, waitedMs: 0 };
    const loaded = await this.#templates.load(kind, limits.wallTimeMs, async () =>
      loadTemplate({ pool, engine: await compiling }, source, kind, limits, call),
    );
    if ("status" in loaded) return loaded;
    return { template: loaded, loadMs: loaded.loadMs, waitedMs: loaded.loadWaitedMs };
  }

  /**
   * Finds or loads the stored template of a suspended call. Returns an outcome if the call cannot continue.
   */
  async #reload(
    suspension: TaskSuspension,
    { build, template: digest }: SuspendedTask,
    limits: QuickJsLimits,
  ): Promise<FoundTemplate | SandboxOutcome> {
    if (build !== engineBuild()) {
      return notResumed(new SuspensionError(otherBuildText(build)));
    }
    const kind = templateKind(`stored ${digest}`, limits);
    const known = this.#templates.find(kind.key);
    if (known !== undefined) return { template: known, loadMs: 0, waitedMs: 0 };
    const loaded = await this.#templates.load(kind, limits.wallTimeMs, async () => {
      try {
        const stored = await suspension.template(digest);
        if (stored === undefined) throw new SuspensionError("its template is not stored");
        return { snapshot: readTemplate(stored, digest), positions: undefined, wallTimeMs: 0, waitedMs: 0 };
      } catch (error) {
        return notResumed(error);
      }
    });
    return "status" in loaded ? loaded : { template: loaded, loadMs: 0, waitedMs: 0 };
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

  #openPool(): WorkerPool {
    if (this.#closing.signal.aborted) throw new ToolPreparationError("the sandbox is closed");
    const entry = entryFile("sandboxes/quickjs/thread/worker-entry");
    this.#pool ??= new WorkerPool({ entry, limits: THREAD_LIMITS }, this.#workers);
    return this.#pool;
  }

  /** Makes the threads drop a template that was evicted here. */
  #forget(template: string): void {
    this.#pool?.forget(template);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#pool?.close();
  }
}

const SILENT: TaskObserver = { output: () => {}, log: () => {} };

/**
 * Describes why a module failed to load, starting with the position: `lib/check.ts:2:9: TypeError: …`. It takes
 * time linear in the length of `detail`, which the guest controls.
 *
 * @param detail The name and message of the error, followed by the lines of its stack.
 */
export function describeLoadFailure(detail: string): string {
  const lines = detail.trimEnd().split("\n");
  const firstFrame = lines.findIndex(isFrame);
  if (firstFrame < 0) return lines.join("\n");
  const thrown = lines.slice(0, firstFrame).join("\n");
  for (const line of lines.slice(firstFrame)) {
    const position = positionIn(line);
    if (position !== undefined) return `${position}: ${thrown}`;
  }
  return thrown;
}

function isFrame(line: string): boolean {
  return line.startsWith(" ") && line.trimStart().startsWith("at ");
}

/** The position in a frame such as `    at f (lib/check.ts:2:9)`. */
function positionIn(frame: string): string | undefined {
  if (!isFrame(frame) || frame.length > MAX_FRAME_LENGTH) return undefined;
  const location = frame.slice(frame.lastIndexOf("(") + 1).replace(/\)$/, "");
  const position = location.trim().split(/\s/).at(-1) ?? "";
  return /^.+:\d+:\d+$/.test(position) ? position : undefined;
}
