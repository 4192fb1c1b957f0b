import { setImmediate } from "node:timers/promises";
import { ToolPreparationError } from "../../contract/sandbox.ts";
import { BinaryReader, COMPONENT_SECTION, sections } from "../core-module/binary.ts";
import { refuseTooManyDefinitions } from "../core-module/core-module.ts";
import { readCanon } from "./canon-reader.ts";
import { exportedFunctions, refuseTooManyFunctions } from "./exported-functions.ts";
import { findExport, readDeclarations, readExternalName, readExternalType } from "./external-type.ts";
import type { CoreInstantiation, CoreItem, CoreNamespace, ImportedFunction, LinkPlan } from "./link-plan.ts";
import { type ComponentDefinition, type Definition, type Exports, Scope } from "./scope.ts";
import { RESOURCE, readType } from "./type-reader.ts";
import type { FunctionType, ResourceType } from "./value-type.ts";

const SORT = { core: 0, type: 3, component: 4 } as const;

const CORE_SORT_TYPE = 0x10;

const CORE_SORT_MODULE = 0x11;

const TARGET = { export: 0, coreExport: 1, outer: 2 } as const;

/** The maximum number of core modules that are instantiated for one instance of the component. */
const MAX_CORE_INSTANCES = 64;
const MAX_COMPONENT_INSTANCES = 64;

/** The maximum size of all definitions that are read, in bytes. Reading them takes a few hundred milliseconds. */
const MAX_READ_BYTES = 512 * 1_024;

/** The maximum size of one type, which is read in one turn of the event loop. All of WASI 0.2 has fewer. */
const MAX_TYPE_BYTES = 48 * 1_024;

/** How many milliseconds definitions are read in one turn. */
const TURN_MS = 5;

/** Sections that are read elsewhere, or not at all. */
const UNREAD: readonly number[] = [
  COMPONENT_SECTION.custom,
  COMPONENT_SECTION.coreModule,
  COMPONENT_SECTION.component,
];

/** How a component is instantiated, and the core modules of which it consists. */
export interface LinkedModules {
  readonly plan: LinkPlan;
  /** The binaries of its core modules and those of nested components, in order of their first use. */
  readonly coreModules: readonly Uint8Array[];
}

/** The result of {@link readComponent}. */
export interface ReadComponent extends LinkedModules {
  /** The functions that it can call. */
  readonly imports: readonly ImportedFunction[];
}

/**
 * Reads the sections of a component (`Binary.md`) and of its nested components, and resolves every index. Large ones are
 * read in several turns of the event loop.
 *
 * @throws {ToolPreparationError} if the component is invalid, too large, or uses something that is not supported.
 */
export async function readComponent(binary: Uint8Array): Promise<ReadComponent> {
  const reader = new ComponentReader();
  const exports = exportedFunctions(await reader.read({ binary, outer: undefined }, undefined, undefined));
  const { coreInstances, destructors, parents, coreModules, imports } = reader;
  return { plan: { coreInstances, destructors, parents, exports }, coreModules, imports };
}

/** Reads the sections of a component and of the nested components that it instantiates. */
class ComponentReader {
  readonly coreInstances: CoreInstantiation[] = [];
  readonly destructors = new Map<ResourceType, CoreItem>();
  readonly coreModules: Uint8Array[] = [];
  readonly parents: (number | undefined)[] = [];
  readonly imports: ImportedFunction[] = [];
  #readBytes = 0;
  #turnBegan = performance.now();
  #importedFunctions = 0;
  /** Module indices by offset in the binary, because a component that is instantiated twice is read twice. */
  readonly #modules = new Map<number, number>();

