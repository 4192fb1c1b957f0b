import { performance } from "node:perf_hooks";
import type { Artifact, PoolOutcome } from "../pool-task.ts";
import type { SandboxOutcome, SandboxTask } from "../sandbox.ts";
import { DEFAULT_LOG_BUDGET, type LogBudget } from "../thread-log.ts";
import type { WorkerPool } from "../worker-pool.ts";
import { NestedCalls } from "./nested-calls.ts";
import { readOutcome } from "./outcome.ts";
import type { QuickJsLimits } from "./quickjs-limits.ts";
import { runStep } from "./run-step.ts";
import type { Template } from "./template-store.ts";
import type { QuickJsAnswer, QuickJsTask } from "./thread-task.ts";

/** How long a guest may take to notice its deadline before its thread is ended. */
export const INTERRUPT_GRACE_MS = 50;

/**
 * One call, from its template to its outcome. It has a thread only while its guest runs: one that awaits nested
 * calls is a snapshot, and goes on in whichever thread is free. So calls that call each other never wait for
 * each other's threads, and ending a thread ends one call.
 */
export class QuickJsCall {
  readonly #pool: WorkerPool;
  readonly #task: SandboxTask;
  readonly #limits: QuickJsLimits;
  readonly #closing: AbortSignal;
  readonly #nested: NestedCalls;
  #elapsedMs = 0;
  #log: LogBudget;

  /** @param closing Aborted when the sandbox closes. */
  constructor(pool: WorkerPool, task: SandboxTask, limits: QuickJsLimits, closing: AbortSignal) {
    this.#pool = pool;
    this.#task = task;
    this.#limits = limits;
    this.#closing = closing;
    this.#nested = new NestedCalls(task.callTool);
    this.#log = { lines: limits.logLines, bytes: DEFAULT_LOG_BUDGET.bytes };
  }

  /** Never rejects; settles when nothing of the call runs any more. */
  async run({ key, snapshot }: Template): Promise<SandboxOutcome> {
    const template = { name: key, value: snapshot };
    const { sessionId, canonical, capabilities } = this.#task;
    const owner = `${sessionId}\0${key}`;
    const { randomSeed } = capabilities;
    let step: QuickJsTask["step"] = { kind: "start", input: canonical.text, randomSeed };
    for (;;) {
      const outcome = await this.#runStep(step, owner, step.kind === "start" ? template : undefined);
      if (outcome.status !== "returned" || outcome.result.status !== "waiting") {
        return this.#end(this.#read(outcome));
      }
      const { guest, requests } = outcome.result;
      this.#nested.start(requests, this.#leftMs);
      const waitedFrom = performance.now();
      const replies = await this.#nested.next(this.#leftMs, [this.#task.signal, this.#closing]);
      this.#elapsedMs += performance.now() - waitedFrom;
      if (typeof replies === "string") {
        return this.#end({ status: replies, effect: this.#nested.effect, used: this.#used });
      }
      const { outstanding } = this.#nested;
      step = { kind: "resume", guest, replies: JSON.stringify(replies), outstanding };
    }
  }

  get #leftMs(): number {
    // A call that comes back at its very deadline is told so by its own clock.
    return Math.max(this.#limits.wallTimeMs - this.#elapsedMs, 1);
  }

  get #used(): SandboxOutcome["used"] {
    const logLines = this.#limits.logLines - this.#log.lines;
    return { wallTimeMs: this.#elapsedMs, logLines, nestedCalls: this.#nested.count };
  }

  async #runStep(
    step: QuickJsTask["step"],
    owner: string,
    template: Artifact | undefined,
  ): Promise<PoolOutcome<QuickJsAnswer>> {
    const { callTool, capabilities, signal, observer } = this.#task;
    const { memoryBytes, outputBytes, nestedCalls } = this.#limits;
    const wallTimeMs = this.#leftMs;
    const granted = callTool === undefined ? 0 : nestedCalls;
    const task: QuickJsTask = {
      ...{ step, owner, wallTimeMs, memoryBytes, outputBytes, log: this.#log },
      nested: { granted, left: granted - this.#nested.count },
      frozenClock: capabilities.frozenClock,
    };
    const options = {
      ...{ wallTimeMs, graceMs: INTERRUPT_GRACE_MS, signal, observer },
      ...(template !== undefined && { artifact: template }),
    };
    const outcome = await runStep(this.#pool, task, options);
    this.#elapsedMs += outcome.wallTimeMs;
    if (outcome.status === "returned") this.#log = outcome.result.log;
    return outcome;
  }

  #read(outcome: PoolOutcome<QuickJsAnswer>): SandboxOutcome {
    const { effect, count } = this.#nested;
    if (outcome.status === "unavailable" && count > 0) {
      // It had begun: what is unavailable is the thread that it needed to go on.
      if (this.#closing.aborted) return { status: "cancelled", effect, used: this.#used };
      const message = "Tool could not go on after a nested call: no thread was free";
      return { status: "failed", effect, used: this.#used, message, detail: outcome.reason };
    }
    return readOutcome(outcome, this.#used, effect, this.#limits.outputBytes);
  }

  async #end(outcome: SandboxOutcome): Promise<SandboxOutcome> {
    if (this.#nested.outstanding > 0) await this.#nested.end();
    return outcome;
  }
}
