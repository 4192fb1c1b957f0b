import type { ResourceUse, SandboxOutcome } from "../contract/outcome.ts";
import type { SandboxTask, TaskObserver, TurnObserver } from "../contract/sandbox.ts";
import type { AbandonedThreads } from "./abandoned-threads.ts";
import { msBetween } from "./thread-table.ts";

const NOTHING = Object.freeze({});

/** Runs tasks in threads, and ends the thread of a task that is late or cancelled. */
export interface TaskPool {
  /** Runs a task. Never rejects. */
  run<Result>(fields: unknown, options: PoolTaskOptions): Promise<PoolOutcome<Result>>;
  /** Ends all running tasks. Later ones are refused. */
  close(): Promise<void>;
}

/** A pool of an embedder's threads. `piscinaPool` of `sandgate/piscina` returns one. */
export interface ForeignPool {
  /** @internal */
  open(options: ForeignPoolOptions): TaskPool;
}

/** The options that a sandbox passes to a foreign pool. */
export interface ForeignPoolOptions {
  /** The path or `file:` URL of the module whose default export runs a task. It only reports from its thread. */
  readonly entry: string;
  /** Milliseconds that a task may wait until its work starts. */
  readonly maxWaitMs: number | undefined;
  readonly abandoned: AbandonedThreads;
}

/** The options of a task in a pool. */
export interface PoolTaskOptions {
  /** Milliseconds from the start of the work until the thread is ended; `undefined` for no limit. */
  readonly wallTimeMs: number | undefined;
  /** Additional milliseconds in which the thread can end the work itself. Default: 0. */
  readonly graceMs?: number;
  readonly signal: AbortSignal | undefined;
  readonly observer: TaskObserver;
  /** Identifies the code that the task runs, within the pool. */
  readonly tool?: string;
  /** The id of the calling principal. Waiting tasks of different callers take turns: see `FairQueue`. */
  readonly caller?: string | undefined;
  /** The session of the caller. */
  readonly session?: string | undefined;
  /** Milliseconds for which the call has waited already, which count against `maxWaitMs`. Default: 0. */
  readonly waitedMs?: number | undefined;
  /** Follows whether the task waits for a thread. */
  readonly turn?: TurnObserver | undefined;
  /**
   * Data that the task needs in addition to its fields. It is sent only once to each thread that needs it, so
   * a name must always stand for the same value.
   */
  readonly artifact?: Artifact;
  /**
   * Replies to a request that the task makes with `TaskThread.request`, while its thread is blocked. It must
   * not reject. If the thread is ended while it waits, the reply is dropped.
   */
  readonly onRequest?: (request: unknown) => Promise<unknown>;
  /**
   * The number of tasks that wait for this one, directly or indirectly. Each depth has its own threads, so
   * that tasks cannot occupy the threads that the tasks they wait for need. Default: 0.
   */
  readonly nesting?: number;
}

/** Returns the caller, the session and the turn of a task. */
export function callerOf({
  principal,
  sessionId,
  turn,
}: Pick<SandboxTask, "principal" | "sessionId" | "turn">): Pick<
  PoolTaskOptions,
  "caller" | "session" | "turn"
> {
  return { caller: principal?.id, session: sessionId, turn };
}

/** Data that many tasks need. */
export interface Artifact {
  readonly name: string;
  readonly value: unknown;
}

/** The outcome of a task. */
export type PoolOutcome<Result> = {
  /** Milliseconds from the start of the work. */
  readonly wallTimeMs: number;
  /** Milliseconds for which the task waited for a thread. Absent if one was free. */
  readonly waitedMs?: number;
} & (
  | { readonly status: "returned"; readonly result: Result }
  | {
      /** The thread was ended. */
      readonly status: "timeout" | "cancelled";
      /** Whether the work had begun. */
      readonly started: boolean;
      /** Set if the thread could not be ended. */
      readonly mayStillRun?: true;
    }
  /** The thread ended unexpectedly, or the task threw. */
  | { readonly status: "crashed"; readonly started: boolean; readonly error: Error }
  /** No thread ran the task. */
  | {
      readonly status: "unavailable";
      readonly reason: string;
      /** Set if it waited for a thread as long as it may. */
      readonly hasWaited?: true;
    }
);

/** Why a task is ended early; `waited` if no thread was free for too long. */
export type EndCause = "timeout" | "cancelled" | "waited";

/** A queue in which a task waits until it starts. */
export interface TaskQueue {
  /** Takes back a task that has not started. Returns `false` if it has. */
  takeBack(task: PoolTask): boolean;
}

/** The thread that a task is assigned to. */
export interface AssignedThread extends TaskQueue {
  /** Returns when the work of the task in a slot started; 0 before. */
  startedAt(slot: number): bigint;
  /** Ends the thread because of a task that has started. The tasks that wait in it move to other threads. */
  endUnder(task: PoolTask): void;
}

