import { performance } from "node:perf_hooks";
import { isThenable, type OneShotThenable, toPromise } from "../../base/promises.ts";
import { describeThrown } from "../../base/thrown.ts";
import type { HostImplementation, HostInstance } from "../../tool/host-implementation.ts";
import { checkReturned } from "../contract/output.ts";
import type { CallEffect, ResourceUse, SandboxOutcome, SandboxTask } from "../contract/sandbox.ts";
import { type CallRunner, FunctionCall } from "./function-call.ts";

/** How long a tool that was told to stop may take, before the call ends without it. */
const STOP_GRACE_MS = 100;

/** An output up to this size is copied in less time than a look at the clock is worth. */
const SMALL_BYTES = 1_024;

type StopCause = "timeout" | "cancelled" | "limit_exceeded";

/** Runs tools that are functions in this process. */
export class FunctionRunner {
  /** What factories made before: an instance is for one call. */
  readonly #usedInstances = new WeakSet<object>();
  readonly #running = new RunningCalls();

  run(
    implementation: HostImplementation,
    task: SandboxTask,
  ): SandboxOutcome | OneShotThenable<SandboxOutcome> {
    const run = new FunctionRun(task, this.#running);
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
    if (typeof instance !== "object" || instance === null) return "returned no instance";
    if (typeof instance.execute !== "function") return "returned what has no execute()";
    return this.#usedInstances.has(instance) ? "returned an instance twice" : undefined;
  }

  /** Cancels what runs, and waits for it. */
  async close(): Promise<void> {
    await Promise.all(
      this.#running.all.map((run) => {
        run.stop("cancelled");
        return run.ended;
      }),
    );
  }
}

/** The calls that wait for their tools. A list: a set that is added to and deleted from makes garbage. */
class RunningCalls {
  readonly #runs: FunctionRun[] = [];

  get all(): readonly FunctionRun[] {
    return [...this.#runs];
  }

  add(run: FunctionRun): void {
    run.place = this.#runs.push(run) - 1;
  }

  /** The last one takes the place of the one that goes. */
  remove(run: FunctionRun): void {
    if (this.#runs[run.place] !== run) return;
    const last = this.#runs.pop();
    if (last === undefined || last === run) return;
    this.#runs[run.place] = last;
    last.place = run.place;
  }
}

/**
 * One call of a host function, until it has an outcome. Whoever waits for it is told at once: a promise between
 * would cost as much as half of the engine.
 */
class FunctionRun implements CallRunner, OneShotThenable<SandboxOutcome> {
  readonly call: FunctionCall;
  instance: HostInstance | undefined;
  /** Where it is in the list of those that wait; -1 where it did not wait yet. */
  place = -1;
  readonly #task: SandboxTask;
  /** Where the run is found as long as it waits. */
  readonly #running: RunningCalls;
  readonly #startedAt: number = performance.now();
  #cause: StopCause | undefined;
  #outcome: SandboxOutcome | undefined;
  /** What the one who called does with the outcome, and the promise of what comes of it. */
  #next: ((outcome: SandboxOutcome) => unknown) | undefined;
  #resolve: ((result: unknown) => void) | undefined;
  #tellOthers: ((outcome: SandboxOutcome) => void) | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;
  #cancel: (() => void) | undefined;

  constructor(task: SandboxTask, running: RunningCalls) {
    this.#task = task;
    this.#running = running;
    this.call = new FunctionCall(task, this);
  }

  overflow(): void {
    this.stop("limit_exceeded");
  }

  /** Waits for a tool that answers later, and for what may stop it meanwhile. */
  settle(result: Promise<unknown>): this {
    const { signal, limits } = this.#task;
    this.#running.add(this);
    if (limits.wallTimeMs !== undefined) {
      this.#deadline = setTimeout(() => this.stop("timeout"), limits.wallTimeMs);
    }
    if (signal !== undefined) {
      this.#cancel = () => this.stop("cancelled");
      signal.addEventListener("abort", this.#cancel);
    }
    result.then(
      (value) => this.#end(this.returned(value)),
      (thrown: unknown) => this.#end(this.threw(thrown)),
    );
    // It may have been stopped by the tool itself, before it returned its promise.
    if (this.#cause !== undefined) this.#letStop();
    else if (signal?.aborted) this.stop("cancelled");
    return this;
  }

  // biome-ignore lint/suspicious/noThenProperty: see above
  then<U = SandboxOutcome>(next?: ((outcome: SandboxOutcome) => U | PromiseLike<U>) | null): Promise<U> {
    if (this.#next != null || this.#outcome !== undefined || next == null) return this.ended.then(next);
    this.#next = next;
    return new Promise((resolve) => {
      this.#resolve = resolve as (result: unknown) => void;
    });
  }

  /** For whoever waits beside the one who called. */
  get ended(): Promise<SandboxOutcome> {
    if (this.#outcome !== undefined) return Promise.resolve(this.#outcome);
    const { promise, resolve } = Promise.withResolvers<SandboxOutcome>();
    const tellOthers = this.#tellOthers;
    this.#tellOthers = (outcome) => {
      tellOthers?.(outcome);
      resolve(outcome);
    };
    return promise;
  }

  /** The first outcome counts. */
  #end(outcome: SandboxOutcome): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = outcome;
    this.#running.remove(this);
    if (this.#deadline !== undefined) clearTimeout(this.#deadline);
    if (this.#grace !== undefined) clearTimeout(this.#grace);
    if (this.#cancel !== undefined) this.#task.signal?.removeEventListener("abort", this.#cancel);
    this.#tellOthers?.(outcome);
    this.#resolve?.(this.#next?.(outcome));
  }

  /** Tells the tool to stop. What it still returns is dropped. */
  stop(cause: StopCause): void {
    if (this.#cause !== undefined) return;
    this.#cause = cause;
    this.call.stop();
    if (this.place >= 0) this.#letStop();
  }

  /** Gives a tool that can hear it the time to stop, and ends the call. */
  #letStop(): void {
    const canHear = this.instance !== undefined || this.call.listens;
    const end = (): void => this.#end(this.#stopped("unknown"));
    this.#grace = setTimeout(end, canHear ? STOP_GRACE_MS : 0);
    this.#cancelInstance().then((hasEnded) => hasEnded && end());
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
    const now = performance.now();
    const wallTime = now - this.#startedAt;
    // A function that kept the process busy past its deadline has done its work all the same.
    if (wallTime > wallTimeMs) this.#cause ??= "timeout";
    if (this.#cause !== undefined) return this.#stopped("committed");
    const { streamedBytes } = this.call;
    const checked = checkReturned(value, maxBytes, streamedBytes);
    const used = { wallTimeMs: wallTime, outputBytes: checked.outputBytes };
    switch (checked.status) {
      case "completed":
        // A small output was copied in no time.
        return {
          status: "completed",
          effect: "committed",
          used,
          output: checked.output,
          endedAt: checked.outputBytes <= SMALL_BYTES ? now : undefined,
        };
      case "failed":
        return { status: "failed", effect: "committed", used, message: checked.message };
      case "limit_exceeded":
        return { status: "limit_exceeded", effect: "committed", used, limit: checked.limit };
    }
  }

  threw(thrown: unknown): SandboxOutcome {
    if (this.#cause !== undefined) return this.#stopped("unknown");
    return { status: "failed", effect: "unknown", used: this.#used(), ...describeThrown(thrown) };
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
    return { wallTimeMs: performance.now() - this.#startedAt };
  }
}
