import { LruMap } from "../../base/lru-map.ts";
import { boundFailure } from "../contract/failure.ts";
import type { SandboxOutcome } from "../contract/outcome.ts";
import { type TaskObserver, ToolPreparationError } from "../contract/sandbox.ts";
import type { PoolTaskOptions } from "../threads/pool-task.ts";
import { DEFAULT_LOG_BUDGET } from "../threads/thread-message.ts";
import type { WorkerPool } from "../threads/worker-pool.ts";
import type { Snapshot } from "./engine/suspended-guest.ts";
import { readQuickJsOutcome } from "./outcome.ts";
import { INTERRUPT_GRACE_MS, type QuickJsLimits } from "./quickjs-limits.ts";
import { type Positions, sizeOfPositions } from "./source-maps.ts";
import { decodeOutcome, encodeTask, type QuickJsTask, type WireAnswer } from "./thread/thread-task.ts";
import type { ToolSource } from "./tool-source.ts";

/** The maximum size of all cached templates, in bytes. The least recently used ones are evicted first. */
const MAX_CACHED_BYTES = 256 * 1_024 * 1_024;

/** Identifies the template that a call starts from, by everything that evaluating the tool depends on. */
export interface TemplateKind {
  /** Identifies it among all templates. */
  readonly key: string;
  /** Identifies the tool's program, independently of limits. */
  readonly tool: string;
  readonly memoryBytes: number;
  readonly stackBytes: number;
}

/** An evaluated tool, and how long the evaluation took. */
export interface LoadedTool {
  readonly snapshot: Snapshot;
  /** Where the code was written, if the modules have source maps. */
  readonly positions: Positions | undefined;
  /** Milliseconds, without the time in which no thread was free. */
  readonly wallTimeMs: number;
  /** Milliseconds in which no thread was free. */
  readonly waitedMs: number;
}

/** A loaded and cached tool. */
export interface Template extends TemplateKind {
  readonly snapshot: Snapshot;
  /** See {@link LoadedTool.positions}. */
  readonly positions: Positions | undefined;
  /** How long loading it took, in ms. */
  readonly loadMs: number;
  /** How long loading it waited for a thread, in ms. */
  readonly loadWaitedMs: number;
}

/**
 * Returns the kind of template for a call of a program.
 *
 * @param tool Identifies the program.
 */
export function templateKind(tool: string, { memoryBytes, stackBytes }: QuickJsLimits): TemplateKind {
  return { key: `${tool} ${memoryBytes} ${stackBytes}`, tool, memoryBytes, stackBytes };
}

/** Whether a call of the same program can start from a template of this kind. */
export function isKindFor({ memoryBytes, stackBytes }: TemplateKind, limits: QuickJsLimits): boolean {
  return memoryBytes === limits.memoryBytes && stackBytes === limits.stackBytes;
}

/** A template, and how much of the call's wall time loading it took. */
export interface FoundTemplate {
  readonly template: Template;
  /** Milliseconds; 0 if the template was loaded before. */
  readonly loadMs: number;
  /** How long the call waited for a thread that loads it, in ms; 0 if the template was loaded before. */
  readonly waitedMs: number;
}

/** The templates of all tools. Each is loaded once and shared by all threads. */
export class TemplateStore<Failure> {
  readonly #templates: LruMap<string, Template>;
  readonly #loading = new Map<string, Promise<Template | Failure>>();

  /** @param onEvicted Called with the key of each template that is evicted. */
  constructor(onEvicted: (key: string) => void) {
    this.#templates = new LruMap(MAX_CACHED_BYTES, { sizeOf: bytesOf, onEvicted });
  }

  find(key: string): Template | undefined {
    return this.#templates.get(key);
  }

  /** Marks a template as used. Returns `false` if it is no longer cached. */
  use(template: Template): boolean {
    return this.#templates.get(template.key) === template;
  }