  /**
   * Reads one instantiation of a component.
   *
   * @param given The values of its imports; `undefined` for the root, whose imports are those of the host.
   * @param parent The index of the component instance that contains it; `undefined` for the root.
   * @returns its exports.
   */
  async read(
    { binary, outer }: ComponentDefinition,
    given: Exports | undefined,
    parent: number | undefined,
  ): Promise<Exports> {
    if (this.parents.length >= MAX_COMPONENT_INSTANCES) {
      throw new ToolPreparationError(`it has more than ${MAX_COMPONENT_INSTANCES} component instances`);
    }
    const scope = new Scope(outer, this.parents.push(parent) - 1);
    for (const { id, body } of sections(binary)) {
      // A nested component is read again for each instantiation, so each one counts.
      if (!UNREAD.includes(id)) this.#readBytes += body.length;
      refuseTooManyDefinitions(this.#readBytes, MAX_READ_BYTES);
      await this.#readSection(id, body, scope, given);
    }
    return scope.exports;
  }

  /** Reads the items of a section one by one. Other events are handled between them if it takes long. */
  async #each(reader: BinaryReader, read: () => unknown): Promise<void> {
    for (let left = reader.u32(); left > 0; left--) {
      const reading = read();
      if (reading instanceof Promise) await reading;
      if (performance.now() - this.#turnBegan < TURN_MS) continue;
      await setImmediate();
      this.#turnBegan = performance.now();
    }
  }

  async #readSection(id: number, body: Uint8Array, scope: Scope, given: Exports | undefined): Promise<void> {
    const reader = new BinaryReader(body);
    switch (id) {
      case COMPONENT_SECTION.coreModule:
        scope.modules.add(this.#moduleIndex(body));
        return;
      case COMPONENT_SECTION.coreInstance:
        await this.#each(reader, () => scope.coreInstances.add(this.#readCoreInstance(reader, scope)));
        return;
      case COMPONENT_SECTION.component:
        scope.components.add({ binary: body, outer: scope });
        return;
      case COMPONENT_SECTION.instance:
        await this.#each(reader, () => this.#readInstance(reader, scope));
        return;
      case COMPONENT_SECTION.alias:
        await this.#each(reader, () => readAlias(reader, scope));
        return;
      case COMPONENT_SECTION.type:
        await this.#each(reader, () => this.#readType(reader, scope));
        return;
      case COMPONENT_SECTION.canon:
        await this.#each(reader, () => readCanon(reader, scope));
        return;
      case COMPONENT_SECTION.import:
        await this.#each(reader, () => this.#readImport(reader, scope, given));
        return;
      case COMPONENT_SECTION.export:
        await this.#each(reader, () => readExport(reader, scope));
        return;
      case COMPONENT_SECTION.start:
      case COMPONENT_SECTION.value:
        throw new ToolPreparationError("it uses start functions or values, which are not supported");
    }
  }

  #moduleIndex(module: Uint8Array): number {
    const known = this.#modules.get(module.byteOffset);
    if (known !== undefined) return known;
    this.#modules.set(module.byteOffset, this.coreModules.length);
    return this.coreModules.push(module) - 1;
  }

  #readCoreInstance(reader: BinaryReader, scope: Scope): CoreNamespace {
    if (reader.byte() !== 0) {
      const items = new Map<string, CoreItem>();
      reader.vector(() => {
        const name = reader.name();
        items.set(name, scope.coreItems(reader.byte()).get(reader.u32()));
      });
      return { kind: "items", items };
    }
    const module = scope.modules.get(reader.u32());
    const imports = new Map<string, CoreNamespace>();
    reader.vector(() => {
      const namespace = reader.name();
      // Skips the sort, which is always that of an instance.
      reader.byte();
      imports.set(namespace, scope.coreInstances.get(reader.u32()));
    });
    if (this.coreInstances.length >= MAX_CORE_INSTANCES) {
      throw new ToolPreparationError(`it has more than ${MAX_CORE_INSTANCES} core instances`);
    }
    return { kind: "instance", instance: this.coreInstances.push({ module, imports }) - 1 };
  }

  async #readInstance(reader: BinaryReader, scope: Scope): Promise<void> {
    const exports = new Map<string, Definition>();
    if (reader.byte() !== 0) {
      reader.vector(() => exports.set(readExternalName(reader), readDefinition(reader, scope)));
      scope.instances.add(exports);
      return;
    }
    const component = scope.components.get(reader.u32());
    reader.vector(() => exports.set(reader.name(), readDefinition(reader, scope)));
    scope.instances.add(await this.read(component, exports, scope.component));
  }

  #readType(reader: BinaryReader, scope: Scope): void {
    if (reader.peek() !== RESOURCE) {
      const inner = reader.part(MAX_TYPE_BYTES, `it has a type of more than ${MAX_TYPE_BYTES} bytes`);
      scope.types.add(readType(inner, scope, readDeclarations));
      reader.skip(inner.at);
      return;
    }
    reader.bytes(2);
    const resource = { name: "resource", definedBy: scope.component };
    if (reader.byte() !== 0) this.destructors.set(resource, scope.coreFunctions.get(reader.u32()));
    scope.types.add({ sort: "resource", resource });
  }

  #readImport(reader: BinaryReader, scope: Scope, given: Exports | undefined): void {
    const name = readExternalName(reader);
    const described = readExternalType(reader, scope, name);
    if (given === undefined) scope.define(this.#importFromHost(name, described));
    else scope.define(described.sort === "type" ? (given.get(name) ?? described) : findExport(given, name));
  }

  #importFromHost(name: string, described: Definition): Definition {
    if (described.sort === "type") return described;
    if (described.sort !== "instance") {
      throw new ToolPreparationError(
        `it imports '${name.slice(0, 128)}', which is not an interface of WASI 0.2`,
      );
    }
    const exports = new Map<string, Definition>();
    this.#importedFunctions += described.exports.size;
    refuseTooManyFunctions(this.#importedFunctions);
    for (const [member, definition] of described.exports) {
      const isFunction = definition.sort === "function type";
      exports.set(member, isFunction ? this.#hostFunction(name, member, definition.type) : definition);
    }
    return { sort: "instance", exports };
  }

  #hostFunction(interfaceName: string, name: string, type: FunctionType): Definition {
    const imported: ImportedFunction = { kind: "import", type, interface: interfaceName, name };
    this.imports.push(imported);
    return { sort: "function", function: imported };
  }
}

