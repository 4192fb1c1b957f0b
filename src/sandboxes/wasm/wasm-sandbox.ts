import { entryFile } from "../../base/package-files.ts";
import { race } from "../../base/timers.ts";
import type { CapabilityName } from "../../policy/grant/capabilities.ts";
import type { LimitName, ResourceLimits } from "../../policy/grant/limits.ts";
import type { ToolImplementations, WasmImplementation } from "../../tool/implementations/implementations.ts";
import type { KeyValueStores } from "../../tool/key-value-store.ts";
import { workspaceIsSupported } from "../../workspace/paths.ts";
import { checkDirectories } from "../../workspace/workspace.ts";
import { refuseUnbound } from "../contract/bound-grant.ts";
import { GuestMemory } from "../contract/guest-memory.ts";
import type { SandboxOutcome } from "../contract/outcome.ts";
import { type Sandbox, type SandboxTask, ToolPreparationError } from "../contract/sandbox.ts";
import type { ExternalResources } from "../guest-services/call-services.ts";
import type { OpenEgress } from "../guest-services/http-service.ts";
import { type PoolOptions, WorkerPool } from "../threads/worker-pool.ts";
import { ComponentCache, defaultCacheDirectory } from "./component/cache.ts";
import { ComponentLoader } from "./component/loader.ts";
import { GUEST_CALL, GUEST_INTERFACE, isGuestCall } from "./exports/guest-interface.ts";
import { argumentsSchema, NoJsonError } from "./exports/json-schema.ts";
import type { ComponentFunction } from "./linking/link-plan.ts";
import { memoryExceeded, unavailable } from "./outcome.ts";
import { type ReadyTool, runWasmCall, unenforceableLimit, WASM_DEFAULTS } from "./wasm-call.ts";

/** How many exports an error message lists. */
const MAX_NAMED = 20;

/** Options of {@link WasmSandbox}. */
export interface WasmSandboxOptions {
  /** Where to cache which components are valid. Default: `sandgate/wasm` in the user's cache directory. */
  readonly cacheDirectory?: string;
  /** Options of the thread pool. */
  readonly workers?: PoolOptions;
  /** Opens the egress for components' requests. If not set, grants with `net` are refused. */
  readonly openEgress?: OpenEgress;
  /** The stores for components' values. If not set, grants with `keyValue` are refused. */
  readonly keyValue?: KeyValueStores;
  /** The memory for what is in flight for guests. Default: one of its own. */
  readonly memory?: GuestMemory;
}

const CAPABILITIES: readonly CapabilityName[] = [
  "env",
  "clock",
  "random",
  "tools",
  ...(workspaceIsSupported() ? (["fs"] as const) : []),
  "reuse",
  "engine",
  "frozenClock",
  "randomSeed",
];

/**
 * Values that a component passes to the host live on the thread's heap, outside the component's memories. The young
 * generation is small, because what a call leaves there counts against no limit.
 */
const THREAD_LIMITS = Object.freeze({ maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 12 });

/**
 * Runs functions of untrusted WebAssembly components in a pool of threads. Every call gets a fresh instance (a new one,
 * or one restored to its initial state), unless the grant allows reuse. Arguments and outputs are passed as JSON text,
 * memories cannot grow beyond their cap, and only granted capabilities are accessible. Each component is validated
 * once, by wasm-tools in a thread, and the result is cached on disk.
 */
export class WasmSandbox implements Sandbox {
  readonly mode = "wasm";
  readonly capabilities: ReadonlySet<CapabilityName>;
  readonly defaults: ResourceLimits = WASM_DEFAULTS;
  readonly #loader: ComponentLoader;
  readonly #workers: PoolOptions | undefined;
  readonly #resources: ExternalResources;
  /** What each tool's last call ran with, so that the next call does not have to wait. */
  readonly #ready = new WeakMap<WasmImplementation, ReadyTool>();
  #pool: WorkerPool | undefined;
  readonly #closing = new AbortController();

  constructor({
    cacheDirectory,
    workers,
    openEgress,
    keyValue,
    memory = new GuestMemory(),
  }: WasmSandboxOptions = {}) {
    this.#loader = new ComponentLoader(new ComponentCache(cacheDirectory ?? defaultCacheDirectory()));
    this.#workers = workers;
    this.#resources = { keyValue, openEgress, memory };
    this.capabilities = new Set([
      ...CAPABILITIES,
      ...(openEgress === undefined ? [] : (["net"] as const)),
      ...(keyValue === undefined ? [] : (["keyValue"] as const)),
    ]);
  }

  /** The same limits are enforced for every component. */
  unenforceable(limits: ResourceLimits): LimitName | undefined {
    return unenforceableLimit(limits);
  }