  /**
   * Loads a template, or joins a load with the same wall time. Failures are not cached.
   *
   * @param wallTimeMs How long loading may take. Calls with different wall times load separately, since one may time
   *   out and the other not.
   */
  load(
    kind: TemplateKind,
    wallTimeMs: number,
    load: () => Promise<LoadedTool | Failure>,
  ): Promise<Template | Failure> {
    const loadingKey = `${kind.key} ${wallTimeMs}`;
    const known = this.#loading.get(loadingKey);
    if (known !== undefined) return known;
    const loading = load()
      .then((loaded) => (isLoaded(loaded) ? this.#add(kind, loaded) : loaded))
      .finally(() => this.#loading.delete(loadingKey));
    this.#loading.set(loadingKey, loading);
    return loading;
  }

  #add(kind: TemplateKind, loaded: LoadedTool): Template {
    const { snapshot, positions, wallTimeMs: loadMs, waitedMs: loadWaitedMs } = loaded;
    const template = { ...kind, snapshot, positions, loadMs, loadWaitedMs };
    this.#templates.set(template.key, template);
    return template;
  }
}

function bytesOf({ snapshot, positions }: Template): number {
  return snapshot.bytes.byteLength + sizeOfPositions(positions);
}

function isLoaded(loaded: unknown): loaded is LoadedTool {
  return typeof loaded === "object" && loaded !== null && "snapshot" in loaded;
}

/** The call for which a tool is evaluated. */
export interface TemplateCall {
  readonly observer: TaskObserver;
  /** Who waits for it. Default: it is not known. */
  readonly caller?: Pick<PoolTaskOptions, "caller" | "session">;
}

/**
 * Evaluates a tool under the limits of a call; the wall time limits the whole process. The engine reports
 * which files the modules import. A missing file is read and the evaluation starts again, so the tool's code
 * does not run before all files are available.
 */
export async function loadTemplate(
  { pool, engine }: { readonly pool: WorkerPool; readonly engine: WebAssembly.Module },
  source: ToolSource,
  { key: owner, tool }: TemplateKind,
  { wallTimeMs, memoryBytes, outputBytes, stackBytes, logLines }: QuickJsLimits,
  { observer, caller }: TemplateCall,
): Promise<LoadedTool | SandboxOutcome> {
  let elapsedMs = 0;
  let waitedMs = 0;
  for (;;) {
    const leftMs = wallTimeMs - elapsedMs;
    if (leftMs <= 0) return { status: "timeout", effect: "none", used: { wallTimeMs: elapsedMs } };
    const times = { wallTimeMs: leftMs, graceMs: INTERRUPT_GRACE_MS, waitedMs };
    const options = { ...times, signal: undefined, observer, tool, ...caller };
    const task: QuickJsTask = {
      step: { kind: "load", engine, program: source.program, stackBytes },
      owner,
      wallTimeMs: leftMs,
      memoryBytes,
      outputBytes,
      log: { lines: logLines, bytes: DEFAULT_LOG_BUDGET.bytes },
      nested: { left: 0, granted: 0 },
      access: undefined,
      frozenClock: undefined,
      toolNames: undefined,
    };
    const outcome = decodeOutcome(await pool.run<WireAnswer>(encodeTask(task), options));
    elapsedMs += outcome.wallTimeMs;
    waitedMs += outcome.waitedMs ?? 0;
    const used = waitedMs > 0 ? { wallTimeMs: elapsedMs, waitedMs } : { wallTimeMs: elapsedMs };
    const answer = outcome.status === "returned" ? outcome.result : undefined;
    switch (answer?.status) {
      case "loaded":
        return { snapshot: answer.template, positions: answer.positions, wallTimeMs: elapsedMs, waitedMs };
      case "invalid_types":
        if (source.isEntry(answer.module)) throw new ToolPreparationError(answer.message);
        return { status: "failed", effect: "none", used, message: answer.message };
      case "needs_module":
        break;
      default:
        return readQuickJsOutcome(outcome, used, "none", outputBytes);
    }
    const readFrom = performance.now();
    try {
      await source.read(answer.name);
    } catch (error) {
      if (!(error instanceof ToolPreparationError)) throw error;
      const failure = boundFailure({ message: `${answer.importer}: ${error.message}` }, outputBytes);
      return { status: "failed", effect: "none", used, ...failure };
    }
    elapsedMs += performance.now() - readFrom;
  }
}
