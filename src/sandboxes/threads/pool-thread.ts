import { MessageChannel, type ResourceLimits as ThreadLimits, Worker } from "node:worker_threads";
import { LruMap } from "../../base/lru-map.ts";
import { entryFile } from "../../base/package-files.ts";
import {
  type AssignedThread,
  crashedOutcome,
  endedOutcome,
  type PoolOutcome,
  type PoolTask,
} from "./pool-task.ts";
import type { FromThread, GivenTask, ThreadData, ThreadMessage } from "./thread-message.ts";
import { type PortOwner, ThreadPort } from "./thread-port.ts";
import { SLOTS, ThreadTable } from "./thread-table.ts";

/**
 * Milliseconds in which a thread must end. Threads that can be ended need only a few; the remainder is a
 * margin for busy machines.
 */
export const END_GRACE_MS = 1_000;

/** Maximum number of cached artifacts of a thread. The least recently used are evicted first. */
const MAX_ARTIFACTS = 32;

/** The options of a pool's threads. */
export interface ThreadOptions {
  /** The module whose default export, a `ThreadFunction`, runs each task. */
  readonly entry: string;
  /** V8's limits for each thread. */
  readonly limits?: ThreadLimits;
  /** The member `data` of each thread's `workerData`. */
  readonly data?: unknown;
  /** Whether the threads yield the CPU to other threads of this process. Default: `false`. */
  readonly yields?: boolean;
}

/** Receives the events of a thread. */
export interface ThreadOwner {
  /** A task has ended. */
  onOutcome(task: PoolTask, outcome: PoolOutcome<never>): void;
  /** The thread has started. */
  onReady(): void;
  /** The thread can take a task. */
  onFreePlace(thread: PoolThread): void;
  /** The thread accepts no more tasks. `left` are those that had not started in it. */
  onLeft(thread: PoolThread, left: readonly PoolTask[]): void;
  /** The thread, which runs a task of `tool`, did not end in time. `onGone` follows. */
  onAbandoned(thread: PoolThread, tool: string | undefined): void;
  /** An abandoned thread has ended. */
  onEndedLate(thread: PoolThread): void;
  /** The thread has ended or was abandoned. `failure` is set if it never became ready. */
  onGone(thread: PoolThread, left: readonly PoolTask[], failure: Error | undefined): void;
}

/**
 * A thread, as its pool sees it. It runs its tasks one after the other. Ending it ends only the running one.
 */
