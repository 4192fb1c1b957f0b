import { LruMap } from "../../../base/lru-map.ts";
import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { CompiledCore, JcoProgram, WasmArtifact } from "../artifact.ts";
import {
  divideMemory,
  type InstantiatedModule,
  initialMemoryBytes,
  limitCoreModule,
  objectBytes,
  PAGE_BYTES,
} from "../core-module/core-limits.ts";
import { readCoreModule } from "../core-module/core-module.ts";
import { checkCoreName } from "../core-module/core-name.ts";
import type { InterruptibleModule } from "../interruptible/interruptible.ts";
import type { LinkedModules } from "../linking/component-reader.ts";
import type { ComponentFunction, LinkPlan } from "../linking/link-plan.ts";
import { type CoreSource, type PreparedCode, prepareCode } from "./prepared-code.ts";

const MAX_CAPS = 8;

/** The maximum size of the initialisers of all core instances. Evaluating more takes over a tenth of a second. */
const MAX_INITIALISER_BYTES = 1_024 * 1_024;

/**
 * How many types the core modules of all components of this process may have: V8 never forgets one, and ends the process
 * at 2,000,000.
 */
const MAX_TYPES_OF_PROCESS = 1_000_000;

/** How many types each component has that was compiled, by its digest. */
const typesOfComponents = new Map<string, number>();
let typesOfProcess = 0;

/** @throws {ToolPreparationError} if this process must not compile the types of another component. */
function countTypes(digest: string, types: number): void {
  if (typesOfComponents.has(digest)) return;
  if (typesOfProcess + types > MAX_TYPES_OF_PROCESS) {
    throw new ToolPreparationError(
      `the components of this process have more than ${MAX_TYPES_OF_PROCESS} types: restart it to load other ones`,
    );
  }
  typesOfComponents.set(digest, types);
  typesOfProcess += types;
}

/** A component prepared for a memory cap, and the key under which threads cache it. */
export interface CappedComponent {
  readonly key: string;
  readonly artifact: WasmArtifact;
}

/** Compiles a core module. */
export type Compile = (binary: Uint8Array) => Promise<WebAssembly.Module>;

/**
 * Compiles a core module. V8 copies it first, before other events are handled.
 *
 * @throws {ToolPreparationError} with V8's message.
 */
export async function compileCore(binary: Uint8Array): Promise<WebAssembly.Module> {
  try {
    return await WebAssembly.compile(binary as BufferSource);
  } catch (error) {
    throw new ToolPreparationError(`a core module does not compile: ${String(error)}`);
  }
}

/** A component that passed the gates and was validated. It is compiled once for each memory cap. */
export class Component {
  /** The initial size of its memories and tables in bytes. It cannot run with a lower cap. */
  readonly initialBytes: number;
  readonly #digest: string;
  readonly #plan: LinkPlan;
  readonly #jco: JcoProgram | undefined;
  readonly #compile: Compile;
  readonly #modules: readonly InstantiatedModule[];
  /** Needed until the code is prepared. */
  #sources: readonly CoreSource[];
  #code: Promise<PreparedCode> | undefined;
  readonly #capped = new LruMap<number, Promise<CappedComponent>>(MAX_CAPS);

  /**
   * @param digest The component's digest, in hex.
   * @param jco Set if it runs with jco's code.
   * @param compile Compiles its core modules.
   * @throws {ToolPreparationError} if it has too many memories or tables, or takes too long to initialise.
   */
  constructor(
    digest: string,
    { plan, coreModules }: LinkedModules,
    jco?: JcoProgram,
    compile: Compile = compileCore,
  ) {
    this.#digest = digest;
    this.#plan = plan;
    this.#jco = jco;
    this.#compile = compile;
    this.#sources = coreModules.map((binary, index) => ({
      binary,
      module: readCoreModule(binary),
      instances: plan.coreInstances.filter(({ module }) => module === index).length,
    }));
    this.#modules = this.#sources.map(({ module, instances }) => ({
      module: { memories: module.memories, tables: module.tables, objectBytes: module.objectBytes },
      instances,
    }));
    this.initialBytes = initialMemoryBytes(this.#modules);
    countTypes(
      digest,
      this.#sources.reduce((sum, { module }) => sum + module.types.length, 0),
    );
    const evaluated = this.#sources.reduce(
      (sum, { module, instances }) => sum + module.initialiserBytes * instances,
      0,
    );
    if (evaluated > MAX_INITIALISER_BYTES) {
      throw new ToolPreparationError(
        `its instances evaluate more than ${MAX_INITIALISER_BYTES} bytes of globals, elements and offsets`,
      );
    }
  }

  /** The exported functions. Those of an interface are named `interface#function`. */
  get exports(): ReadonlyMap<string, ComponentFunction> {
    return this.#plan.exports;
  }

  /**
   * Rewrites its core modules as they will be compiled, except for their limits. They are rewritten once.
   *
   * @throws {ToolPreparationError} if one has instructions that are not supported, or takes too long to compile.
   */
  async interruptibleCores(): Promise<readonly InterruptibleModule[]> {
    return (await this.#prepareCode()).cores;
  }

  #prepareCode(): Promise<PreparedCode> {
    this.#code ??= prepareCode(this.#sources, this.initialBytes).then((code) => {
      this.#sources = [];
      return code;
    });
    return this.#code;
  }

  /**
   * Compiles the component so that its memories and tables cannot take more than `capBytes` together.
   *
   * @param capBytes At least {@link initialBytes}.
   * @throws {ToolPreparationError} if a core module does not compile.
   */
  withCap(capBytes: number): Promise<CappedComponent> {
    const capPages = Math.floor(capBytes / PAGE_BYTES);
    const known = this.#capped.get(capPages);
    if (known !== undefined) return known;
    const compiling = this.#compileAll(capPages);
    this.#capped.set(capPages, compiling);
    compiling.catch(() => this.#capped.delete(capPages));
    return compiling;
  }

  async #compileAll(capPages: number): Promise<CappedComponent> {
    const { cores: prepared, startsAtOnce, globals } = await this.#prepareCode();
    const growsTables = prepared.some((each) => each.growsTables);
    // With tables, the initial size is not a whole number of pages.
    const capBytes = Math.max(capPages * PAGE_BYTES, this.initialBytes);
    const caps = divideMemory(this.#modules, capBytes, growsTables);
    const cores = await Promise.all(
      prepared.map(async ({ binary, exceptionGlobal }, index): Promise<CompiledCore> => {
        const { memories = [], tables = [] } = caps[index] ?? {};
        const own = (this.#jco === undefined && globals?.get(index)) || [];
        const limits = { memories, tables, globals: own, exceptionGlobal };
        const module = await this.#checked(await limitCoreModule(binary, limits));
        return { memories, tables, globals: own, throws: exceptionGlobal !== undefined, module };
      }),
    );
    const artifact: WasmArtifact = {
      plan: this.#plan,
      cores,
      initialBytes: this.initialBytes,
      objectBytes: objectBytes(this.#modules),
      startsAtOnce,
      // The state of jco's code cannot be restored.
      isRestorable: globals !== undefined && this.#jco === undefined,
      jco: this.#jco,
    };
    return { key: `${this.#digest}:${capPages}`, artifact };
  }

  /** Compiles a core module, and checks its names again, as V8 reads them. */
  async #checked(binary: Uint8Array): Promise<WebAssembly.Module> {
    const module = await this.#compile(binary);
    for (const { name } of WebAssembly.Module.exports(module)) checkCoreName(name);
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
      checkCoreName(from);
      checkCoreName(name);
    }
    return module;
  }
}
