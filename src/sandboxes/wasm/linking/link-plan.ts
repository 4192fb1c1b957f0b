import type { FunctionType, ResourceType } from "./value-type.ts";

/**
 * The steps to instantiate a component, with every index of its binary resolved. It contains only data, so it can be
 * sent to threads.
 */
export interface LinkPlan {
  /** The core instances to create, in order. */
  readonly coreInstances: readonly CoreInstantiation[];
  /** For each component instance, the index of the one that contains it; `undefined` for the root. */
  readonly parents: readonly (number | undefined)[];
  /** The exported functions by name. Those of an exported interface are named `interface#function`. */
  readonly exports: ReadonlyMap<string, ComponentFunction>;
  /** Functions that are called with a resource's representation when its owner drops it. */
  readonly destructors: ReadonlyMap<ResourceType, CoreItem>;
}

/** How to create one core instance. */
export interface CoreInstantiation {
  /** The index of the core module. */
  readonly module: number;
  readonly imports: ReadonlyMap<string, CoreNamespace>;
}

/** What a core instance imports under one module name: all exports of another instance, or single items. */
export type CoreNamespace =
  | { readonly kind: "instance"; readonly instance: number }
  | { readonly kind: "items"; readonly items: ReadonlyMap<string, CoreItem> };

/** A core function, memory, table or global. */
export type CoreItem =
  | { readonly kind: "export"; readonly instance: number; readonly name: string }
  /** A function of the component model as a core function (`canon lower`). */
  | { readonly kind: "lower"; readonly function: ComponentFunction; readonly options: CanonicalOptions }
  /** A built-in function that creates, drops or represents a resource. */
  | {
      readonly kind: "resource.new" | "resource.drop" | "resource.rep";
      readonly resource: ResourceType;
      readonly component: number;
    };

/** A function that a component imports from the host. */
export interface ImportedFunction {
  readonly kind: "import";
  readonly type: FunctionType;
  /** The interface's name as the component imports it, with version. */
  readonly interface: string;
  /** The function's name, such as `now` or `[method]output-stream.write`. */
  readonly name: string;
}

/** A function of the component model. */
export type ComponentFunction =
  | ImportedFunction
  | {
      readonly kind: "lift";
      readonly type: FunctionType;
      readonly core: CoreItem;
      readonly options: CanonicalOptions;
    };

/** How values are passed between a component and its core modules (`CanonicalABI.md`, canonical options). */
export interface CanonicalOptions {
  /** The index of the component instance, each of which has its own handle table. */
  readonly component: number;
  readonly encoding: "utf8" | "utf16" | "latin1+utf16";
  readonly memory: CoreItem | undefined;
  readonly realloc: CoreItem | undefined;
  readonly postReturn: CoreItem | undefined;
}
