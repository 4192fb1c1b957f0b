import type { ModuleCaps } from "./core-module/core-limits.ts";
import type { ImportedFunction, LinkPlan } from "./linking/link-plan.ts";
import type { FunctionType } from "./linking/value-type.ts";

/** A component prepared for one memory cap, as threads receive it. Compiled modules are shared, not copied. */
export interface WasmArtifact {
  readonly plan: LinkPlan;
  /** Its core modules, in the order of the plan's module indices. */
  readonly cores: readonly CompiledCore[];
  /** Whether an instance may be created outside a call, without a deadline: creating it takes negligible time. */
  readonly startsAtOnce: boolean;
  /** Whether a used instance can be reset: its code can only change memories and known globals. */
  readonly isRestorable: boolean;
  /** The initial size of an instance's memories and tables, and of V8's objects for it, in bytes. */
  readonly initialBytes: number;
  /** What V8's objects for an instance count, in bytes. */
  readonly objectBytes: number;
  /** Set if it runs with the JavaScript that jco generated. Of the plan, only core instances and exports are set then. */
  readonly jco: JcoProgram | undefined;
}

/** A component as jco generated it. */
export interface JcoProgram {
  /** A module that exports `instantiate`. */
  readonly source: string;
  /** The indices of its core modules, by the names under which the source loads them. */
  readonly modules: ReadonlyMap<string, number>;
  /** The functions that it imports from the host. */
  readonly imports: readonly ImportedFunction[];
  /** The types of its exports as the component declares them, by the names of the plan. */
  readonly exports: ReadonlyMap<string, FunctionType>;
}

/** A core module, compiled with its caps. */
export interface CompiledCore extends ModuleCaps {
  readonly module: WebAssembly.Module;
  /** The indices of its mutable globals, which it exports; empty if its instances are not restored. */
  readonly globals: readonly number[];
  /** Whether its code throws exceptions. */
  readonly throws: boolean;
}
