import { performance } from "node:perf_hooks";
import type { Egress } from "../../egress/egress.ts";
import type { DirectoryGrant } from "../../policy/grant/directory-grant.ts";
import type { CallEffect, SandboxOutcome, SandboxTask } from "../contract/sandbox.ts";
import type { Artifact, PoolOutcome, PoolTaskOptions } from "../threads/pool-task.ts";
import { DEFAULT_LOG_BUDGET, type LogBudget } from "../threads/thread-log.ts";
import type { WorkerPool } from "../threads/worker-pool.ts";
import { notStarted, readQuickJsOutcome } from "./outcome.ts";
import { PendingRequests } from "./pending-requests.ts";
import type { QuickJsLimits } from "./quickjs-limits.ts";
import type { Template } from "./template/template-store.ts";
import { type ExternalAccess, type FileUse, NO_FILE_USE } from "./thread/external-access.ts";
import { decodeOutcome, encodeTask, type WireAnswer } from "./thread/task-wire.ts";
import type { QuickJsAnswer, QuickJsTask } from "./thread/thread-task.ts";

/** How long a guest may take to notice its deadline before its thread is ended. */
export const INTERRUPT_GRACE_MS = 50;

const NO_DIRECTORIES: readonly DirectoryGrant[] = [];

/** What all calls share. */
export interface CallHost {
  readonly pool: WorkerPool;
  readonly openEgress: () => Egress;
  /** Aborted when the sandbox closes. */
  readonly closing: AbortSignal;
}

/**
 * One call, from its template to its outcome. It occupies a thread only while its guest runs: a guest that waits for
 * replies is suspended, and resumes in any free thread. Nested calls therefore never wait for their callers' threads,
 * and ending a thread ends only one call.
 */
export class QuickJsCall {
  readonly #template: Artifact;
  readonly #owner: string;
  readonly #pool: WorkerPool;
  readonly #task: SandboxTask;
  readonly #limits: QuickJsLimits;
  readonly #closing: AbortSignal;
  readonly #requests: PendingRequests;
  #elapsedMs = 0;
  #log: LogBudget;
  #files: FileUse = NO_FILE_USE;
  #hasBegun = false;

  /**
   * Runs a call. Never rejects; settles when no part of the call is running any more.
   *
   * @param loadMs How much of the wall time loading the template took, in ms.
   */
  static run(
    host: CallHost,
    task: SandboxTask,
    limits: QuickJsLimits,
    template: Template,
  ): Promise<SandboxOutcome> {
    try {
      return new QuickJsCall(host, task, limits, template).#run();
    } catch (error) {
      return Promise.resolve(notStarted(error));
    }
  }

  private constructor(
    { pool, openEgress, closing }: CallHost,
    task: SandboxTask,
    limits: QuickJsLimits,
    { key, snapshot }: Template,
  ) {
    this.#template = { name: key, value: snapshot };
    this.#owner = `${task.sessionId}\0${key}`;
    this.#pool = pool;
    this.#task = task;
    this.#limits = limits;
    this.#closing = closing;
    this.#requests = new PendingRequests(task, limits.netBytes, openEgress);
    this.#log = { lines: limits.logLines, bytes: DEFAULT_LOG_BUDGET.bytes };
  }

