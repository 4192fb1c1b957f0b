import { setPriority } from "node:os";
import { receiveMessageOnPort, workerData } from "node:worker_threads";
import { DiscardedMemory } from "./discarded-memory.ts";
import type {
  FromThread,
  GivenTask,
  TaskThread,
  ThreadData,
  ThreadFunction,
  ThreadMessage,
  ToThread,
} from "./thread-message.ts";
import { msBetween, ThreadTable } from "./thread-table.ts";

/** A nice value. Threads of normal priority get three times as much CPU time, and get it immediately. */
const LOW_PRIORITY = 5;

/** Milliseconds for which consecutive tasks may block the event loop. */
const MAX_STILL_MS = 20;

// This module is the program of every thread of a `WorkerPool`. It runs one task after the other, in order.
const { entry, table: buffer, port, yields } = workerData as ThreadData;
const table = new ThreadTable(buffer);
const artifacts = new Map<string, unknown>();
/** Tasks that arrived together with another one, or while a task waited for a reply. */
const waiting: GivenTask[] = [];
const discarded = new DiscardedMemory();
let turnedAt = 0;

if (yields) lowerPriority();
const { default: run } = (await import(entry)) as { default: ThreadFunction<unknown, unknown> };
post([]);
turn();

/** Only on Linux, a priority belongs to a thread. Elsewhere, it would change that of the whole process. */
function lowerPriority(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(LOW_PRIORITY);
  } catch {
    // The priority is only an optimisation.
  }
}

function post(message: FromThread, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}

/** Lets the event loop run once, which synchronous tasks alone would never do. */
function turn(): void {
  turnedAt = performance.now();
  setImmediate(runTasks);
}

/**
 * Runs the tasks. Without a task, the thread blocks, since waking it takes less time than an event. While a
 * task awaits something, the event loop runs.
 */
function runTasks(): void {
  while (performance.now() - turnedAt < MAX_STILL_MS) {
    const running = runTask(waiting.shift() ?? nextTask());
    if (running === undefined) continue;
    void running.then(runTasks);
    return;
  }
  turn();
}

function nextTask(): GivenTask {
  for (;;) {
    const message = nextMessage();
    if (!isTasks(message)) continue;
    const [first, ...others] = message;
    waiting.push(...others);
    if (first !== undefined) return first;
  }
}

function nextMessage(): ToThread {
  for (;;) {
    const known = table.sent;
    const received = receiveMessageOnPort(port) as { readonly message: ToThread } | undefined;
    if (received === undefined) {
      table.awaitMessage(known);
      turnedAt = performance.now();
      continue;
    }
    const { message } = received;
    if (isTasks(message)) {
      for (const [, , artifact, value] of message) {
        if (artifact !== undefined && value !== undefined) artifacts.set(artifact, value);
      }
    } else if ("forget" in message) artifacts.delete(message.forget);
    return message;
  }
}

function isTasks(message: ToThread): message is readonly GivenTask[] {
  return Array.isArray(message);
}

function runTask([slot, fields, artifact]: GivenTask): Promise<void> | undefined {
  if (!table.claim(slot)) {
    post([slot, "skipped"]);
    return undefined;
  }
  const thread = new Thread(slot, artifact === undefined ? undefined : artifacts.get(artifact));
  try {
    const result = run(fields, thread);
    if (!(result instanceof Promise)) {
      thread.end("returned", result);
      return undefined;
    }
    return result.then(
      (settled) => thread.end("returned", settled),
      (error: unknown) => thread.end("threw", error),
    );
  } catch (error) {
    thread.end("threw", error);
    return undefined;
  }
}

class Thread implements TaskThread {
  readonly artifact: unknown;
  readonly #slot: number;
  #startedAt: bigint | undefined;
  #afterwards: (() => void) | undefined;
  #moved: ArrayBuffer[] | undefined;

  constructor(slot: number, artifact: unknown) {
    this.#slot = slot;
    this.artifact = artifact;
  }

  markStarted(): void {
    this.#startedAt = table.start(this.#slot);
  }

  afterwards(work: () => void): void {
    this.#afterwards = work;
  }

  move(buffers: readonly ArrayBuffer[]): void {
    this.#moved = [...buffers];
  }

  discard(bytes: number): void {
    discarded.add(bytes);
  }

  report(message: ThreadMessage): void {
    post([this.#slot, "message", message]);
  }

  request(request: unknown): unknown {
    post([this.#slot, "asks", request]);
    for (;;) {
      const message = nextMessage();
      if (isTasks(message)) waiting.push(...message);
      else if ("reply" in message) return message.reply;
    }
  }

  end(status: "returned" | "threw", value: unknown): void {
    const from = this.#startedAt;
    const wallTimeMs = from === undefined ? 0 : msBetween(from, process.hrtime.bigint());
    table.finish(this.#slot);
    post([this.#slot, status, value, wallTimeMs], status === "returned" ? this.#moved : undefined);
    try {
      this.#afterwards?.();
    } catch {
      // This work is only a preparation: the next task does it if necessary, and reports the error.
    }
    // The function may refer to discarded memories.
    this.#afterwards = undefined;
    discarded.release();
  }
}
