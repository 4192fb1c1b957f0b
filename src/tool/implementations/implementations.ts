import { SANDBOX_MODES, type SandboxMode } from "../sandbox-mode.ts";
import type { ToolTraits } from "../tool-traits.ts";
import type { HostImplementation } from "./host-implementation.ts";
import type { MicrovmImplementation } from "./microvm-implementation.ts";
import type { ProcessImplementation } from "./process-implementation.ts";
import type { QuickJsImplementation } from "./quickjs-implementation.ts";
import type { RemoteImplementation } from "./remote-implementation.ts";
import type { WasmImplementation } from "./wasm-implementation.ts";

/**
 * A tool's implementations, one for each sandbox in which it can run.
 *
 * @typeParam Input The type of the arguments that functions take.
 * @typeParam Embedder The type of the `embedder` that the host function needs. Default: any.
 */
export interface ToolImplementations<Input = never, Embedder = unknown> {
  readonly host?: HostImplementation<Input, Embedder>;
  readonly wasm?: WasmImplementation;
  readonly quickjs?: QuickJsImplementation;
  readonly process?: ProcessImplementation<Input>;
  readonly microvm?: MicrovmImplementation;
  readonly remote?: RemoteImplementation;
}

/** A tool, as sandboxes get to know it: its implementations, and what they declare about themselves. */
export interface SandboxedTool
  extends ToolImplementations<never, never>,
    Pick<ToolTraits, "usesFiles" | "logFileAccess" | "paths" | "sideEffects"> {}

/** Whether the files that a tool's host implementation opens without `context.files` are logged. */
export function logsFileAccess({ logFileAccess, paths, usesFiles }: SandboxedTool): boolean {
  return logFileAccess ?? (usesFiles !== true && paths !== undefined && paths.length > 0);
}

/** The sandboxes in which a tool with these implementations can run. */
export function sandboxesOf(implementations: ToolImplementations<never, never>): readonly SandboxMode[] {
  return Object.freeze(SANDBOX_MODES.filter((mode) => implementations[mode] !== undefined));
}
