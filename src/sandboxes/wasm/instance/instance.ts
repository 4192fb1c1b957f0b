import { type CoreFunction, callLifted, lowerFunction } from "../abi/call.ts";
import { dispose, Handles } from "../abi/handles.ts";
import { type LiftBudget, LiftBudgetError } from "../abi/lift-budget.ts";
import { MemoryAccess } from "../abi/memory-access.ts";
import { AbiError, type ComponentValue } from "../abi/value.ts";
import type { CompiledCore, WasmArtifact } from "../artifact.ts";
import { globalExportName, memoryExportName } from "../core-module/core-limits.ts";
import type {
  CanonicalOptions,
  ComponentFunction,
  CoreInstantiation,
  CoreItem,
  CoreNamespace,
} from "../linking/link-plan.ts";
import type { ResourceType } from "../linking/value-type.ts";
import { type ComponentCalls, callHost, type HostInterfaces } from "./calls.ts";
import { MemoryGauge, ThrownMemory } from "./memory-gauge.ts";

/** Why a disposed instance cannot run. It is shared, because creating an error costs as much as a small call. */
const GONE = Object.freeze({ by: new AbiError("the instance has ended") });

/**
 * One instance of a component, created by its link plan, with its own memories and handles. It throws `AbiError`,
 * `LiftBudgetError`, the host's errors, and errors of V8.
 */
export class ComponentInstance implements ComponentCalls {
  readonly #host: HostInterfaces;
  readonly #budget: LiftBudget;
  readonly #artifact: WasmArtifact;
  readonly #instances: WebAssembly.Instance[] = [];
  readonly #handles: readonly Handles[];
  readonly #entered: EnteredInstances;
  readonly #accesses = new Map<CanonicalOptions, MemoryAccess>();
  readonly #memories: MemoryGauge;
  readonly #thrown: ThrownMemory;
  #isMade = false;
  #image: InstanceImage | undefined;
  /** What ended a call. A component can catch exceptions that are thrown through it, but must not continue. */
  #ended: { readonly by: unknown } | undefined;

