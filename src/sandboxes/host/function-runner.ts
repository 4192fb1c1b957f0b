import { performance } from "node:perf_hooks";
import { isThenable, type OneShotThenable, toPromise } from "../../base/promises.ts";
import type { HostFactory, HostFunction, HostInstance } from "../../tool/implementations/implementations.ts";
import type { WorkspaceFiles } from "../../tool/workspace-files.ts";
import { readThrown } from "../contract/failure.ts";
import type { CallEffect, ResourceUse, SandboxOutcome } from "../contract/outcome.ts";
import { checkReturned } from "../contract/output.ts";
import type { SandboxTask } from "../contract/sandbox.ts";
import { type CallRunner, FunctionCall } from "./function-call.ts";
import { type RunningCall, RunningCalls } from "./running-calls.ts";

/** Milliseconds after which a function that was asked to stop, and still runs, is abandoned. */
const ABANDONED_AFTER_MS = 30_000;

/**
 * The functions that still run long after their calls ended. Nothing can end a function in this process: the operator is
 * warned once for each, with the code `SANDGATE_FUNCTION_ABANDONED`.
 */
export class AbandonedFunctions {
  #count = 0;

  /** The number of functions that are abandoned and still run. */
  get count(): number {
    return this.#count;
  }

  /**
   * Watches a function whose call ended without it.
   *
   * @param result Settles when the function ends.
   */
  watch(toolName: string, result: Promise<unknown>): void {
    let isAbandoned = false;
    const timer = setTimeout(() => {
      isAbandoned = true;
      this.#count++;
      process.emitWarning(
        `The host function of tool '${toolName}' still runs ${ABANDONED_AFTER_MS / 1_000} s after its call ended: it should heed its signal`,
        { code: "SANDGATE_FUNCTION_ABANDONED" },
      );
    }, ABANDONED_AFTER_MS);
    timer.unref();
    const end = (): void => {
      clearTimeout(timer);
      if (isAbandoned) this.#count--;
    };
    result.then(end, end);
  }
}

/** Milliseconds that a stopped tool has before the call ends without its result. */
const STOP_GRACE_MS = 100;

/** Copying an output up to this size takes less time than reading the clock again. */
const SMALL_BYTES = 1_024;

type StopCause = "timeout" | "cancelled" | "limit_exceeded";

/** Runs tools that are functions in this process. */
export class FunctionRunner {
  /** The instances that factories have returned, since an instance is used for one call only. */
  readonly #usedInstances = new WeakSet<object>();
  readonly #running = new RunningCalls<FunctionRun>();
  readonly #abandoned: AbandonedFunctions;

  constructor(abandoned: AbandonedFunctions) {
    this.#abandoned = abandoned;
  }

  run(
    implementation: HostFunction<never, never> | HostFactory<never, never>,
    task: SandboxTask,
    startedAt: number,
    files?: WorkspaceFiles,
  ): SandboxOutcome | OneShotThenable<SandboxOutcome> {
    const run = new FunctionRun(task, this.#running, this.#abandoned, startedAt, files);
    let result: unknown;
    try {
      if (typeof implementation === "function") result = implementation(task.input as never, run.call);
      else {
        const instance = implementation.create();
        const flaw = this.#flawOf(instance);
        if (flaw !== undefined) return run.refused(`the factory ${flaw}`);
        this.#usedInstances.add(instance);
        run.instance = instance;
        result = instance.execute(task.input as never, run.call);
      }
      return isThenable(result) ? run.settle(toPromise(result)) : run.returned(result);
    } catch (thrown) {
      return run.threw(thrown);
    }
  }

  #flawOf(instance: HostInstance): string | undefined {
    if (typeof instance !== "object" || instance === null) return "did not return an object";
    if (typeof instance.execute !== "function") return "returned an object without execute()";
    return this.#usedInstances.has(instance) ? "returned the same instance twice" : undefined;
  }

  /** Cancels all running calls, and waits until they end. */
  async close(): Promise<void> {
    await Promise.all(
      this.#running.all.map((run) => {
        run.stop("cancelled");
        return run.ended;
      }),
    );
  }
}

/**
 * One call of a host function. Its outcome is passed to the engine directly: a promise in between would cost
 * as much as half of the engine.
 */
class FunctionRun implements CallRunner, RunningCall, OneShotThenable<SandboxOutcome> {
  readonly call: FunctionCall;
  instance: HostInstance | undefined;
  place = -1;
  readonly #task: SandboxTask;
  readonly #running: RunningCalls<FunctionRun>;
  readonly #abandoned: AbandonedFunctions;
  /** A reading of `performance.now`. */
  readonly #startedAt: number;
  /** Milliseconds for which the wall time stood still. */
  #pausedMs = 0;
  #pauses = 0;
  #pausedAt = 0;
  #cause: StopCause | undefined;
  #outcome: SandboxOutcome | undefined;
  /** Settles when an asynchronous tool ends. */
  #result: Promise<unknown> | undefined;
  /** The engine's continuation, and the function that resolves the promise of its result. */
  #next: ((outcome: SandboxOutcome) => unknown) | undefined;
  #resolve: ((result: unknown) => void) | undefined;
  #onEnd: ((outcome: SandboxOutcome) => void) | undefined;
  #grace: NodeJS.Timeout | undefined;

  constructor(
    task: SandboxTask,
    running: RunningCalls<FunctionRun>,
    abandoned: AbandonedFunctions,
    startedAt: number,
    files: WorkspaceFiles | undefined,
  ) {
    this.#abandoned = abandoned;
    this.#startedAt = startedAt;
    this.#task = task;
    this.#running = running;
    this.call = new FunctionCall(task, this, files);
  }

