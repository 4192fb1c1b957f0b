import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { ComponentFunction, CoreItem, CoreNamespace } from "./link-plan.ts";
import type { FunctionType, ResourceType, ValueType } from "./value-type.ts";

/** An entry of a component's type index space. */
export type TypeDefinition =
  | { readonly sort: "value"; readonly type: ValueType }
  | { readonly sort: "function"; readonly type: FunctionType }
  | { readonly sort: "resource"; readonly resource: ResourceType }
  | { readonly sort: "instance"; readonly exports: Exports }
  | { readonly sort: "component" };

/** Something that a component imports or exports. */
export type Definition =
  | { readonly sort: "function"; readonly function: ComponentFunction }
  | { readonly sort: "type"; readonly type: TypeDefinition }
  | { readonly sort: "instance"; readonly exports: Exports }
  /** `component` and `module` are `undefined` if only their type is declared. */
  | { readonly sort: "component"; readonly component: ComponentDefinition | undefined }
  | { readonly sort: "module"; readonly module: number | undefined }
  /** A function inside an instance type, of which only the type is declared. */
  | { readonly sort: "function type"; readonly type: FunctionType };

/** The exports of an instance, by name. */
export type Exports = ReadonlyMap<string, Definition>;

/** A component: its binary, and the enclosing scope that its aliases can refer to. */
export interface ComponentDefinition {
  readonly binary: Uint8Array;
  readonly outer: Scope | undefined;
}

const MAX_DEPTH = 32;

/** The index spaces of a component, a component type or an instance type. */
export class Scope {
  readonly outer: Scope | undefined;
  /** The index of the component instance. */
  readonly component: number;
  /** The exports so far. */
  readonly exports: Map<string, Definition> = new Map();
  readonly types: IndexSpace<TypeDefinition> = new IndexSpace("type");
  readonly functions: IndexSpace<ComponentFunction> = new IndexSpace("function");
  readonly instances: IndexSpace<Exports> = new IndexSpace("instance");
  readonly components: IndexSpace<ComponentDefinition | undefined> = new IndexSpace("component");
  readonly modules: IndexSpace<number | undefined> = new IndexSpace("core module");
  readonly coreInstances: IndexSpace<CoreNamespace> = new IndexSpace("core instance");
  readonly coreFunctions: IndexSpace<CoreItem> = new IndexSpace("core function");
  readonly coreTables: IndexSpace<CoreItem> = new IndexSpace("core table");
  readonly coreMemories: IndexSpace<CoreItem> = new IndexSpace("core memory");
  readonly coreGlobals: IndexSpace<CoreItem> = new IndexSpace("core global");
  readonly coreTags: IndexSpace<CoreItem> = new IndexSpace("core tag");

  readonly #depth: number;

  constructor(outer: Scope | undefined, component: number) {
    this.#depth = outer === undefined ? 1 : outer.#depth + 1;
    if (this.#depth > MAX_DEPTH) {
      throw new ToolPreparationError(`its components and types are nested deeper than ${MAX_DEPTH} levels`);
    }
    this.outer = outer;
    this.component = component;
  }

  /**
   * Returns the scope that is `levels` levels outside this one.
   *
   * @throws {ToolPreparationError} if there is none.
   */
  enclosing(levels: number): Scope {
    let scope: Scope = this;
    for (let left = levels; left > 0; left--) {
      if (scope.outer === undefined)
        throw new ToolPreparationError("it refers to an outer scope that does not exist");
      scope = scope.outer;
    }
    return scope;
  }

  /**
   * Returns the index space of core items of a sort (`Binary.md`, `core:sort`).
   *
   * @throws {ToolPreparationError} if the sort is unknown.
   */
  coreItems(sort: number): IndexSpace<CoreItem> {
    switch (sort) {
      case 0:
        return this.coreFunctions;
      case 1:
        return this.coreTables;
      case 2:
        return this.coreMemories;
      case 3:
        return this.coreGlobals;
      case 4:
        return this.coreTags;
      default:
        throw new ToolPreparationError("it uses a core item of an unknown kind");
    }
  }

  /** Adds a definition to its index space. */
  define(definition: Definition): void {
    switch (definition.sort) {
      case "function":
        this.functions.add(definition.function);
        return;
      case "type":
        this.types.add(definition.type);
        return;
      case "instance":
        this.instances.add(definition.exports);
        return;
      case "component":
        this.components.add(definition.component);
        return;
      case "module":
        this.modules.add(definition.module);
        return;
      case "function type":
        // Only the type is declared, so no index can refer to it.
        return;
    }
  }
}

/** The maximum number of definitions of one kind in one scope. */
const MAX_DEFINITIONS = 100_000;

/** A list of definitions of one kind. Throws {@link ToolPreparationError} if it is full or an index is out of range. */
export class IndexSpace<Item> {
  readonly #what: string;
  readonly #items: Item[] = [];

  constructor(what: string) {
    this.#what = what;
  }

  add(item: Item): void {
    if (this.#items.length >= MAX_DEFINITIONS)
      throw new ToolPreparationError(`it has too many ${this.#what}s`);
    this.#items.push(item);
  }

  get(index: number): NonNullable<Item> {
    const item = this.#items[index];
    if (item === undefined || item === null)
      throw new ToolPreparationError(`it refers to a ${this.#what} that it does not define`);
    return item;
  }
}
