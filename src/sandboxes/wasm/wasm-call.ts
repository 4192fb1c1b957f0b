import { encodedGuardedFiles } from "../../base/guarded-files.ts";
import { awaitTurn } from "../../base/turns.ts";
import type { Capabilities } from "../../policy/grant/capabilities.ts";
import type { FsGrant } from "../../policy/grant/fs-grant.ts";
import { firstLimitBesides, type LimitName, type ResourceLimits } from "../../policy/grant/limits.ts";
import { type EnforcedLimits, limitsEnforcedBy } from "../contract/enforced-limits.ts";
import type { SandboxOutcome } from "../contract/outcome.ts";
import { ownerOf as ownerOfTask, type SandboxTask } from "../contract/sandbox.ts";
import { CallServices, type ExternalResources, type ServiceUse } from "../guest-services/call-services.ts";
import type { HttpRules } from "../guest-services/http-service.ts";
import type { TimedRequest } from "../guest-services/service-request.ts";
import { callerOf, type PoolOutcome, type PoolTaskOptions } from "../threads/pool-task.ts";
import type { WorkerPool } from "../threads/worker-pool.ts";
import type { CappedComponent } from "./component/component.ts";
import type { WasiGrant } from "./host/wasi/grant.ts";
import { readWasmOutcome } from "./outcome.ts";
import type { WasmAnswer, WasmTask } from "./thread/thread-task.ts";

const MIB = 1_024 * 1_024;

/** Default limits, for those that a grant does not set. All of them are enforced. */
export const WASM_DEFAULTS: EnforcedLimits<"wasm"> = Object.freeze({
  wallTimeMs: 30_000,
  memoryBytes: 64 * MIB,
  outputBytes: MIB,
  logLines: 1_000,
  nestedCalls: 16,
  fileBytes: 16 * MIB,
  netBytes: 16 * MIB,
});

const ENFORCED = limitsEnforcedBy("wasm");

/** Only `netBytes` limits a body. Every request that was sent may have had an effect, whatever its method. */
const HTTP_RULES: HttpRules = Object.freeze({
  maxBodyBytes: Number.POSITIVE_INFINITY,
  trustsSafeMethods: false,
});

/** A component that is ready to run, and the function to call. */
export interface ReadyTool extends CappedComponent {
  readonly export: string;
  /** The memory limit that the artifact enforces. */
  readonly memoryBytes: number;
  /** Identifies the tool among those of all components. */
  readonly id: string;
}

/**
 * Runs one call in a thread, with directories that were checked. Resolves once no part of the call is running
 * any more. Rejects only if an internal error hides the outcome of the guest.
 */
export async function runWasmCall(
  pool: WorkerPool,
  { key, artifact, export: name, memoryBytes, id }: ReadyTool,
  task: SandboxTask,
  resources: ExternalResources,
): Promise<SandboxOutcome> {
  const { callId, canonical, capabilities, signal, observer, waitedMs, nesting = 0 } = task;
  const { wallTimeMs, outputBytes } = task.limits;
  const {
    logLines = WASM_DEFAULTS.logLines,
    nestedCalls = WASM_DEFAULTS.nestedCalls,
    fileBytes = WASM_DEFAULTS.fileBytes,
    netBytes = WASM_DEFAULTS.netBytes,
  } = task.limits;
  const tool = task.implementations.wasm?.tool ?? task.toolName;
  const { fs = [] } = capabilities;
  const grant: WasiGrant = { ...readGrant(capabilities), fs, fileBytes };
  const fields: WasmTask = {
    export: name,
    tool,
    input: canonical.text,
    callId,
    wallTimeMs,
    memoryBytes,
    outputBytes,
    logLines,
    netBytes,
    grant,
    ...(fs.length > 0 && { guarded: encodedGuardedFiles() }),
    owner: ownerOf(task, grant, [key, name, tool]),
  };
  // Created on the first request, because most calls do not use services.
  let services: CallServices | undefined;
  const onRequest = (request: unknown): Promise<unknown> => {
    services ??= new CallServices(task, resources, { nestedCalls, netBytes }, HTTP_RULES);
    return services.answerTimed(request as TimedRequest);
  };
  const options: PoolTaskOptions = {
    wallTimeMs,
    signal,
    observer,
    nesting,
    tool: id,
    ...callerOf(task),
    waitedMs,
    artifact: { name: key, value: artifact },
    onRequest,
  };
  const outcome = await pool.run<WasmAnswer>(fields, options);
  const isUnknown = services?.effect === "unknown" || mayHaveChangedFiles(outcome, fs);
  if (services !== undefined) await services.end();
  const turn =
    outcome.status === "returned" ? awaitTurn(textLength(outcome.result), ownerOfTask(task)) : undefined;
  if (turn !== undefined) await turn;
  const use: ServiceUse = { effect: isUnknown ? "unknown" : "none", used: services?.used ?? {} };
  const mayReuse = capabilities.reuse !== undefined;
  return readWasmOutcome(outcome, use, task.limits, { mayReuse, engine: artifact.jco && "jco" });
}

/**
 * Returns the owner of the instance that the call may share with calls of the same session, tool and grant. Seeded
 * calls do not share one: each must draw the same random numbers, not continue where the previous call stopped.
 */
function ownerOf(
  { sessionId, toolName, capabilities, limits }: SandboxTask,
  grant: WasiGrant,
  component: readonly string[],
): string | undefined {
  if (capabilities.reuse === undefined || capabilities.randomSeed !== undefined) return undefined;
  return JSON.stringify([sessionId, toolName, component, capabilities, limits, grant.env]);
}

/** The length of the text that has to be parsed. */
function textLength(answer: WasmAnswer): number {
  return answer.status === "returned" ? answer.text.length : 0;
}

/** A thread that was terminated does not report what it did, so it counts as having changed files. */
function mayHaveChangedFiles(outcome: PoolOutcome<WasmAnswer>, fs: readonly FsGrant[]): boolean {
  if (outcome.status === "unavailable" || !fs.some(({ write }) => write)) return false;
  return outcome.status === "returned" ? outcome.result.hasChangedFiles : outcome.started;
}

/** Reads the environment variables at the time of the call. */
function readGrant({
  env = [],
  clock = false,
  random = false,
  ...replay
}: Capabilities): Omit<WasiGrant, "fs" | "fileBytes"> {
  const variables = env.flatMap((name): [string, string][] => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  const { frozenClock, randomSeed } = replay;
  return { env: variables, clock, random, frozenClock, randomSeed };
}

/** Returns the first limit that this sandbox cannot enforce, if there is one. */
export function unenforceableLimit(limits: ResourceLimits): LimitName | undefined {
  return firstLimitBesides(limits, ENFORCED);
}
