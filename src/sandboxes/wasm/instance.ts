import { compileFunction } from "node:vm";
import type { CompiledCore, WasmArtifact } from "./artifact.ts";
import { memoryExportName } from "./core-limits.ts";
import { GUEST_INTERFACE, type Guest } from "./guest-interface.ts";
import { BudgetedTextDecoder } from "./lift-budget.ts";
import { PAGE_BYTES } from "./memory-budget.ts";

type InstantiateCore = (module: WebAssembly.Module, imports?: WebAssembly.Imports) => WebAssembly.Instance;

/** What jco writes for `instantiation: sync`. */
type Instantiate = (
  coreModule: (name: string) => WebAssembly.Module | undefined,
  imports: Readonly<Record<string, object>>,
  instantiateCore: InstantiateCore,
) => Readonly<Record<string, unknown>>;

/** A memory counts as full when less than this part of it is left: allocators ask for more than a page. */
const SMALL_REST = 1 / 8;

/** A component whose code is loaded in this thread. */
export interface LoadedComponent {
  readonly artifact: WasmArtifact;
  readonly instantiate: Instantiate;
}

/** Loads generated code. The globals by which it would debug or complain are not there for it. */
export function loadComponent(artifact: WasmArtifact): LoadedComponent {
  const load = compileFunction(artifact.source, ["TextDecoder", "globalThis", "console"], {
    filename: "component.js",
  });
  const instantiate = load(BudgetedTextDecoder, {}, { error() {}, debug() {} }) as Instantiate;
  return { artifact, instantiate };
}

interface CappedMemory {
  readonly memory: WebAssembly.Memory;
  /** In bytes. */
  readonly cap: number;
  readonly lowered: boolean;
}

/** One fresh instance of a component, for one call. */
export class ComponentInstance {
  readonly #cores: ReadonlyMap<WebAssembly.Module, CompiledCore>;
  readonly #component: LoadedComponent;
  readonly #instances = new Map<CompiledCore, number>();
  readonly #memories: CappedMemory[] = [];

  constructor(component: LoadedComponent) {
    this.#component = component;
    this.#cores = new Map(component.artifact.cores.map((core) => [core.module, core]));
  }

  /** Instantiates, and calls. Throws whatever generated code throws. */
  call(
    imports: Readonly<Record<string, object>>,
    ...[tool, input, context]: Parameters<Guest["call"]>
  ): unknown {
    const { artifact, instantiate } = this.#component;
    const exported = instantiate(
      (name) => artifact.cores.find((core) => core.name === name)?.module,
      imports,
      this.#instantiateCore,
    );
    return (exported[GUEST_INTERFACE] as Guest).call(tool, input, context);
  }

  /** The caps were divided by how often each module is instantiated: once more would pass their sum. */
  readonly #instantiateCore: InstantiateCore = (module, imports) => {
    const core = this.#cores.get(module);
    const count = core === undefined ? 0 : (this.#instances.get(core) ?? 0) + 1;
    if (core === undefined || count > core.instances)
      throw new Error("there are more core instances than declared");
    this.#instances.set(core, count);
    const instance = new WebAssembly.Instance(module, imports);
    for (const [index, { maxPages, lowered }] of core.memories.entries()) {
      const memory = instance.exports[memoryExportName(index)] as WebAssembly.Memory;
      this.#memories.push({ memory, cap: maxPages * PAGE_BYTES, lowered });
    }
    return instance;
  };

  /** Bytes of all its linear memories now. */
  get memoryBytes(): number {
    return this.#memories.reduce((sum, { memory }) => sum + memory.buffer.byteLength, 0);
  }

  /** Whether one of its memories has no room left that the grant took from it. */
  get isAtMemoryCap(): boolean {
    return this.#memories.some(
      ({ memory, cap, lowered }) => lowered && cap - memory.buffer.byteLength <= cap * SMALL_REST,
    );
  }
}
