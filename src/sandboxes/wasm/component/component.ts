import { LruMap } from "../../../base/lru-map.ts";
import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { CompiledCore, WasmArtifact } from "../artifact.ts";
import { limitCoreModule } from "../core-module/core-limits.ts";
import { type CoreModule, readCoreModule } from "../core-module/core-module.ts";
import { checkCoreName } from "../core-module/core-name.ts";
import {
  divideMemory,
  type InstantiatedModule,
  initialMemoryBytes,
  MAX_TABLE_ELEMENTS,
  PAGE_BYTES,
} from "../core-module/memory-budget.ts";
import { mutableGlobals } from "../core-module/mutable-state.ts";
import { startsAtOnce } from "../core-module/start-function.ts";
import type { ReadComponent } from "../linking/component-reader.ts";
import type { ComponentFunction, LinkPlan } from "../linking/link-plan.ts";

const MAX_CAPS = 8;

/** More code is not read: that takes 25 ms of the main thread for each MiB. */
const MAX_READ_BYTES = 1_024 * 1_024;

/** Restoring larger memories takes longer than making an instance. */
const MAX_RESTORED_BYTES = 4 * 1_024 * 1_024;

/** What all its instances together evaluate when they are made: more than a tenth of a second is too long. */
const MAX_INITIALISER_BYTES = 1_024 * 1_024;

interface ReadModule extends InstantiatedModule {
  readonly binary: Uint8Array;
  readonly module: CoreModule;
}

/** A component made ready for a memory cap, and the name under which threads keep it. */
export interface CappedComponent {
  readonly key: string;
  readonly artifact: WasmArtifact;
}

/** A component that passed the gates and was validated. It is compiled once for each memory cap. */
export class Component {
  /** Bytes that its memories and tables take from the start: with a lower cap it cannot run. */
  readonly initialBytes: number;
  readonly #digest: string;
  readonly #plan: LinkPlan;
  readonly #modules: readonly ReadModule[];
  /** Read once, when it is first made ready. */
  #state: CodeState | undefined;
  readonly #capped = new LruMap<number, Promise<CappedComponent>>(MAX_CAPS);

  /**
   * @param digest The component's own, in hex.
   * @throws {ToolPreparationError} when it would make too many memories or tables, or evaluate too much to make them.
   */
  constructor(digest: string, { plan, coreModules }: ReadComponent) {
    this.#digest = digest;
    this.#plan = plan;
    this.#modules = coreModules.map((binary, index) => ({
      binary,
      module: readCoreModule(binary),
      instances: plan.coreInstances.filter(({ module }) => module === index).length,
    }));
    this.initialBytes = initialMemoryBytes(this.#modules);
    const evaluated = this.#modules.reduce(
      (sum, { module, instances }) => sum + module.initialiserBytes * instances,
      0,
    );
    if (evaluated > MAX_INITIALISER_BYTES) {
      throw new ToolPreparationError(
        `its instances evaluate more than ${MAX_INITIALISER_BYTES} bytes of globals, elements and offsets`,
      );
    }
  }

  /** The functions that it exports: those of an interface as `interface#function`. */
  get exports(): ReadonlyMap<string, ComponentFunction> {
    return this.#plan.exports;
  }

  /**
   * The component, compiled so that its memories can never take more than `capBytes` together.
   *
   * @param capBytes At least {@link initialBytes}.
   * @throws {ToolPreparationError} when a core module does not compile.
   */
  withCap(capBytes: number): Promise<CappedComponent> {
    const capPages = Math.floor(capBytes / PAGE_BYTES);
    const known = this.#capped.get(capPages);
    if (known !== undefined) return known;
    const compiling = this.#compile(capPages);
    this.#capped.set(capPages, compiling);
    compiling.catch(() => this.#capped.delete(capPages));
    return compiling;
  }

  async #compile(capPages: number): Promise<CappedComponent> {
    const caps = divideMemory(this.#modules, capPages);
    this.#state ??= this.#readState();
    const { startsAtOnce, globals } = this.#state;
    const cores = await Promise.all(
      this.#modules.map(async ({ binary }, index): Promise<CompiledCore> => {
        const memories = caps[index] ?? [];
        const pages = memories.map(({ maxPages }) => maxPages);
        const own = globals?.get(index) ?? [];
        const limited = limitCoreModule(binary, pages, MAX_TABLE_ELEMENTS, own);
        return { memories, globals: own, module: await compile(limited) };
      }),
    );
    const artifact: WasmArtifact = {
      ...{ plan: this.#plan, cores, initialBytes: this.initialBytes },
      startsAtOnce,
      isRestorable: globals !== undefined,
    };
    return { key: `${this.#digest}:${capPages}`, artifact };
  }

  /** What the code of its core modules does, as far as it is instantiated. */
  #readState(): CodeState {
    const used = [...this.#modules.entries()].filter(([, { instances }]) => instances > 0);
    const isBounded = used.every(([, { module }]) => startsAtOnce(module));
    const codeBytes = used.reduce((sum, [, { module }]) => sum + (module.code?.length ?? 0), 0);
    if (!isBounded || codeBytes > MAX_READ_BYTES || this.initialBytes > MAX_RESTORED_BYTES) {
      return { startsAtOnce: isBounded, globals: undefined };
    }
    const globals = new Map<number, readonly number[]>();
    for (const [index, { module }] of used) {
      const own = mutableGlobals(module);
      if (own === undefined) return { startsAtOnce: isBounded, globals: undefined };
      globals.set(index, own);
    }
    return { startsAtOnce: isBounded, globals };
  }
}

/** What is known of a component's code. */
interface CodeState {
  /** Whether making an instance takes no time to speak of. */
  readonly startsAtOnce: boolean;
  /** By module, what has to be restored of an instance beside its memories; `undefined` when that is not all. */
  readonly globals: ReadonlyMap<number, readonly number[]> | undefined;
}

/** Compiles a core module, and holds its names to the alphabet once more, as V8 reads them. */
async function compile(binary: Uint8Array): Promise<WebAssembly.Module> {
  let module: WebAssembly.Module;
  try {
    module = await WebAssembly.compile(binary as BufferSource);
  } catch (error) {
    throw new ToolPreparationError(`a core module does not compile: ${String(error)}`);
  }
  for (const { name } of WebAssembly.Module.exports(module)) checkCoreName(name);
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    checkCoreName(from);
    checkCoreName(name);
  }
  return module;
}