  constructor(artifact: WasmArtifact, host: HostInterfaces, budget: LiftBudget) {
    this.#artifact = artifact;
    this.#memories = new MemoryGauge(artifact.objectBytes);
    this.#host = host;
    this.#budget = budget;
    this.#handles = artifact.plan.parents.map(() => new Handles());
    this.#entered = new EnteredInstances(artifact.plan.parents);
    this.#thrown = new ThrownMemory(
      () => budget.memoryBytes,
      () => {
        this.#ended ??= { by: new LiftBudgetError("memoryBytes") };
      },
    );
  }

  /** Creates the core instances, unless they exist. This runs their start functions. */
  make(): void {
    if (this.#isMade) return;
    this.#isMade = true;
    for (const each of this.#artifact.plan.coreInstances) this.#instantiate(each);
  }

  /** Keeps a copy of its state, so that it can be restored. Called right after it was created. */
  keepImage(): void {
    const image = new InstanceImage();
    for (const [index, instance] of this.#instances.entries()) {
      const core = this.#coreOf(this.#artifact.plan.coreInstances[index]);
      image.add(instance, core);
    }
    this.#image = image;
  }

  /**
   * Restores a disposed instance to its state after creation. Returns `false` if that is impossible. An instance in which
   * something threw is never restored.
   */
  restore(): boolean {
    if (this.#ended !== GONE || this.#image?.restore() !== true) return false;
    this.#ended = undefined;
    return true;
  }

  /** Whether an image was retained, but the instance cannot be restored. */
  get isPastRestoring(): boolean {
    return this.#ended === GONE && this.#image !== undefined;
  }

  /** Calls an exported function. After a call that threw, further calls throw the same. */
  call(exported: ComponentFunction, args: readonly ComponentValue[]): ComponentValue {
    this.#throwIfEnded();
    try {
      this.make();
      const value = this.#call(exported, args, undefined);
      this.#throwIfEnded();
      return value;
    } catch (thrown) {
      this.#ended ??= { by: thrown };
      throw this.#ended.by;
    }
  }

  #throwIfEnded(): void {
    if (this.#ended !== undefined) throw this.#ended.by;
  }

  /** Whether all calls so far have returned. */
  get isIntact(): boolean {
    return this.#ended === undefined;
  }

  /** Disposes of the host's resources that the component still owns. */
  [Symbol.dispose](): void {
    this.#ended ??= GONE;
    for (const handles of this.#handles) handles.dispose();
    this.#thrown.forget();
  }

  #coreOf(instantiation: CoreInstantiation | undefined): CompiledCore {
    const core = this.#artifact.cores[instantiation?.module ?? -1];
    if (core === undefined) throw new AbiError("the core module does not exist");
    return core;
  }

  #instantiate(instantiation: CoreInstantiation): void {
    const { imports } = instantiation;
    const core = this.#coreOf(instantiation);
    const given: Record<string, WebAssembly.ModuleImports> = Object.create(null);
    for (const [namespace, items] of imports) given[namespace] = this.#namespace(items);
    const instance = new WebAssembly.Instance(core.module, given);
    this.#instances.push(instance);
    this.#memories.watch(instance, core);
    this.#thrown.watch(instance, core);
  }

  #namespace(namespace: CoreNamespace): WebAssembly.ModuleImports {
    if (namespace.kind === "instance") return this.#instances[namespace.instance]?.exports ?? {};
    const items: WebAssembly.ModuleImports = Object.create(null);
    for (const [name, item] of namespace.items) items[name] = this.#item(item);
    return items;
  }

  #item(item: CoreItem): WebAssembly.ExportValue {
    switch (item.kind) {
      case "export": {
        const found = this.#instances[item.instance]?.exports[item.name];
        if (found === undefined) throw new AbiError("a core instance lacks an export");
        return found;
      }
      case "lower": {
        const { function: callee, options } = item;
        const getAccess = (): MemoryAccess => this.#access(options);
        const { component } = options;
        return this.#guarded(
          lowerFunction(getAccess, callee.type, (args) => this.#call(callee, args, component)),
        );
      }
      default:
        return this.#guarded(this.#resourceFunction(item));
    }
  }

  /** Wraps a function for core modules so that it does not run after something has ended the call. */
  #guarded(run: CoreFunction): CoreFunction {
    return (...values) => {
      this.#throwIfEnded();
      try {
        return run(...values);
      } catch (thrown) {
        this.#ended ??= { by: thrown };
        throw thrown;
      }
    };
  }

  #resourceFunction(item: Extract<CoreItem, { readonly component: number }>): CoreFunction {
    const { kind, resource, component } = item;
    const handles = this.#handlesOf(component);
    switch (kind) {
      case "resource.new":
        return (representation) => {
          handles.checkMayLeave();
          return handles.addOwned(resource, representation);
        };
      case "resource.rep":
        return (index) => handles.representation(Number(index) >>> 0, resource) as number;
      case "resource.drop":
        return (index) => {
          handles.checkMayLeave();
          const { owned, representation } = handles.drop(Number(index) >>> 0, resource);
          if (owned) this.#destroy(resource, representation, component);
          return undefined;
        };
    }
  }

  #destroy(resource: ResourceType, representation: unknown, caller: number): void {
    const destructor = this.#artifact.plan.destructors.get(resource);
    if (destructor === undefined || resource.definedBy === undefined) {
      dispose(representation);
      return;
    }
    const { definedBy } = resource;
    const handles = this.#handlesOf(definedBy);
    this.#entered.enter(definedBy, caller);
    const task = handles.beginTask();
    (this.#item(destructor) as CoreFunction)(representation as number);
    handles.endTask(task);
    this.#entered.leave(definedBy, caller);
  }

  /** @param caller The component instance that calls; `undefined` for the host. */
  #call(
    callee: ComponentFunction,
    args: readonly ComponentValue[],
    caller: number | undefined,
  ): ComponentValue {
    if (callee.kind === "import") return callHost(this.#host, callee, args);
    const { type, core, options } = callee;
    const postReturn =
      options.postReturn === undefined ? undefined : (this.#item(options.postReturn) as CoreFunction);
    this.#entered.enter(options.component, caller);
    const value = callLifted(this.#access(options), type, this.#item(core) as CoreFunction, postReturn, args);
    this.#entered.leave(options.component, caller);
    return value;
  }

  #access(options: CanonicalOptions): MemoryAccess {
    const known = this.#accesses.get(options);
    if (known !== undefined) return known;
    const { component, encoding, memory, realloc } = options;
    const access = new MemoryAccess({
      component,
      encoding,
      memory: memory === undefined ? undefined : (this.#item(memory) as WebAssembly.Memory),
      realloc: realloc === undefined ? undefined : (this.#item(realloc) as (...sizes: number[]) => number),
      handles: this.#handlesOf(component),
      budget: this.#budget,
    });
    this.#accesses.set(options, access);
    return access;
  }

  #handlesOf(component: number): Handles {
    const handles = this.#handles[component];
    if (handles === undefined) throw new AbiError("the component instance does not exist");
    return handles;
  }

  /** The current size of its linear memories, tables and exceptions, in bytes. */
  get memoryBytes(): number {
    return this.#memories.bytes + this.#thrown.bytes;
  }

  /** Whether one of its memories has no space left because of its cap. */
  get isAtMemoryCap(): boolean {
    return this.#memories.isAtCap;
  }
}

/**
 * Tracks which component instances have a call in progress (`CanonicalABI.md`, `may_enter_from`). A call enters the
 * instance that it calls and all instances that contain it, except for those that contain its caller: these have been
 * entered before. An instance that has been entered must not be entered again.
 */
class EnteredInstances {
  readonly #parents: readonly (number | undefined)[];
  readonly #entered = new Set<number>();

  /** @param parents For each component instance, the index of the one that contains it. */
  constructor(parents: readonly (number | undefined)[]) {
    this.#parents = parents;
  }

  /**
   * Starts a call.
   *
   * @param caller `undefined` for the host.
   * @throws {AbiError} if it must not enter an instance.
   */
  enter(callee: number, caller: number | undefined): void {
    for (let each: number | undefined = callee; each !== undefined; each = this.#parents[each]) {
      if (this.#contains(each, caller)) return;
      if (this.#entered.has(each))
        throw new AbiError("it called a component instance that waits for this call");
      this.#entered.add(each);
    }
  }

  /** Ends a call. */
  leave(callee: number, caller: number | undefined): void {
    for (let each: number | undefined = callee; each !== undefined; each = this.#parents[each]) {
      if (this.#contains(each, caller)) return;
      this.#entered.delete(each);
    }
  }

  /** Whether an instance is `inner` or contains it. */
  #contains(outer: number, inner: number | undefined): boolean {
    for (let each = inner; each !== undefined; each = this.#parents[each]) if (each === outer) return true;
    return false;
  }
}

/** Memory is compared with zeros in parts of this many bytes. */
const PART_BYTES = 4_096;
const ZEROS = new Uint8Array(PART_BYTES);

interface MemoryImage {
  readonly memory: WebAssembly.Memory;
  readonly byteLength: number;
  /** The parts that are not all zeros, in order. */
  readonly parts: readonly { readonly at: number; readonly bytes: Uint8Array }[];
}

interface GlobalImage {
  readonly global: WebAssembly.Global;
  readonly value: number | bigint;
}

/** A copy of everything that the code of core instances can change: their memories and globals. */
export class InstanceImage {
  readonly #memories: MemoryImage[] = [];
  readonly #globals: GlobalImage[] = [];
  #isExact = true;

  /** Adds a core instance in its current state. None of its functions may be running. */
  add({ exports }: WebAssembly.Instance, { memories, globals }: CompiledCore): void {
    for (const index of memories.keys()) {
      const memory = exports[memoryExportName(index)] as WebAssembly.Memory;
      this.#memories.push({ memory, byteLength: memory.buffer.byteLength, parts: usedParts(memory) });
    }
    for (const index of globals) {
      const global = exports[globalExportName(index)] as WebAssembly.Global<"i32" | "i64">;
      const { value } = global;
      // JavaScript cannot see the bits of a NaN.
      if (Number.isNaN(value)) this.#isExact = false;
      this.#globals.push({ global, value });
    }
  }

  /** Restores everything. Returns `false` if that is impossible because a memory has grown, as memories cannot shrink. */
  restore(): boolean {
    if (!this.#isExact) return false;
    if (this.#memories.some(({ memory, byteLength }) => memory.buffer.byteLength !== byteLength))
      return false;
    for (const { memory, parts } of this.#memories) {
      const all = new Uint8Array(memory.buffer);
      let end = 0;
      for (const { at, bytes } of parts) {
        all.fill(0, end, at);
        all.set(bytes, at);
        end = at + bytes.length;
      }
      all.fill(0, end);
    }
    for (const { global, value } of this.#globals) global.value = value;
    return true;
  }
}

function usedParts({ buffer }: WebAssembly.Memory): MemoryImage["parts"] {
  const parts: { at: number; bytes: Uint8Array }[] = [];
  for (let at = 0; at < buffer.byteLength; at += PART_BYTES) {
    if (Buffer.compare(ZEROS, new Uint8Array(buffer, at, PART_BYTES)) === 0) continue;
    parts.push({ at, bytes: new Uint8Array(buffer.slice(at, at + PART_BYTES)) });
  }
  return parts;
}
