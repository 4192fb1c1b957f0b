import { ThreadLog } from "../thread-log.ts";
import { markStarted, type ThreadTask } from "../worker-thread.ts";
import type { WasmArtifact } from "./artifact.ts";
import { type GuestError, isGuestError } from "./guest-interface.ts";
import { ComponentInstance, type LoadedComponent, loadComponent } from "./instance.ts";
import { allowLifting, budgetSlices } from "./lift-budget.ts";
import { LruMap } from "./lru-map.ts";
import { readTrap, type Trap } from "./trap.ts";
import type { WasiGrant } from "./wasi/grant.ts";
import { WasiHost } from "./wasi/host.ts";

/** What a thread is told of a call. */
export interface WasmTask {
  /** Which component, under which memory cap. */
  readonly key: string;
  /** Left out as long as the thread may have it. */
  readonly artifact: WasmArtifact | undefined;
  readonly tool: string;
  /** JSON text. */
  readonly input: string;
  readonly callId: string;
  readonly wallTimeMs: number | undefined;
  readonly outputBytes: number | undefined;
  readonly grant: WasiGrant;
}

/** What a thread answers. */
export type WasmAnswer =
  /** It does not have the component: nothing ran. */
  | { readonly status: "needs-artifact" }
  | ({
      /** Bytes of linear memory at the end. */
      readonly memoryBytes: number;
      /** Whether a memory has no room left under its cap. */
      readonly atMemoryCap: boolean;
    } & WasmEnd);

type WasmEnd =
  | { readonly status: "returned"; readonly text: string }
  | ({ readonly status: "tool-error" } & GuestError)
  | { readonly status: "output-exceeded"; readonly outputBytes: number }
  | Trap;

/** How many components a thread keeps loaded. */
const MAX_LOADED = 32;

/** What one crossing may always copy out: log lines and error messages do not count as output. */
const MIN_LIFTED_BYTES = 1_024 * 1_024;

const loaded = new LruMap<string, LoadedComponent>(MAX_LOADED);

budgetSlices();

/** Runs one call in a fresh instance. */
export default function runWasmTask(task: WasmTask & ThreadTask): WasmAnswer {
  const component = findComponent(task);
  if (component === undefined) return { status: "needs-artifact" };
  const log = new ThreadLog(task);
  const wasi = new WasiHost(task.grant, (level, line) => log.write(level, line));
  const instance = new ComponentInstance(component);
  allowLifting(Math.max(task.outputBytes ?? Number.POSITIVE_INFINITY, MIN_LIFTED_BYTES));
  markStarted(task);
  const end = callTool(instance, wasi.imports(component.artifact.imports), task);
  allowLifting(Number.POSITIVE_INFINITY);
  wasi.end();
  return { ...end, memoryBytes: instance.memoryBytes, atMemoryCap: instance.isAtMemoryCap };
}

function callTool(
  instance: ComponentInstance,
  imports: Readonly<Record<string, object>>,
  { tool, input, callId, wallTimeMs, outputBytes: maxBytes = Number.POSITIVE_INFINITY }: WasmTask,
): WasmEnd {
  try {
    const context = { callId, wallTimeMs: wallTimeMs === undefined ? undefined : BigInt(wallTimeMs) };
    const text = instance.call(imports, tool, input, context);
    if (typeof text !== "string") throw new TypeError("the answer is no string");
    const outputBytes = Buffer.byteLength(text);
    return outputBytes > maxBytes ? { status: "output-exceeded", outputBytes } : { status: "returned", text };
  } catch (thrown) {
    if (!isGuestError(thrown)) return readTrap(thrown);
    return { status: "tool-error", code: thrown.code, message: thrown.message };
  }
}

function findComponent({ key, artifact }: WasmTask): LoadedComponent | undefined {
  const known = loaded.get(key);
  if (known !== undefined || artifact === undefined) return known;
  const component = loadComponent(artifact);
  loaded.set(key, component);
  return component;
}
