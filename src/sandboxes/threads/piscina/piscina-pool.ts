import { pathToFileURL } from "node:url";
import { MessageChannel, type MessagePort, receiveMessageOnPort, type Worker } from "node:worker_threads";
import type { Piscina } from "piscina";
import { entryFile } from "../../../base/package-files.ts";
import { MAX_DELAY_MS, race } from "../../../base/timers.ts";
import { DEFAULT_MAX_WAIT_MS } from "../../contract/sandbox.ts";
import type { AbandonedThreads } from "../abandoned-threads.ts";
import type {
  EndCause,
  ForeignPool,
  ForeignPoolOptions,
  PoolOutcome,
  PoolTaskOptions,
  TaskPool,
} from "../pool-task.ts";
import { END_GRACE_MS } from "../pool-thread.ts";
import { msBetween } from "../thread-table.ts";
import type { PiscinaAnswer, PiscinaReport, PiscinaTask } from "./piscina-task.ts";

/**
 * Lets the modules of `host` tools run in the threads of your own Piscina, for `openSandboxes({ workers: {
 * pool } })`. Your tasks can use the same threads. A deadline or a cancellation ends the thread of a call,
 * and Piscina starts another one. Closing the sandboxes ends their calls; the pool stays open.
 *
 * @param piscina With one task per thread and its own load balancer: ending a thread must end no other task.
 * @throws {TypeError} if it is configured differently.
 */
export function piscinaPool(piscina: Piscina): ForeignPool {
  const { concurrentTasksPerWorker, loadBalancer } = piscina.options;
  if (concurrentTasksPerWorker !== 1) {
    throw new TypeError(
      "piscinaPool: the pool must have 'concurrentTasksPerWorker: 1', since a deadline ends the whole thread",
    );
  }
  if (loadBalancer !== undefined) {
    throw new TypeError(
      "piscinaPool: the pool must not have a 'loadBalancer', which could give a thread several tasks",
    );
  }
  return { open: (options) => new PiscinaPool(piscina, options) };
}

class PiscinaPool implements TaskPool {
  readonly #piscina: Piscina;
  readonly #options: ForeignPoolOptions;
  readonly #filename = entryFile("sandboxes/threads/piscina/worker-entry");
  readonly #running = new Set<PiscinaRun>();
  #isClosed = false;

  constructor(piscina: Piscina, options: ForeignPoolOptions) {
    this.#piscina = piscina;
    this.#options = options;
  }

