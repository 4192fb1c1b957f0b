import { checkOutput, encodeOutput } from "../output.ts";
import type { Effect, ResourceUse, SandboxOutcome, SandboxTask } from "../sandbox.ts";
import { adopt, isThenable } from "../thenable.ts";
import { describeThrown } from "../thrown.ts";
import { FunctionCall } from "./function-call.ts";
import type { HostImplementation, HostInstance } from "./implementation.ts";

/** How long a tool that was told to stop may take, before the call ends without it. */
const STOP_GRACE_MS = 100;

type StopCause = "timeout" | "cancelled" | "limit_exceeded";

/** Runs tools that are functions in this process. */
export class FunctionRunner {
  /** What factories made before: an instance is for one call. */
  readonly #usedInstances = new WeakSet<object>();
  readonly #running = new Set<FunctionRun>();

  run(implementation: HostImplementation, task: SandboxTask): SandboxOutcome | Promise<SandboxOutcome> {
    const run = new FunctionRun(task);
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
      if (!isThenable(result)) return run.returned(result);
    } catch (thrown) {
      return run.threw(thrown);
    }
    this.#running.add(run);
    return run.settle(result).finally(() => this.#running.delete(run));
  }

  #flawOf(instance: HostInstance): string | undefined {
    if (typeof instance !== "object" || instance === null) return "returned no instance";
    if (typeof instance.execute !== "function") return "returned what has no execute()";
    return this.#usedInstances.has(instance) ? "returned an instance twice" : undefined;
  }

  /** Cancels what runs, and waits for it. */
  async close(): Promise<void> {
    await Promise.all(
      Array.from(this.#running, (run) => {
        run.stop("cancelled");
        return run.ended;
      }),
    );
  }
}

/** One call of a host function, until it has an outcome. */
class FunctionRun {
  readonly call: FunctionCall;
  instance: HostInstance | undefined;
  /** Settles when the call has its outcome. */
  ended: Promise<SandboxOutcome> | undefined;
  readonly #task: SandboxTask;
  readonly #startedAt: number = performance.now();
  #cause: StopCause | undefined;
  #end: ((outcome: SandboxOutcome) => void) | undefined;
  #grace: NodeJS.Timeout | undefined;

  constructor(task: SandboxTask) {
    this.#task = task;
    this.call = new FunctionCall(task, () => this.stop("limit_exceeded"));
  }

  /** Waits for a tool that answers later, and for what may stop it meanwhile. */
  settle(result: PromiseLike<unknown>): Promise<SandboxOutcome> {
    const { signal, limits } = this.#task;
    const cancel = (): void => this.stop("cancelled");
    const expire = (): void => this.stop("timeout");
    const deadline = limits.wallTimeMs === undefined ? undefined : setTimeout(expire, limits.wallTimeMs);
    signal?.addEventListener("abort", cancel);
    // It may have been aborted by the tool itself, before it returned its promise.
    if (signal?.aborted) cancel();
    this.ended = new Promise<SandboxOutcome>((resolve) => {
      this.#end = resolve;
      adopt(result).then(
        (value) => resolve(this.returned(value)),
        (thrown: unknown) => resolve(this.threw(thrown)),
      );
      if (this.#cause !== undefined) this.#letStop();
    }).finally(() => {
      clearTimeout(deadline);
      clearTimeout(this.#grace);
      signal?.removeEventListener("abort", cancel);
    });
    return this.ended;
  }

  /** Tells the tool to stop. What it still returns is dropped. */
  stop(cause: StopCause): void {
    if (this.#cause !== undefined) return;
    this.#cause = cause;
    this.call.stop();
    if (this.#end !== undefined) this.#letStop();
  }

  /** Gives a tool that can hear it the time to stop, and ends the call. */
  #letStop(): void {
    const canHear = this.instance !== undefined || this.call.listens;
    const end = (): void => this.#end?.(this.#stopped("unknown"));
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
    const used = this.#used();
    // A function that kept the process busy past its deadline has done its work all the same.
    if (used.wallTimeMs > wallTimeMs) this.#cause ??= "timeout";
    if (this.#cause !== undefined) return this.#stopped("committed");
    const encoded = encodeOutput(value);
    if (typeof encoded !== "string") return { status: "failed", effect: "committed", used, ...encoded };
    const { outputBytes, ...checked } = checkOutput(encoded, maxBytes, this.call.streamedBytes);
    return { effect: "committed", ...checked, used: { ...used, outputBytes } };
  }

  threw(thrown: unknown): SandboxOutcome {
    if (this.#cause !== undefined) return this.#stopped("unknown");
    return { status: "failed", effect: "unknown", used: this.#used(), ...describeThrown(thrown) };
  }

  refused(detail: string): SandboxOutcome {
    return { status: "unavailable", effect: "none", used: this.#used(), detail };
  }

  #stopped(effect: Effect): SandboxOutcome {
    const used = this.#used();
    if (this.#cause !== "limit_exceeded") return { status: this.#cause ?? "cancelled", effect, used };
    return { status: "limit_exceeded", limit: "outputBytes", effect, used };
  }

  #used(): ResourceUse {
    return { wallTimeMs: performance.now() - this.#startedAt };
  }
}
