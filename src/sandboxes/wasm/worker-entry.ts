import type { LogLevel } from "../log-level.ts";
import { DEFAULT_LOG_BUDGET, ThreadLog } from "../thread-log.ts";
import { markStarted, type ThreadTask } from "../worker-thread.ts";
import type { WasmArtifact } from "./artifact.ts";
import { callExport, type ExportResult } from "./exports/call-export.ts";
import { GUEST_CALL, type GuestResult, guestArguments, readGuestResult } from "./guest-interface.ts";
import { ComponentInstance } from "./instance.ts";
import { LiftBudget } from "./lift-budget.ts";
import { LruMap } from "./lru-map.ts";
import { toolHost } from "./tool-host.ts";
import { readTrap, type Trap } from "./trap.ts";
import type { WasiGrant } from "./wasi/grant.ts";
import { WasiHost } from "./wasi/host.ts";

/** What a thread is told of a call. */
export interface WasmTask {
  /** Which component, under which memory cap. */
  readonly key: string;
  /** Left out as long as the thread may have it. */
  readonly artifact: WasmArtifact | undefined;
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
  readonly grant: WasiGrant;
}

/** What a thread answers. */
export type WasmAnswer =
  /** It does not have the component: nothing ran. */
  | { readonly status: "needs-artifact" }
  | ({
      /** Bytes of linear memory at the end. */
      readonly memoryBytes: number;
      /** Lines that it logged. */
      readonly logLines: number;
      /** Whether a memory has no room left under its cap. */
      readonly atMemoryCap: boolean;
    } & WasmEnd);

type WasmEnd =
  | GuestResult
  | ExportResult
  | { readonly status: "output-exceeded"; readonly outputBytes: number }
  | Trap;

/** How many components a thread keeps. */
const MAX_KEPT = 32;

/** What one crossing may always hand over: log lines and error messages do not count as output. */
const MIN_LIFTED_BYTES = 1_024 * 1_024;

const kept = new LruMap<string, WasmArtifact>(MAX_KEPT);

/** Runs one call in a fresh instance. */
export default function runWasmTask(task: WasmTask & ThreadTask): WasmAnswer {
  const artifact = findArtifact(task);
  if (artifact === undefined) return { status: "needs-artifact" };
  const log = new ThreadLog(task, { lines: task.logLines, bytes: DEFAULT_LOG_BUDGET.bytes });
  const write = (level: LogLevel, line: string): void => log.write(level, line);
  const wasi = new WasiHost(task.grant, write);
  const budget = new LiftBudget(Math.max(task.outputBytes ?? Number.POSITIVE_INFINITY, MIN_LIFTED_BYTES));
  const own = toolHost(write, task.wallTimeMs);
  const instance = new ComponentInstance(
    artifact,
    (name) => (name === "sandgate:tool/host" ? own : wasi.interface(name)),
    budget,
  );
  markStarted(task);
  const end = callTool(instance, artifact, task);
  wasi.end();
  return {
    ...end,
    memoryBytes: instance.memoryBytes,
    atMemoryCap: instance.isAtMemoryCap,
    logLines: task.logLines - log.left.lines,
  };
}

function callTool(instance: ComponentInstance, { plan }: WasmArtifact, task: WasmTask): WasmEnd {
  const exported = plan.exports.get(task.export);
  if (exported === undefined) throw new Error("the component lacks the export");
  try {
    if (task.export !== GUEST_CALL) {
      return withinLimit(
        callExport(exported.type, task.input, (args) => instance.call(exported, args)),
        task,
      );
    }
    const args = guestArguments(task.tool, task.input, task);
    return withinLimit(readGuestResult(instance.call(exported, args)), task);
  } catch (thrown) {
    return readTrap(thrown);
  }
}

function withinLimit<Result extends GuestResult | ExportResult>(
  result: Result,
  { outputBytes: maxBytes = Number.POSITIVE_INFINITY }: WasmTask,
): WasmEnd {
  if (result.status !== "returned") return result;
  const outputBytes = Buffer.byteLength(result.text);
  return outputBytes > maxBytes ? { status: "output-exceeded", outputBytes } : result;
}

function findArtifact({ key, artifact }: WasmTask): WasmArtifact | undefined {
  const known = kept.get(key);
  if (known !== undefined || artifact === undefined) return known;
  kept.set(key, artifact);
  return artifact;
}