export class PoolThread implements AssignedThread, PortOwner {
  readonly #owner: ThreadOwner;
  readonly #worker: Worker;
  readonly #table = new ThreadTable();
  readonly #port: ThreadPort;
  readonly #tasks: (PoolTask | undefined)[] = new Array(SLOTS).fill(undefined);
  readonly #free: number[] = Array.from({ length: SLOTS }, (_, slot) => slot);
  /** The names of the artifacts that the thread has. */
  readonly #artifacts = new LruMap<string, true>(MAX_ARTIFACTS, {
    onEvicted: (name) => this.#port.post({ forget: name }),
  });
  readonly #gone = Promise.withResolvers<void>();
  #endTimer: NodeJS.Timeout | undefined;
  #isGone = false;
  #count = 0;
  #isReady = false;
  #isEnding = false;
  #isBlocked = false;
  #error: Error | undefined;

  constructor({ entry, limits = {}, data, yields = false }: ThreadOptions, owner: ThreadOwner) {
    this.#owner = owner;
    const { port1, port2 } = new MessageChannel();
    this.#port = new ThreadPort(port1, this.#table, this);
    const workerData: ThreadData = { entry, table: this.#table.buffer, port: port2, data, yields };
    this.#worker = new Worker(entryFile("sandboxes/threads/thread-main"), {
      workerData,
      transferList: [port2],
      resourceLimits: limits,
      // With `--input-type` (of `node -e`), a thread would refuse its file, so no flags are inherited then.
      // They are not filtered, since passing flags of V8 explicitly fails. These apply to all threads anyway.
      ...(process.execArgv.some((flag) => flag.startsWith("--input-type")) && { execArgv: [] }),
    });
    // Pending tasks keep the process alive, but idle threads do not.
    this.#worker.unref();
    this.#worker.on("error", (error: unknown) => {
      this.#error = error instanceof Error ? error : new Error(String(error));
    });
    this.#worker.on("exit", (code) => this.#onExit(code));
  }

  /** The number of its tasks, running and waiting. */
  get count(): number {
    return this.#count;
  }

  /** Whether it is being ended, and accepts no more tasks. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /**
   * The number of tasks that it can accept. The slot of a task that was taken back is reused after the thread
   * skips it.
   */
  get freePlaces(): number {
    return this.#isBlocked || this.#isEnding ? 0 : this.#free.length;
  }

  get hasFreePlace(): boolean {
    return this.freePlaces > 0;
  }

  /** Gives it a task. It must have a free place. */
  give(task: PoolTask): void {
    const slot = this.#free.pop() as number;
    this.#tasks[slot] = task;
    this.#count++;
    task.thread = this;
    task.slot = slot;
    this.#table.fill(slot);
    const { fields } = task;
    const { artifact } = task.options;
    const isIdle = this.#count === 1;
    const { turn } = task.options;
    if (isIdle && this.#isReady) turn?.begins();
    else turn?.waits();
    if (artifact === undefined) this.#port.give([slot, fields], isIdle);
    else if (this.#artifacts.get(artifact.name)) this.#port.give([slot, fields, artifact.name], isIdle);
    else {
      this.#artifacts.set(artifact.name, true);
      this.#port.give([slot, fields, artifact.name, artifact.value], isIdle);
    }
  }

  /** Deletes an artifact. */
  forget(artifact: string): void {
    if (this.#artifacts.delete(artifact)) this.#port.post({ forget: artifact });
  }

  startedAt(slot: number): bigint {
    return this.#table.startedAt(slot);
  }

  takeBack(task: PoolTask): boolean {
    const { slot } = task;
    if (!this.#table.withdraw(slot)) return false;
    this.#tasks[slot] = undefined;
    this.#count--;
    task.thread = undefined;
    return true;
  }

  /** Takes back tasks that have not started, at most `most`, and returns them in the order of their submission. */
  takeBackSome(most: number): readonly PoolTask[] {
    const taken: PoolTask[] = [];
    for (const task of this.#tasks) {
      if (taken.length >= most) break;
      if (task !== undefined && this.takeBack(task)) taken.push(task);
    }
    return taken.sort((one, other) => one.number - other.number);
  }

  /** Whether it has a task for which the test is true. */
  hasTask(test: (task: PoolTask) => boolean): boolean {
    return this.#tasks.some((task) => task !== undefined && test(task));
  }

  /** Takes back the tasks of a tool that have not started. */
  takeTool(tool: string): readonly PoolTask[] {
    return this.#tasks.filter((task) => task?.options.tool === tool && this.takeBack(task)) as PoolTask[];
  }

  endUnder(task: PoolTask): void {
    const left = this.takeBackSome(SLOTS);
    // No other task can start now. If this one has finished, the thread need not be ended.
    if (!this.#table.isDone(task.slot)) this.#end();
    this.#owner.onLeft(this, left);
  }

  /** Ends the thread. Resolves when it has ended, or could not be ended in time. */
  end(): Promise<void> {
    this.#end();
    return this.#gone.promise;
  }

  #end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    void this.#worker.terminate();
    // If this thread was blocked, the event that the other one has ended may be queued behind the timer.
    this.#endTimer = setTimeout(() => setImmediate(() => this.#abandon()), END_GRACE_MS);
  }

  /**
   * Gives up a thread that cannot be ended. It still uses its core and memory, but its messages are ignored.
   */
  #abandon(): void {
    if (this.#isGone) return;
    this.#worker.unref();
    this.#owner.onAbandoned(this, this.#tasks.find((task) => task !== undefined)?.options.tool);
    this.#leave((task) => endedOutcome(task, false));
  }

  onUnsent([slot, , artifact, value]: GivenTask, thrown: unknown): void {
    // The thread did not receive the artifact.
    if (artifact !== undefined && value !== undefined) this.#artifacts.delete(artifact);
    const task = this.#tasks[slot];
    if (task === undefined) this.#free.push(slot);
    else {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      this.#release(task, { status: "crashed", started: false, error, wallTimeMs: 0 });
    }
    if (this.hasFreePlace) this.#owner.onFreePlace(this);
  }

  onMessage(message: FromThread): void {
    if (message.length === 0) {
      this.#isReady = true;
      if (this.#count === 1) this.#tasks.find((task) => task !== undefined)?.options.turn?.begins();
      this.#owner.onReady();
      return;
    }
    const [slot] = message;
    const task = this.#tasks[slot];
    switch (message[1]) {
      case "message":
        if (task !== undefined) notifyObserver(task, message[2]);
        return;
      case "asks":
        // Requests of a task whose thread is being ended must not be served.
        if (task !== undefined && !this.#isEnding) void this.#reply(task, message[2]);
        return;
      case "skipped":
        this.#free.push(slot);
        break;
      default:
        if (task !== undefined) this.#release(task, this.#outcomeOf(task, message));
    }
    if (this.hasFreePlace) this.#owner.onFreePlace(this);
  }

  #outcomeOf(
    task: PoolTask,
    [, status, value, wallTimeMs]: Extract<FromThread, readonly [...unknown[], number]>,
  ): PoolOutcome<never> {
    if (this.#isEnding && task.cause !== undefined) return endedOutcome(task, true);
    if (status === "returned") return { status, result: value as never, wallTimeMs };
    const error = value instanceof Error ? value : new Error(String(value));
    return { status: "crashed", started: wallTimeMs > 0, error, wallTimeMs };
  }

  #release(task: PoolTask, outcome: PoolOutcome<never>): void {
    this.#tasks[task.slot] = undefined;
    this.#free.push(task.slot);
    this.#count--;
    this.#owner.onOutcome(task, outcome);
  }

  /** Serves a request. The thread is blocked, so the tasks that wait in it move to other threads. */
  async #reply(task: PoolTask, request: unknown): Promise<void> {
    this.#isBlocked = true;
    this.#owner.onLeft(this, this.takeBackSome(SLOTS));
    const reply = await task.options.onRequest?.(request);
    this.#isBlocked = false;
    if (this.#isEnding) return;
    this.#port.post({ reply });
    if (this.hasFreePlace) this.#owner.onFreePlace(this);
  }

  #onExit(code: number): void {
    clearTimeout(this.#endTimer);
    if (this.#isGone) {
      this.#owner.onEndedLate(this);
      return;
    }
    const error = this.#error ?? endOf(code);
    this.#leave(
      (task) => (task.cause === undefined ? crashedOutcome(task, error) : endedOutcome(task, true)),
      error,
    );
  }

  /**
   * Settles the running task, and returns the other ones to their owner.
   *
   * @param outcomeOf Returns the outcome of the running task.
   * @param error Why the thread ended; `undefined` if it was abandoned.
   */
  #leave(outcomeOf: (task: PoolTask) => PoolOutcome<never>, error?: Error): void {
    this.#isGone = true;
    this.#isEnding = true;
    this.#port.close();
    const left: PoolTask[] = [];
    for (const task of this.#tasks) {
      if (task === undefined) continue;
      if (this.takeBack(task)) left.push(task);
      else this.#release(task, outcomeOf(task));
    }
    this.#gone.resolve();
    // The message that it is ready may have been read only when the port was closed.
    this.#owner.onGone(this, left, this.#isReady ? undefined : error);
  }
}

function endOf(code: number): Error {
  return new Error(`the thread ended with exit code ${code}`);
}

function notifyObserver({ options: { observer } }: PoolTask, message: ThreadMessage): void {
  if (message.type === "output") observer.output(message.chunk);
  else observer.log(message.level, message.message);
}