  async run<Result>(fields: unknown, options: PoolTaskOptions): Promise<PoolOutcome<Result>> {
    const { abandoned, entry, maxWaitMs = DEFAULT_MAX_WAIT_MS } = this.#options;
    const reason = this.#isClosed ? "the pool is closed" : abandoned.refusal(options.tool);
    if (reason !== undefined) return { status: "unavailable", reason, wallTimeMs: 0 };
    if (options.signal?.aborted) return { status: "cancelled", started: false, wallTimeMs: 0 };
    const run = new PiscinaRun(this.#piscina, abandoned, options);
    this.#running.add(run);
    try {
      return (await run.outcome(
        this.#filename,
        { entry: pathToFileURL(entry).href, fields },
        Math.max(maxWaitMs - (options.waitedMs ?? 0), 1),
      )) as PoolOutcome<Result>;
    } finally {
      this.#running.delete(run);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(Array.from(this.#running, (run) => run.end("cancelled")));
  }
}

/** One task in a thread of Piscina. */
class PiscinaRun {
  readonly #piscina: Piscina;
  readonly #abandoned: AbandonedThreads;
  readonly #options: PoolTaskOptions;
  readonly #abort = new AbortController();
  readonly #submittedAt = performance.now();
  #isTaken = false;
  /** Whether no thread was free when it was submitted. */
  #mustWait = false;
  #startedAt: bigint | undefined;
  #cause: EndCause | undefined;
  /** Resolves to whether the thread has ended, once the task is ended early. */
  #ended: Promise<boolean> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(piscina: Piscina, abandoned: AbandonedThreads, options: PoolTaskOptions) {
    this.#piscina = piscina;
    this.#abandoned = abandoned;
    this.#options = options;
  }

  /** Runs the task. Never rejects. */
  async outcome(
    filename: string,
    task: Omit<PiscinaTask, "port">,
    maxWaitMs: number,
  ): Promise<PoolOutcome<unknown>> {
    const { port1, port2 } = new MessageChannel();
    const { signal, turn } = this.#options;
    const cancel = (): void => void this.end("cancelled");
    signal?.addEventListener("abort", cancel, { once: true });
    this.#startTimer("waited", maxWaitMs);
    port1.on("message", this.#onReport);
    try {
      const sent: PiscinaTask = { ...task, port: port2 };
      const running = this.#piscina.run(sent, {
        filename,
        name: "default",
        // Piscina infers the type from an overload of `postMessage` that Node.js no longer declares last.
        transferList: [port2] as never,
        signal: this.#abort.signal,
      });
      this.#mustWait = this.#piscina.queueSize > 0;
      turn?.waits();
      const answer = (await running) as PiscinaAnswer;
      this.#receiveAll(port1);
      // It may have answered just when it was to be ended.
      if (this.#cause !== undefined) return await this.#endedOutcome(this.#cause, port1);
      const { wallTimeMs } = answer;
      const times = { wallTimeMs, ...this.#wait(wallTimeMs) };
      if (answer.status === "returned") return { status: "returned", result: answer.result, ...times };
      return { status: "crashed", started: this.#isStarted, error: answer.error, ...times };
    } catch (error) {
      this.#receiveAll(port1);
      if (this.#cause !== undefined) return await this.#endedOutcome(this.#cause, port1);
      return this.#failure(error as Error);
    } finally {
      clearTimeout(this.#timer);
      signal?.removeEventListener("abort", cancel);
      port1.close();
    }
  }

  /** Ends the task, with its thread if one has it. Resolves when the thread has ended, or could not be ended in time. */
  async end(cause: EndCause): Promise<void> {
    if (this.#cause === undefined) {
      this.#cause = cause;
      clearTimeout(this.#timer);
      this.#ended = this.#endThread();
    }
    await this.#ended;
  }

  get #isStarted(): boolean {
    return this.#startedAt !== undefined;
  }

  get #wallTimeMs(): number {
    return this.#startedAt === undefined ? 0 : msBetween(this.#startedAt, process.hrtime.bigint());
  }

  /** How long it waited: what passed since it was submitted, without its work. */
  #wait(wallTimeMs: number): Pick<PoolOutcome<unknown>, "waitedMs"> {
    const waitedMs = Math.round(performance.now() - this.#submittedAt - wallTimeMs);
    return this.#mustWait && waitedMs > 0 ? { waitedMs } : {};
  }

  readonly #onReport = (report: PiscinaReport): void => {
    this.#isTaken = true;
    const { observer, wallTimeMs, graceMs = 0, turn } = this.#options;
    switch (report.type) {
      case "taken":
        return;
      case "started":
        this.#startedAt = report.at;
        turn?.begins();
        clearTimeout(this.#timer);
        if (wallTimeMs === undefined || this.#cause !== undefined) return;
        this.#startTimer("timeout", wallTimeMs + graceMs - this.#wallTimeMs);
        return;
      case "output":
        if (this.#cause === undefined) observer.output(report.chunk);
        return;
      case "log":
        if (this.#cause === undefined) observer.log(report.level, report.message);
    }
  };

  #startTimer(cause: EndCause, ms: number): void {
    this.#timer = setTimeout(() => void this.end(cause), Math.min(ms, MAX_DELAY_MS));
  }

  /** The answer may arrive before earlier reports, since it comes through another port. */
  #receiveAll(port: MessagePort): void {
    for (;;) {
      const received = receiveMessageOnPort(port) as { readonly message: PiscinaReport } | undefined;
      if (received === undefined) return;
      this.#onReport(received.message);
    }
  }

  /** Aborts the task, for which Piscina terminates the thread that has it. Returns whether that thread has ended. */
  async #endThread(): Promise<boolean> {
    const before = new Set<Worker>(this.#piscina.threads);
    this.#abort.abort();
    // Piscina removes the thread at once.
    const remaining = new Set<Worker>(this.#piscina.threads);
    const [thread] = before.difference(remaining);
    if (thread === undefined) return true;
    const gone = new Promise<"gone">((resolve) => thread.once("exit", () => resolve("gone")));
    if ((await race(gone, { timeoutMs: END_GRACE_MS })) === "gone") return true;
    this.#abandoned.add(thread, this.#options.tool);
    void gone.then(() => this.#abandoned.delete(thread));
    return false;
  }

  async #endedOutcome(cause: EndCause, port: MessagePort): Promise<PoolOutcome<unknown>> {
    const hasEnded = (await this.#ended) ?? true;
    // It can start at the moment when its thread is ended for not having started.
    this.#receiveAll(port);
    const started = this.#isStarted;
    const wallTimeMs = this.#wallTimeMs;
    if (cause === "waited" && !started) {
      const reason = "no thread of the pool started it in time";
      const waitedMs = Math.round(performance.now() - this.#submittedAt);
      return { status: "unavailable", reason, hasWaited: true, waitedMs, wallTimeMs };
    }
    const status = cause === "waited" ? "timeout" : cause;
    return {
      status,
      started,
      wallTimeMs,
      ...this.#wait(wallTimeMs),
      ...(!hasEnded && { mayStillRun: true }),
    };
  }

  /** Piscina rejected the task, or its thread ended. */
  #failure(error: Error): PoolOutcome<unknown> {
    const wallTimeMs = this.#wallTimeMs;
    if (this.#isTaken) return { status: "crashed", started: this.#isStarted, error, wallTimeMs };
    return { status: "unavailable", reason: `the pool did not run it: ${error.message}`, wallTimeMs };
  }
}
