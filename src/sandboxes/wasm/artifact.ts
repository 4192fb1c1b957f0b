import type { ModuleCaps } from "./core-module/memory-budget.ts";
import type { LinkPlan } from "./linking/link-plan.ts";

/** A component made ready for one memory cap: what a thread needs to run it. Modules cross by reference. */
export interface WasmArtifact {
  readonly plan: LinkPlan;
  /** Its core modules, in the order in which the plan counts them. */
  readonly cores: readonly CompiledCore[];
  /** Whether an instance may be made where no deadline is: making it takes no time to speak of. */
  readonly startsAtOnce: boolean;
  /** Whether an instance that was used can be made as good as new: its code can change nothing but what is known. */
  readonly isRestorable: boolean;
  /** Bytes that the memories and tables of an instance take from the start. */
  readonly initialBytes: number;
}

/** A core module, compiled under its caps. */
export interface CompiledCore extends ModuleCaps {
  readonly module: WebAssembly.Module;
  /** The indices of its mutable globals, which it exports; none where it is not to be restored. */
  readonly globals: readonly number[];
}
