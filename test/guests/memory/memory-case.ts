import type { ResourceLimits } from "../../../src/policy/grant/limits.ts";
import type {
  QuickJsImplementation,
  WasmImplementation,
} from "../../../src/tool/implementations/implementations.ts";

/** A tool for one of the two sandboxes. */
export type GuestTool = { readonly quickjs: QuickJsImplementation } | { readonly wasm: WasmImplementation };

/** Calls whose memory is measured in a process of its own. */
export interface MemoryCase {
  readonly name: string;
  /** The tool, and a harmless one of the same sandbox, which is called first. */
  tools(): Promise<{ readonly guest: GuestTool; readonly harmless: GuestTool }>;
  readonly limits: ResourceLimits & { readonly memoryBytes: number };
  /** How many calls run at once. Default: 1. */
  readonly calls?: number;
  /** How many times they run, one after the other. Default: 1. */
  readonly rounds?: number;
  /** What the process may take more than after the harmless call, or in all. */
  readonly bound: { readonly aboveBaselineMiB: number } | { readonly inAllMiB: number };
}

/** What a process took. */
export interface MemoryReport {
  readonly baselineMiB: number;
  readonly highestMiB: number;
  /** How the calls ended. */
  readonly codes: readonly string[];
}
