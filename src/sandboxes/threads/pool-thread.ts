import { MessageChannel, type ResourceLimits as ThreadLimits, Worker } from "node:worker_threads";
import { entryFile } from "../../base/entry-file.ts";
import { KeptArtifacts } from "./kept-artifacts.ts";
import type { PoolOutcome, PoolTask, TaskHolder } from "./pool-task.ts";
import type { FromThread, GivenTask, ThreadData, ThreadMessage } from "./thread-message.ts";
import { type PortOwner, ThreadPort } from "./thread-port.ts";
import { msBetween, SLOTS, ThreadTable } from "./thread-table.ts";

/** How a pool's threads are made. */
export interface ThreadOptions {
  /** The module whose default export, a `ThreadFunction`, runs each task. */
  readonly entry: string;
  /** V8's limits for each thread. */
  readonly limits?: ThreadLimits;
  /** The member `data` of each thread's `workerData`. */
  readonly data?: unknown;
}

/** Receives the events of a thread. */
export interface ThreadOwner {
  /** A task has ended. */
  onOutcome(task: PoolTask, outcome: PoolOutcome<never>): void;
  /** The thread can take a task. */
  onRoom(thread: PoolThread): void;
  /** The thread takes no more tasks; those that did not begin in it are left. */
  onLeft(thread: PoolThread, left: readonly PoolTask[]): void;
  /** The thread is gone. `failure` is why it never became ready, if it did not. */
  onGone(thread: PoolThread, left: readonly PoolTask[], failure: Error | undefined): void;
}

/** A thread as its pool sees it. It runs its tasks one after the other; ending it costs the one that runs. */
export class PoolThread implements TaskHolder, PortOwner {
  readonly #owner: ThreadOwner;
  readonly #worker: Worker;
  readonly #table = new ThreadTable();
  readonly #port: ThreadPort;
  readonly #tasks: (PoolTask | undefined)[] = new Array(SLOTS).fill(undefined);
  readonly #free: number[] = Array.from({ length: SLOTS }, (_, slot) => slot);
  readonly #artifacts = new KeptArtifacts();
  readonly #gone = Promise.withResolvers<void>();
  #count = 0;
  #isReady = false;
  #isEnding = false;
  #isBlocked = false;
  #error: Error | undefined;

  constructor({ entry, limits = {}, data }: ThreadOptions, owner: ThreadOwner) {
    this.#owner = owner;
    const { port1, port2 } = new MessageChannel();
    this.#port = new ThreadPort(port1, this.#table, this);
    const workerData: ThreadData = { entry, table: this.#table.buffer, port: port2, data };
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

  /** How many tasks it can take now. The slot of one that was taken back is free when the thread has skipped it. */
  get room(): number {
    return this.#isBlocked || this.#isEnding ? 0 : this.#free.length;
  }

  get hasRoom(): boolean {
    return this.room > 0;
  }

  /** Gives it a task. It must have a free place. */
  give(task: PoolTask): void {
    const slot = this.#free.pop() as number;
    this.#tasks[slot] = task;
    this.#count++;
    task.holder = this;
    task.slot = slot;
    this.#table.fill(slot);
    const { fields } = task;
    const { artifact } = task.options;
    const isIdle = this.#count === 1;
    if (artifact === undefined) this.#port.give([slot, fields], isIdle);
    else if (this.#artifacts.use(artifact.name)) this.#port.give([slot, fields, artifact.name], isIdle);
    else {
      const oldest = this.#artifacts.surplus();
      if (oldest !== undefined) this.forget(oldest);
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
    task.holder = undefined;
    return true;
  }

  /** Takes back tasks that have not started, at most `most`. */
  takeBackSome(most: number): readonly PoolTask[] {
    const taken: PoolTask[] = [];
    for (const task of this.#tasks) {
      if (taken.length >= most) break;
      if (task !== undefined && this.takeBack(task)) taken.push(task);
    }
    return taken;
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
    if (this.hasRoom) this.#owner.onRoom(this);
  }

  onMessage(message: FromThread): void {
    if (message.length === 0) {
      this.#isReady = true;
      return;
    }
    const [slot] = message;
    const task = this.#tasks[slot];
    switch (message[1]) {
      case "told":
        if (task !== undefined) tellObserver(task, message[2]);
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
    if (this.hasRoom) this.#owner.onRoom(this);
  }

  #outcomeOf(
    task: PoolTask,
    [, status, value, wallTimeMs]: Extract<FromThread, readonly [...unknown[], number]>,
  ): PoolOutcome<never> {
    if (this.#isEnding && task.cause !== undefined) return this.#endedOutcome(task);
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
  async #reply(task: PoolTask, text: string): Promise<void> {
    this.#isBlocked = true;
    this.#owner.onLeft(this, this.takeBackSome(SLOTS));
    const reply = await (task.options.onRequest?.(text) ?? "");
    this.#isBlocked = false;
    if (this.#isEnding) return;
    this.#port.post({ reply });
    if (this.hasRoom) this.#owner.onRoom(this);
  }

  #onExit(code: number): void {
    this.#isEnding = true;
    this.#port.close();
    const left: PoolTask[] = [];
    for (const [slot, task] of this.#tasks.entries()) {
      if (task === undefined) continue;
      if (this.#table.isQueued(slot)) {
        this.#tasks[slot] = undefined;
        task.holder = undefined;
        left.push(task);
        continue;
      }
      this.#release(task, task.cause === undefined ? this.#crash(task, code) : this.#endedOutcome(task));
    }
    this.#gone.resolve();
    const failure = this.#isReady ? undefined : (this.#error ?? endOf(code));
    this.#owner.onGone(this, left, failure);
  }

  #crash(task: PoolTask, code: number): PoolOutcome<never> {
    const { started, wallTimeMs } = sinceStart(task);
    return { status: "crashed", started, error: this.#error ?? endOf(code), wallTimeMs };
  }

  #endedOutcome(task: PoolTask): PoolOutcome<never> {
    const { started, wallTimeMs } = sinceStart(task);
    const { cause } = task;
    if (cause === "timeout" || cause === "cancelled") return { status: cause, started, wallTimeMs };
    return { status: "unavailable", reason: "its work did not begin in time", wallTimeMs };
  }
}

function sinceStart({ startedAt }: PoolTask): { readonly started: boolean; readonly wallTimeMs: number } {
  const started = startedAt !== 0n;
  return { started, wallTimeMs: started ? msBetween(startedAt, process.hrtime.bigint()) : 0 };
}

function endOf(code: number): Error {
  return new Error(`the thread ended with exit code ${code}`);
}

function tellObserver({ options: { observer } }: PoolTask, message: ThreadMessage): void {
  if (message.type === "output") observer.output(message.chunk);
  else observer.log(message.level, message.message);
}