let tasks = 0;

/** A task in a pool. */
export class PoolTask {
  /** The tasks of this process are numbered in the order in which they were submitted. */
  readonly number: number = ++tasks;
  /** Plain data for the thread. */
  readonly fields: unknown;
  readonly options: PoolTaskOptions;
  /** Time of submission, from `performance.now()`. */
  readonly submittedAt: number = performance.now();
  /** The queue to which it was last submitted. */
  queue: TaskQueue | undefined;
  /** The thread to which it is assigned; `undefined` while it waits in the pool. */
  thread: AssignedThread | undefined;
  /** Its slot in that thread. */
  slot = 0;
  /** Whether no thread was free when it was submitted. */
  #mustWait = false;
  /** Why it is being ended; `undefined` if it is not. */
  cause: EndCause | undefined;
  readonly #settle: (outcome: PoolOutcome<never>) => void;
  readonly #onAbort: (() => void) | undefined;

  /** @param onAbort Called when the task's signal is aborted. */
  constructor(
    fields: unknown,
    options: PoolTaskOptions,
    settle: (outcome: PoolOutcome<never>) => void,
    onAbort: (task: PoolTask) => void,
  ) {
    this.fields = fields;
    this.options = options;
    this.#settle = settle;
    if (options.signal !== undefined) {
      this.#onAbort = () => onAbort(this);
      options.signal.addEventListener("abort", this.#onAbort, { once: true });
    }
  }

  /** When the work started; 0 before. */
  get startedAt(): bigint {
    return this.thread?.startedAt(this.slot) ?? 0n;
  }

  /** Notes that no thread runs it yet. */
  wait(): void {
    this.#mustWait = true;
    this.options.turn?.waits();
  }

  /** Reports the outcome. */
  settle(outcome: PoolOutcome<never>): void {
    if (this.#onAbort !== undefined) this.options.signal?.removeEventListener("abort", this.#onAbort);
    this.#settle(this.#mustWait ? this.#withWait(outcome) : outcome);
  }

  /** Adds how long the task waited: what passed since it was submitted, without its work. */
  #withWait(outcome: PoolOutcome<never>): PoolOutcome<never> {
    const waitedMs = Math.round(performance.now() - this.submittedAt - outcome.wallTimeMs);
    return waitedMs > 0 ? { ...outcome, waitedMs } : outcome;
  }
}

/**
 * Returns the outcome of a task because of which its thread was ended.
 *
 * @param hasEnded Whether the thread has ended. Otherwise, it was abandoned.
 */
export function endedOutcome(task: PoolTask, hasEnded: boolean): PoolOutcome<never> {
  const { cause } = task;
  const { started, wallTimeMs } = sinceStart(task);
  if (cause !== "timeout" && cause !== "cancelled" && !started) {
    return { status: "unavailable", reason: "its work did not start in time", hasWaited: true, wallTimeMs };
  }
  // Work can start just when its thread is ended because it has not.
  const status = cause === "cancelled" ? cause : "timeout";
  if (hasEnded) return { status, started, wallTimeMs };
  return { status, started, mayStillRun: true, wallTimeMs };
}

/**
 * Returns the members of a call's outcome that report a thread that could not be ended; empty if it was
 * ended.
 */
export function notEnded({
  mayStillRun,
}: {
  readonly mayStillRun?: true;
}): Pick<SandboxOutcome, "mayStillRun" | "ended" | "detail"> {
  if (!mayStillRun) return NOTHING;
  return {
    mayStillRun,
    ended: "requested",
    detail: "its thread could not be terminated and is still running",
  };
}

/** Returns the outcome of a call that no thread ran. */
export function notRun(
  outcome: Extract<PoolOutcome<unknown>, { readonly status: "unavailable" }>,
): SandboxOutcome {
  const { reason, hasWaited } = outcome;
  const used = timesOf(outcome);
  return { status: "unavailable", effect: "none", used, detail: reason, ...(hasWaited && { hasWaited }) };
}

/** Returns what a task used: its time, and how long it waited for a thread. */
export function timesOf({
  wallTimeMs,
  waitedMs,
}: PoolOutcome<unknown>): Pick<ResourceUse, "wallTimeMs" | "waitedMs"> {
  return waitedMs === undefined ? { wallTimeMs } : { wallTimeMs, waitedMs };
}

/** Returns the outcome of a task whose thread ended unexpectedly. */
export function crashedOutcome(task: PoolTask, error: Error): PoolOutcome<never> {
  return { status: "crashed", error, ...sinceStart(task) };
}

function sinceStart({ startedAt }: PoolTask): { readonly started: boolean; readonly wallTimeMs: number } {
  const started = startedAt !== 0n;
  return { started, wallTimeMs: started ? msBetween(startedAt, process.hrtime.bigint()) : 0 };
}
