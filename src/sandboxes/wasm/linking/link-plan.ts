import type { FunctionType, ResourceType } from "./value-type.ts";

/**
 * How a component is put together, with every index of its binary resolved: what a thread follows to make an
 * instance of it. Holds data only, so that it can be sent to threads.
 */
export interface LinkPlan {
  /** The core instances to make, in order. */
  readonly coreInstances: readonly CoreInstantiation[];
  /** How many component instances there are: the root, and those inside. */
  readonly componentInstances: number;
  /** The functions that it exports: those of an interface as `interface#function`. */
  readonly exports: ReadonlyMap<string, ComponentFunction>;
  /** What is called with a resource when its owner drops it. */
  readonly destructors: ReadonlyMap<ResourceType, CoreItem>;
}

/** One core instance. */
export interface CoreInstantiation {
  /** Which of the component's core modules, counted from 0 in the order in which they stand in the binary. */
  readonly module: number;
  readonly imports: ReadonlyMap<string, CoreNamespace>;
}

/** What a core instance is given under one name: all exports of another one, or single things. */
export type CoreNamespace =
  | { readonly kind: "instance"; readonly instance: number }
  | { readonly kind: "items"; readonly items: ReadonlyMap<string, CoreItem> };

/** A core function, memory, table or global. */
export type CoreItem =
  | { readonly kind: "export"; readonly instance: number; readonly name: string }
  /** A component's function as a core function (`canon lower`). */
  | { readonly kind: "lower"; readonly function: ComponentFunction; readonly options: CanonicalOptions }
  /** What a component does with resources. */
  | {
      readonly kind: "resource.new" | "resource.drop" | "resource.rep";
      readonly resource: ResourceType;
      readonly component: number;
    };

/** A function of the component model. */
export type ComponentFunction =
  | {
      readonly kind: "import";
      readonly type: FunctionType;
      /** As it is named in the component, with version. */
      readonly interface: string;
      /** Such as `now` or `[method]output-stream.write`. */
      readonly name: string;
    }
  | {
      readonly kind: "lift";
      readonly type: FunctionType;
      readonly core: CoreItem;
      readonly options: CanonicalOptions;
    };

/** How values cross between a component and its core modules (`CanonicalABI.md`, canonical options). */
export interface CanonicalOptions {
  /** Which component instance it belongs to: handles are counted by each. */
  readonly component: number;
  readonly encoding: "utf8" | "utf16" | "latin1+utf16";
  readonly memory: CoreItem | undefined;
  readonly realloc: CoreItem | undefined;
  readonly postReturn: CoreItem | undefined;
}