  /** Code that jco generated runs only where a grant says so. */
  requiredCapability({ wasm }: ToolImplementations<never, never>): CapabilityName | undefined {
    return wasm?.engine === "jco" ? "engine" : undefined;
  }

  async prepare({ wasm }: ToolImplementations): Promise<void> {
    if (wasm === undefined) return;
    // The first thread starts while the component is read and compiled.
    this.#openPool();
    const component = await this.#loader.load(wasm);
    findExport(component.exports, wasm);
    await component.withCap(Math.max(WASM_DEFAULTS.memoryBytes, component.initialBytes));
  }

  async run(task: SandboxTask): Promise<SandboxOutcome> {
    const { wasm } = task.implementations;
    if (wasm === undefined) return unavailable("the tool has no implementation for Wasm");
    const refused = refuseUnbound(task, "wasm");
    if (refused !== undefined) return refused;
    if (wasm.engine === "jco" && task.capabilities.engine !== "jco") {
      return unavailable("the tool runs in the engine 'jco', which is not granted");
    }
    const { memoryBytes = WASM_DEFAULTS.memoryBytes } = task.limits;
    let pool: WorkerPool;
    let ready: ReadyTool;
    try {
      checkDirectories(task.capabilities.fs ?? []);
      pool = this.#openPool();
      const known = this.#ready.get(wasm);
      const found =
        known?.memoryBytes === memoryBytes
          ? known
          : await race(this.#makeReady(wasm, memoryBytes, task.toolName), {
              signals: [this.#closing.signal, task.signal],
            });
      if (found === "aborted") return { status: "cancelled", effect: "none", used: { wallTimeMs: 0 } };
      if (found === "needs-more-memory") return memoryExceeded();
      ready = found;
    } catch (error) {
      return unavailable(error instanceof ToolPreparationError ? error.message : String(error));
    }
    return runWasmCall(pool, ready, task, this.#resources);
  }

  async #makeReady(
    wasm: WasmImplementation,
    memoryBytes: number,
    toolName: string,
  ): Promise<ReadyTool | "needs-more-memory"> {
    const component = await this.#loader.load(wasm);
    const name = findExport(component.exports, wasm);
    if (component.initialBytes > memoryBytes) return "needs-more-memory";
    const capped = await component.withCap(memoryBytes);
    // One export can run several tools.
    const id = `${capped.key} ${name} ${wasm.tool ?? toolName}`;
    const ready = { ...capped, export: name, id, memoryBytes };
    this.#ready.set(wasm, ready);
    return ready;
  }

  /** The sandbox can be closed during preparation. Resources opened after that would never be closed. */
  #refuseIfClosed(): void {
    if (this.#closing.signal.aborted) throw new ToolPreparationError("the sandbox is closed");
  }

  #openPool(): WorkerPool {
    this.#refuseIfClosed();
    this.#pool ??= new WorkerPool(
      { entry: entryFile("sandboxes/wasm/thread/worker-entry"), limits: THREAD_LIMITS },
      this.#workers,
    );
    return this.#pool;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.#loader.close(), this.#pool?.close()]);
  }
}

/**
 * Returns the name of the exported function that runs a tool.
 *
 * @throws {ToolPreparationError} if the component does not export it, or it cannot be called with JSON.
 */
export function findExport(
  exports: ReadonlyMap<string, ComponentFunction>,
  implementation: WasmImplementation,
): string {
  const name = implementation.export ?? GUEST_CALL;
  const found = exports.get(name);
  if (found === undefined) throw new ToolPreparationError(explainMissing(exports, implementation));
  if (name !== GUEST_CALL) checkCallable(name, found);
  else if (!isGuestCall(found.type)) {
    throw new ToolPreparationError(
      `its 'call' does not have the type that '${GUEST_INTERFACE}' declares (see wit/tool.wit)`,
    );
  }
  return name;
}

function checkCallable(name: string, { type }: ComponentFunction): void {
  try {
    argumentsSchema(type);
  } catch (error) {
    if (!(error instanceof NoJsonError)) throw error;
    throw new ToolPreparationError(`its export '${name}' cannot be a tool: ${error.message}`);
  }
}

function explainMissing(
  exports: ReadonlyMap<string, ComponentFunction>,
  implementation: WasmImplementation,
): string {
  const names = [...exports.keys()].slice(0, MAX_NAMED).map((name) => `'${name.slice(0, 128)}'`);
  const has = names.length === 0 ? "it exports no functions" : `it exports ${names.join(", ")}`;
  if (implementation.export !== undefined) return `it does not export '${implementation.export}': ${has}`;
  return `it does not export '${GUEST_INTERFACE}' (see wit/tool.wit), and 'export' is not set: ${has}`;
}