  overflow(): void {
    this.stop("limit_exceeded");
  }

  get signal(): AbortSignal | undefined {
    return this.#task.signal;
  }

  get deadline(): number | undefined {
    const { wallTimeMs } = this.#task.limits;
    if (wallTimeMs === undefined || this.#pauses > 0) return undefined;
    return this.#startedAt + this.#pausedMs + wallTimeMs;
  }

  /** Several pauses can overlap. Of each, the end counts once. */
  pause(): () => void {
    this.#running.beforePause(this);
    if (this.#pauses++ === 0) this.#pausedAt = performance.now();
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      if (--this.#pauses > 0) return;
      this.#pausedMs += performance.now() - this.#pausedAt;
      this.#running.afterPause(this);
    };
  }

  /** Waits for an asynchronous tool, its deadline and its cancellation. */
  settle(result: Promise<unknown>): this {
    this.#running.add(this);
    this.#result = result;
    result.then(
      (value) => this.#end(this.returned(value)),
      (thrown: unknown) => this.#end(this.threw(thrown)),
    );
    // The tool may have caused a stop before it returned its promise.
    if (this.#cause !== undefined) this.#endStopped();
    else if (this.signal?.aborted) this.stop("cancelled");
    return this;
  }

  // biome-ignore lint/suspicious/noThenProperty: a thenable costs less than a promise
  then<U = SandboxOutcome>(next?: ((outcome: SandboxOutcome) => U | PromiseLike<U>) | null): Promise<U> {
    if (this.#next != null || this.#outcome !== undefined || next == null) return this.ended.then(next);
    this.#next = next;
    return new Promise((resolve) => {
      this.#resolve = resolve as (result: unknown) => void;
    });
  }

  /** The outcome, for callers other than the engine. */
  get ended(): Promise<SandboxOutcome> {
    if (this.#outcome !== undefined) return Promise.resolve(this.#outcome);
    const { promise, resolve } = Promise.withResolvers<SandboxOutcome>();
    const before = this.#onEnd;
    this.#onEnd = (outcome) => {
      before?.(outcome);
      resolve(outcome);
    };
    return promise;
  }

  /** Ends the call with its first outcome, and ignores later ones. */
  #end(outcome: SandboxOutcome): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = outcome;
    this.#running.remove(this);
    if (this.#grace !== undefined) clearTimeout(this.#grace);
    this.#onEnd?.(outcome);
    this.#resolve?.(this.#next?.(outcome));
  }

  /** Stops the tool, and drops its result. */
  stop(cause: StopCause): void {
    if (this.#cause !== undefined) return;
    this.#cause = cause;
    this.call.stop();
    if (this.place >= 0) this.#endStopped();
  }

  /** Ends the call, after a grace period if the tool can react. */
  #endStopped(): void {
    const canReact = this.instance !== undefined || this.call.listens;
    const ended = canReact ? "requested" : "unknown";
    const abandon = (): void => {
      if (this.#outcome === undefined && this.#result !== undefined) {
        this.#abandoned.watch(this.#task.toolName, this.#result);
      }
      this.#end({ ...this.#stopped("unknown"), mayStillRun: true, ended });
    };
    this.#grace = setTimeout(abandon, canReact ? STOP_GRACE_MS : 0);
    this.#cancelInstance().then((hasEnded) => hasEnded && this.#end(this.#stopped("unknown")));
  }

  async #cancelInstance(): Promise<boolean> {
    try {
      return (await this.instance?.cancel()) === true;
    } catch {
      return false;
    }
  }

  returned(value: unknown): SandboxOutcome {
    const { wallTimeMs = Number.POSITIVE_INFINITY, outputBytes: maxBytes } = this.#task.limits;
    this.call.end();
    const now = performance.now();
    const wallTime = this.#wallTime(now);
    // A function that blocked the process beyond its deadline has nevertheless done its work.
    if (wallTime > wallTimeMs) this.#cause ??= "timeout";
    if (this.#cause !== undefined) return this.#stopped("committed");
    const { streamedBytes } = this.call;
    const checked = checkReturned(value, maxBytes, streamedBytes);
    const used = { wallTimeMs: wallTime, outputBytes: checked.outputBytes };
    switch (checked.status) {
      case "completed":
        // Copying a small output takes no time worth measuring.
        return {
          status: "completed",
          effect: "committed",
          used,
          output: checked.output,
          endedAt: checked.outputBytes <= SMALL_BYTES ? now : undefined,
        };
      case "failed":
        return { status: "failed", effect: "committed", used, message: checked.message, userVisible: true };
      case "limit_exceeded":
        return { status: "limit_exceeded", effect: "committed", used, limit: checked.limit };
    }
  }

  threw(thrown: unknown): SandboxOutcome {
    this.call.end();
    if (this.#cause !== undefined) return this.#stopped("unknown");
    return { status: "failed", effect: "unknown", used: this.#used(), ...readThrown(thrown) };
  }

  refused(detail: string): SandboxOutcome {
    return { status: "unavailable", effect: "none", used: this.#used(), detail };
  }

  #stopped(effect: CallEffect): SandboxOutcome {
    const used = this.#used();
    if (this.#cause !== "limit_exceeded") return { status: this.#cause ?? "cancelled", effect, used };
    return { status: "limit_exceeded", limit: "outputBytes", effect, used };
  }

  #used(): ResourceUse {
    return { wallTimeMs: this.#wallTime(performance.now()) };
  }

  /** Without the time in which a person was asked. */
  #wallTime(now: number): number {
    const pausedMs = this.#pauses > 0 ? now - this.#pausedAt + this.#pausedMs : this.#pausedMs;
    return now - this.#startedAt - pausedMs;
  }
}
