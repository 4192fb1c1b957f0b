import type { MemoryCap } from "./memory-budget.ts";

/** A component made ready for one memory cap: what a thread needs to run it. Crosses threads by reference. */
export interface WasmArtifact {
  /** The body of a function that returns `instantiate`: see `TranspiledComponent`. */
  readonly source: string;
  /** The WASI interfaces that it imports, without their versions. */
  readonly imports: readonly string[];
  readonly cores: readonly CompiledCore[];
}

/** A core module, compiled under its cap. */
export interface CompiledCore {
  /** How `source` asks for it. */
  readonly name: string;
  readonly module: WebAssembly.Module;
  /** How often one instance of the component instantiates it. */
  readonly instances: number;
  readonly memories: readonly MemoryCap[];
}
