import type { TaskObserver } from "../contract/sandbox.ts";

/** What a pool is told of one task. */
export interface PoolTaskOptions {
  /** From the start of the work until the thread is ended; `undefined` for no limit. */
  readonly wallTimeMs: number | undefined;
  /** How much longer the thread may take to end the work by itself. Default: 0. */
  readonly graceMs?: number;
  readonly signal: AbortSignal | undefined;
  readonly observer: TaskObserver;
  /**
   * What the task needs beside its fields: sent once to each thread that needs it. One name always stands for
   * the same value.
   */
  readonly artifact?: Artifact;
  /**
   * Replies to what the task asks for with `TaskThread.request`, while its thread is blocked. It must not reject.
   * The deadline and the cancellation end the thread while it waits; the reply then reaches nobody.
   */
  readonly onRequest?: (text: string) => Promise<string>;
  /**
   * How many of the tasks that wait for each other are above this one. Each depth has threads of its own, so
   * that tasks which wait for others never keep these from running. Default: 0.
   */
  readonly nesting?: number;
}

/** Something that many tasks need. */
export interface Artifact {
  readonly name: string;
  readonly value: unknown;
}

/** What became of a task in a thread. `wallTimeMs` counts from the start of the work. */
export type PoolOutcome<Result> = { readonly wallTimeMs: number } & (
  | { readonly status: "returned"; readonly result: Result }
  /** The thread was ended; `started` tells whether the work had begun. */
  | { readonly status: "timeout" | "cancelled"; readonly started: boolean }
  /** The thread broke under the task. */
  | { readonly status: "crashed"; readonly started: boolean; readonly error: Error }
  /** No thread took the task. */
  | { readonly status: "unavailable"; readonly reason: string }
);

/** Why a task is ended before it has ended by itself; `waited`: no thread was free for too long. */
export type EndCause = "timeout" | "cancelled" | "waited";

/** The thread that was given a task. */
export interface TaskHolder {
  /** When the work of the task in a slot began; 0 before. */
  startedAt(slot: number): bigint;
  /** Takes a task back that did not begin; `false` when it did. */
  takeBack(task: PoolTask): boolean;
  /** Ends the thread under a task that began. What waits in it goes on elsewhere. */
  endUnder(task: PoolTask): void;
}

/** A task on its way through a pool. */
export class PoolTask {
  /** For the thread; plain data. */
  readonly fields: unknown;
  readonly options: PoolTaskOptions;
  readonly submittedAt: bigint = process.hrtime.bigint();
  /** Which thread has it; `undefined` while it waits in the pool. */
  holder: TaskHolder | undefined;
  /** Where it is in that thread. */
  slot = 0;
  /** Why it is being ended; `undefined` while it may go on. */
  cause: EndCause | undefined;
  readonly #settle: (outcome: PoolOutcome<never>) => void;
  readonly #onAbort: (() => void) | undefined;

  /** @param onAbort Called when nobody wants the task any more. */
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

  /** When the work began; 0 before. */
  get startedAt(): bigint {
    return this.holder?.startedAt(this.slot) ?? 0n;
  }

  /** Tells what became of it. */
  settle(outcome: PoolOutcome<never>): void {
    if (this.#onAbort !== undefined) this.options.signal?.removeEventListener("abort", this.#onAbort);
    this.#settle(outcome);
  }
}