  async #run(): Promise<SandboxOutcome> {
    const { canonical, capabilities } = this.#task;
    const { randomSeed } = capabilities;
    let step: QuickJsTask["step"] = { kind: "start", input: canonical.text, randomSeed };
    for (;;) {
      const task = encodeTask(this.#nextTask(step));
      const options = this.#optionsWith(step.kind === "start" ? this.#template : undefined);
      const outcome = decodeOutcome(await this.#pool.run<WireAnswer>(task, options));
      this.#count(outcome);
      if (outcome.status !== "returned" || outcome.result.status !== "waiting") {
        await this.#endRequests();
        return this.#read(outcome);
      }
      const { guest, requests } = outcome.result;
      this.#hasBegun = true;
      this.#requests.start(requests, this.#leftMs);
      const waitedFrom = performance.now();
      const replies = await this.#requests.next(this.#leftMs, [this.#task.signal, this.#closing]);
      this.#elapsedMs += performance.now() - waitedFrom;
      if (typeof replies === "string") {
        await this.#endRequests();
        return { status: replies, effect: this.#effect, used: this.#used };
      }
      const { outstanding } = this.#requests;
      step = { kind: "resume", guest, replies: JSON.stringify(replies), outstanding };
    }
  }

  get #leftMs(): number {
    // At least 1: a guest that resumes at its deadline then times out in its thread.
    return Math.max(this.#limits.wallTimeMs - this.#elapsedMs, 1);
  }

  get #used(): SandboxOutcome["used"] {
    const logLines = this.#limits.logLines - this.#log.lines;
    const { writtenBytes: fileBytes } = this.#files;
    const used = { wallTimeMs: this.#elapsedMs, logLines, ...this.#requests.used };
    return fileBytes > 0 ? { ...used, fileBytes } : used;
  }

  get #effect(): CallEffect {
    return this.#files.hasChanged ? "unknown" : this.#requests.effect;
  }

  get #outside(): ExternalAccess | undefined {
    const { fs = NO_DIRECTORIES } = this.#task.capabilities;
    const net = this.#requests.fetchAllowance;
    if (net === undefined && fs.length === 0) return undefined;
    const { fileBytes } = this.#limits;
    return { net, fs: fs.length === 0 ? undefined : { directories: fs, fileBytes, used: this.#files } };
  }

  #nextTask(step: QuickJsTask["step"]): QuickJsTask {
    const { callTool, capabilities } = this.#task;
    const { memoryBytes, outputBytes, nestedCalls } = this.#limits;
    const granted = callTool === undefined ? 0 : nestedCalls;
    return {
      step,
      owner: this.#owner,
      wallTimeMs: this.#leftMs,
      memoryBytes,
      outputBytes,
      log: this.#log,
      nested: { granted, left: granted - this.#requests.nestedCalls },
      outside: this.#outside,
      frozenClock: capabilities.frozenClock,
    };
  }

  #optionsWith(template: Artifact | undefined): PoolTaskOptions {
    const { signal, observer } = this.#task;
    const wallTimeMs = this.#leftMs;
    if (template === undefined) return { wallTimeMs, graceMs: INTERRUPT_GRACE_MS, signal, observer };
    return { wallTimeMs, graceMs: INTERRUPT_GRACE_MS, signal, observer, artifact: template };
  }

  /** Adds what a step used. */
  #count(outcome: PoolOutcome<QuickJsAnswer>): void {
    this.#elapsedMs += outcome.wallTimeMs;
    if (outcome.status === "returned") {
      const { log, files = this.#files } = outcome.result;
      this.#log = log;
      this.#files = files;
    } else if (outcome.status !== "unavailable" && outcome.started && this.#mayWrite) {
      // A thread that was ended cannot report what it did.
      this.#files = { ...this.#files, hasChanged: true };
    }
  }

  get #mayWrite(): boolean {
    return this.#task.capabilities.fs?.some(({ write }) => write) === true;
  }

  #read(outcome: PoolOutcome<QuickJsAnswer>): SandboxOutcome {
    const effect = this.#effect;
    if (outcome.status === "unavailable" && this.#hasBegun) {
      // It had begun: what is unavailable is the thread that it needed to go on.
      if (this.#closing.aborted) return { status: "cancelled", effect, used: this.#used };
      const message = "Tool could not go on after it had waited: no thread was free";
      return { status: "failed", effect, used: this.#used, message, detail: outcome.reason };
    }
    return readQuickJsOutcome(outcome, this.#used, effect, this.#limits.outputBytes);
  }

  /** What became of them is known only then. */
  async #endRequests(): Promise<void> {
    if (this.#requests.outstanding > 0) await this.#requests.end();
  }
}
