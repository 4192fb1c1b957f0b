import type { ExportResult } from "../exports/call-export.ts";
import type { GuestResult } from "../exports/guest-interface.ts";
import type { WasiGrant } from "../host/wasi/grant.ts";
import type { FileChanges } from "../host/wasi/host.ts";
import type { Trap } from "./trap.ts";

/** The message that starts a call in a thread. */
export interface WasmTask {
  /** The name of the exported function to call. */
  readonly export: string;
  /** The tool's name, for components of the world `sandgate:tool`. */
  readonly tool: string;
  /** The arguments, as JSON text. */
  readonly input: string;
  readonly callId: string;
  readonly wallTimeMs: number | undefined;
  readonly memoryBytes: number;
  readonly outputBytes: number | undefined;
  readonly logLines: number;
  readonly netBytes: number;
  readonly grant: WasiGrant;
  /** What the process guards; absent without `fs`. */
  readonly guarded?: string | undefined;
  /** Calls with the same owner share one instance and its state. If `undefined`, the call gets a fresh instance. */
  readonly owner: string | undefined;
}

/** A thread's reply to a {@link WasmTask}. */
export type WasmAnswer = {
  /** The size of the linear memories in bytes when the call ended. */
  readonly memoryBytes: number;
  /** The number of lines that the call logged. */
  readonly logLines: number;
  /** Whether a memory has grown to its cap. */
  readonly atMemoryCap: boolean;
  /** Whether an earlier call used the same instance. */
  readonly isReused: boolean;
} & FileChanges &
  WasmEnd;

/** How a call ended. */
export type WasmEnd =
  | GuestResult
  | ExportResult
  | { readonly status: "output-exceeded"; readonly outputBytes: number }
  | Trap;