/**
 * Reads an export, which adds what it exports to the index spaces once more.
 *
 * @throws {ToolPreparationError} if the export is invalid.
 */
function readExport(reader: BinaryReader, scope: Scope): void {
  const name = readExternalName(reader);
  const definition = readDefinition(reader, scope);
  // The type ascription can only hide parts of the definition, so it is ignored.
  if (reader.byte() === 1) readExternalType(reader, scope, name);
  scope.define(definition);
  scope.exports.set(name, definition);
}

/**
 * Returns the definition that a sort and an index (`Binary.md`, `sortidx`) refer to.
 *
 * @throws {ToolPreparationError} if there is none.
 */
function readDefinition(reader: BinaryReader, scope: Scope): Definition {
  const sort = reader.byte();
  if (sort === 0) reader.byte();
  const index = reader.u32();
  switch (sort) {
    case 0:
      return { sort: "module", module: scope.modules.get(index) };
    case 1:
      return { sort: "function", function: scope.functions.get(index) };
    case 3:
      return { sort: "type", type: scope.types.get(index) };
    case 4:
      return { sort: "component", component: scope.components.get(index) };
    case 5:
      return { sort: "instance", exports: scope.instances.get(index) };
    default:
      throw new ToolPreparationError("it imports or exports something of an unknown kind");
  }
}

/**
 * Reads an alias (`Binary.md`, `alias`), which adds an export or a definition of an outer scope to the index spaces.
 *
 * @throws {ToolPreparationError} if the alias is invalid.
 */
function readAlias(reader: BinaryReader, scope: Scope): void {
  const sort = reader.byte();
  const coreSort = sort === SORT.core ? reader.byte() : Number.NaN;
  switch (reader.byte()) {
    case TARGET.export: {
      const exports = scope.instances.get(reader.u32());
      scope.define(findExport(exports, reader.name()));
      return;
    }
    case TARGET.coreExport: {
      const instance = scope.coreInstances.get(reader.u32());
      const name = reader.name();
      if (instance.kind === "instance") {
        scope.coreItems(coreSort).add({ kind: "export", instance: instance.instance, name });
        return;
      }
      const item = instance.items.get(name);
      if (item === undefined)
        throw new ToolPreparationError("it uses an export that a core instance does not have");
      scope.coreItems(coreSort).add(item);
      return;
    }
    case TARGET.outer: {
      const from = scope.enclosing(reader.u32());
      const index = reader.u32();
      // Core types are skipped, wherever they are.
      if (coreSort === CORE_SORT_TYPE) return;
      if (sort === SORT.type) scope.types.add(from.types.get(index));
      else if (sort === SORT.component) scope.components.add(from.components.get(index));
      else if (coreSort === CORE_SORT_MODULE) scope.modules.add(from.modules.get(index));
      else throw new ToolPreparationError("it has an alias of an unknown kind");
      return;
    }
    default:
      throw new ToolPreparationError("it has an alias of an unknown kind");
  }
}
