import type { HostImplementation, HostModule } from "./host-implementation.ts";
import type { QuickJsImplementation } from "./quickjs-implementation.ts";
import type { RemoteImplementation } from "./remote-implementation.ts";
import type { SandboxMode } from "./sandbox-mode.ts";
import type { WasmImplementation } from "./wasm-implementation.ts";

/** A tool's implementations: one for each sandbox in which it can run. `worker` is the host's thread. */
export interface ToolImplementations<Input = never, Embedder = unknown> {
  readonly host?: HostImplementation<Input, Embedder>;
  readonly worker?: HostModule;
  readonly wasm?: WasmImplementation;
  readonly quickjs?: QuickJsImplementation;
  readonly remote?: RemoteImplementation;
}

/** The names under which implementations are registered. */
export const IMPLEMENTATION_NAMES: readonly (keyof ToolImplementations)[] = Object.freeze([
  "host",
  "worker",
  "wasm",
  "quickjs",
  "remote",
]);

/** The sandboxes in which a tool with these implementations can run. */
export function sandboxesOf(implementations: ToolImplementations<never, never>): readonly SandboxMode[] {
  const modes: SandboxMode[] = [];
  if (implementations.host !== undefined || implementations.worker !== undefined) modes.push("host");
  if (implementations.wasm !== undefined) modes.push("wasm");
  if (implementations.quickjs !== undefined) modes.push("quickjs");
  if (implementations.remote !== undefined) modes.push("remote");
  return Object.freeze(modes);
}
