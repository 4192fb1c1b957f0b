import { firstLimitBesides, type LimitName, type ResourceLimits } from "../../policy/grant/limits.ts";
import { type EnforcedLimits, limitsEnforcedBy } from "../contract/enforced-limits.ts";
import type { ResourceUse } from "../contract/outcome.ts";
import type { PoolOutcome } from "../threads/pool-task.ts";
import { DEFAULT_LOG_BUDGET, type LogBudget } from "../threads/thread-message.ts";
import { MIN_MEMORY_BYTES } from "./engine/engine-binary.ts";
import { type FileUse, NO_FILE_USE } from "./thread/external-access.ts";
import type { QuickJsAnswer } from "./thread/thread-task.ts";

/** A complete set of limits: each of them is enforced on every guest. */
export type QuickJsLimits = EnforcedLimits<"quickjs">;

/** How long a guest may take to notice its deadline before its thread is ended. */
export const INTERRUPT_GRACE_MS = 50;

/** The largest stack of a guest: with more, V8's stack would overflow first in the engine's parser. */
const MAX_STACK_BYTES = 256 * 1_024;

/** The smallest stack with which the engine can run ordinary code. */
const MIN_STACK_BYTES = 32 * 1_024;

/** The limits that apply if the grant does not set them. */
export const QUICKJS_DEFAULT_LIMITS: QuickJsLimits = Object.freeze({
  wallTimeMs: 30_000,
  memoryBytes: 64 * 1_024 * 1_024,
  outputBytes: 1_024 * 1_024,
  stackBytes: MAX_STACK_BYTES,
  logLines: 1_000,
  nestedCalls: 16,
  fileBytes: 16 * 1_024 * 1_024,
  netBytes: 16 * 1_024 * 1_024,
  waitTimeMs: 7 * 24 * 60 * 60_000,
});

const ENFORCED = limitsEnforcedBy("quickjs");

/** Adds the defaults of missing limits. */
export function completeLimits(limits: ResourceLimits): QuickJsLimits {
  // The engine passes complete limits, so calls do not allocate here.
  for (const name in QUICKJS_DEFAULT_LIMITS) {
    if (limits[name as LimitName] === undefined) return { ...QUICKJS_DEFAULT_LIMITS, ...limits };
  }
  return limits as QuickJsLimits;
}

/**
 * Returns the first limit that cannot be enforced. The engine needs at least 16 MiB of memory and 32 KiB of stack,
 * and supports at most 256 KiB of stack.
 */
export function unenforceableLimit(limits: ResourceLimits): LimitName | undefined {
  const { memoryBytes, stackBytes } = limits;
  if (memoryBytes !== undefined && memoryBytes < MIN_MEMORY_BYTES) return "memoryBytes";
  if (stackBytes !== undefined && (stackBytes < MIN_STACK_BYTES || stackBytes > MAX_STACK_BYTES)) {
    return "stackBytes";
  }
  return firstLimitBesides(limits, ENFORCED);
}

/** What a call has used of its limits so far, apart from what its requests used. */
export class CallUse {
  /** The wall time, in ms. */
  elapsedMs: number;
  /** How long it waited for threads, in ms. */
  #waitedMs: number;
  /** How long it waited for people, in ms. */
  #askedMs = 0;
  #log: LogBudget;
  #files: FileUse = NO_FILE_USE;
  readonly #limits: QuickJsLimits;

  /**
   * @param elapsedMs The wall time that loading the tool took, in ms.
   * @param waitedMs How long that waited for a thread, in ms.
   */
  constructor(limits: QuickJsLimits, elapsedMs: number, waitedMs: number) {
    this.#limits = limits;
    this.elapsedMs = elapsedMs;
    this.#waitedMs = waitedMs;
    this.#log = { lines: limits.logLines, bytes: DEFAULT_LOG_BUDGET.bytes };
  }

  /** Takes over what the call used in an earlier process. */
  resume(earlier: Pick<CallUse, "elapsedMs" | "log" | "files">, askedMs: number): void {
    this.elapsedMs = earlier.elapsedMs;
    this.#log = earlier.log;
    this.#files = earlier.files;
    this.#askedMs = askedMs;
  }

  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** What is left of the log. */
  get log(): LogBudget {
    return this.#log;
  }

  get files(): FileUse {
    return this.#files;
  }

  /** How long the call may still wait for people, in ms. */
  get leftWaitMs(): number {
    return Math.max(this.#limits.waitTimeMs - this.#askedMs, 0);
  }

  /** The wall time that is left, in ms. At least 1: a guest that resumes at its deadline then times out in its thread. */
  get leftMs(): number {
    return Math.max(this.#limits.wallTimeMs - this.elapsedMs, 1);
  }

  /** Adds a wait for replies: its wall time, and the time for which people were asked, in ms. */
  countWait({ waitedMs, askedMs }: { readonly waitedMs: number; readonly askedMs: number }): void {
    this.elapsedMs += waitedMs;
    this.#askedMs += askedMs;
  }

  /** Adds what a step of the guest used, which may write files or not. */
  countStep(outcome: PoolOutcome<QuickJsAnswer>, mayWrite: boolean): void {
    this.elapsedMs += outcome.wallTimeMs;
    this.#waitedMs += outcome.waitedMs ?? 0;
    if (outcome.status === "returned") {
      const { log, files = this.#files } = outcome.result;
      this.#log = log;
      this.#files = files;
    } else if (outcome.status !== "unavailable" && outcome.started && mayWrite) {
      // A thread that was ended cannot report what it did.
      const { changes: _, ...files } = this.#files;
      this.#files = { ...files, hasChanged: true };
    }
  }

  /** Returns the figures for the receipt, with those of the call's requests. */
  withServices(sent: Partial<ResourceUse> | undefined): ResourceUse {
    const logLines = this.#limits.logLines - this.#log.lines;
    const { writtenBytes: fileBytes } = this.#files;
    const waited = this.#waitedMs > 0 ? { waitedMs: this.#waitedMs } : undefined;
    const used = { wallTimeMs: this.elapsedMs, ...waited, logLines, nestedCalls: 0, ...sent };
    return fileBytes > 0 ? { ...used, fileBytes } : used;
  }
}
