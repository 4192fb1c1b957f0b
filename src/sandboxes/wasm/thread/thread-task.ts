import type { ExportResult } from "../exports/call-export.ts";
import type { GuestResult } from "../exports/guest-interface.ts";
import type { WasiGrant } from "../host/wasi/grant.ts";
import type { FileChanges } from "../host/wasi/host.ts";
import type { Trap } from "./trap.ts";

/** What a thread is told of a call. */
export interface WasmTask {
  /** Which of the component's functions. */
  readonly export: string;
  /** For the world `sandgate:tool`. */
  readonly tool: string;
  /** JSON text. */
  readonly input: string;
  readonly callId: string;
  readonly wallTimeMs: number | undefined;
  readonly outputBytes: number | undefined;
  readonly logLines: number;
  readonly netBytes: number;
  readonly grant: WasiGrant;
  /** Whose instance it is: the next call of the same owner gets it as this one leaves it. */
  readonly owner: string | undefined;
}

/** What a thread answers. */
export type WasmAnswer = {
  /** Bytes of linear memory at the end. */
  readonly memoryBytes: number;
  /** Lines that it logged. */
  readonly logLines: number;
  /** Whether a memory has no room left under its cap. */
  readonly atMemoryCap: boolean;
  /** Whether an earlier call had run in its instance. */
  readonly isReused: boolean;
} & FileChanges &
  WasmEnd;

/** How it ended. */
export type WasmEnd =
  | GuestResult
  | ExportResult
  | { readonly status: "output-exceeded"; readonly outputBytes: number }
  | Trap;
