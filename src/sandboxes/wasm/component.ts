import { ToolPreparationError } from "../sandbox.ts";
import type { CompiledCore, WasmArtifact } from "./artifact.ts";
import { limitCoreModule } from "./core-limits.ts";
import { readCoreModule } from "./core-module.ts";
import { checkCoreName } from "./core-name.ts";
import { LruMap } from "./lru-map.ts";
import {
  divideMemory,
  type InstantiatedModule,
  initialMemoryBytes,
  MAX_TABLE_ELEMENTS,
  PAGE_BYTES,
} from "./memory-budget.ts";
import type { TranspiledComponent, TranspiledCore } from "./transpiled.ts";

const MAX_CORE_INSTANCES = 64;
const MAX_CAPS = 8;

/** A component made ready for a memory cap, and the name under which threads keep it. */
export interface CappedComponent {
  readonly key: string;
  readonly artifact: WasmArtifact;
}

/** A component that passed the gates and was transpiled. It is compiled once for each memory cap. */
export class Component {
  /** Bytes that its memories take from the start: with a lower cap it cannot run. */
  readonly initialBytes: number;
  readonly #digest: string;
  readonly #imports: readonly string[];
  readonly #source: string;
  readonly #modules: readonly (TranspiledCore & InstantiatedModule)[];
  readonly #capped = new LruMap<number, Promise<CappedComponent>>(MAX_CAPS);

  /**
   * @param digest The component's own, in hex.
   * @param imports The WASI interfaces that it imports, without their versions.
   * @throws {ToolPreparationError} when it would make too many instances, memories or tables.
   */
  constructor(digest: string, imports: readonly string[], { source, cores }: TranspiledComponent) {
    const instances = countInstances(source);
    this.#digest = digest;
    this.#imports = imports;
    this.#source = source;
    this.#modules = cores.map((core) => ({
      ...core,
      module: readCoreModule(core.binary),
      instances: instances.get(core.name) ?? 0,
    }));
    this.initialBytes = initialMemoryBytes(this.#modules);
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
    const cores = await Promise.all(
      this.#modules.map(async ({ name, binary, instances }, index): Promise<CompiledCore> => {
        const memories = caps[index] ?? [];
        const pages = memories.map(({ maxPages }) => maxPages);
        return {
          name,
          instances,
          memories,
          module: await compile(limitCoreModule(binary, pages, MAX_TABLE_ELEMENTS)),
        };
      }),
    );
    const artifact = { source: this.#source, imports: this.#imports, cores };
    return { key: `${this.#digest}:${capPages}`, artifact };
  }
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

/** How often the generated code instantiates each core module. Threads hold it to that: see `instance.ts`. */
function countInstances(source: string): ReadonlyMap<string, number> {
  const names = new Map<string, string>();
  for (const [, variable = "", name = ""] of source.matchAll(
    /const (module\d+) = getCoreModule\('([^']+)'\)/g,
  )) {
    names.set(variable, name);
  }
  const counts = new Map<string, number>();
  let total = 0;
  for (const [, variable = ""] of source.matchAll(/instantiateCore\((module\d+)\b/g)) {
    const name = names.get(variable) ?? "";
    counts.set(name, (counts.get(name) ?? 0) + 1);
    total++;
  }
  if (total > MAX_CORE_INSTANCES) {
    throw new ToolPreparationError(`it makes more than ${MAX_CORE_INSTANCES} core instances`);
  }
  return counts;
}
