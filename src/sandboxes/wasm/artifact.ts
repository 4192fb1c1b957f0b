import type { LinkPlan } from "./linking/link-plan.ts";
import type { MemoryCap } from "./memory-budget.ts";

/** A component made ready for one memory cap: what a thread needs to run it. Modules cross by reference. */
export interface WasmArtifact {
  readonly plan: LinkPlan;
  /** Its core modules, in the order in which the plan counts them. */
  readonly cores: readonly CompiledCore[];
}

/** A core module, compiled under its cap. */
export interface CompiledCore {
  readonly module: WebAssembly.Module;
  readonly memories: readonly MemoryCap[];
}
