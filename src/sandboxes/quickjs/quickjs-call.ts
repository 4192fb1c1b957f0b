import { performance } from "node:perf_hooks";
import { awaitTurn } from "../../base/turns.ts";
import { boundFailure } from "../contract/failure-text.ts";
import type { CallEffect, SandboxOutcome } from "../contract/outcome.ts";
import type { SandboxTask } from "../contract/task.ts";
import type { ExternalResources } from "../guest-services/call-services.ts";
import type { Artifact, PoolOutcome, PoolTaskOptions } from "../threads/pool-task.ts";
import { DEFAULT_LOG_BUDGET, type LogBudget } from "../threads/thread-log.ts";
import type { WorkerPool } from "../threads/worker-pool.ts";
import { releaseGuest, type SuspendedGuest, sizeOf } from "./engine/suspended-guest.ts";
import { notStarted, readQuickJsOutcome } from "./outcome.ts";
import { PendingRequests } from "./pending-requests.ts";
import { INTERRUPT_GRACE_MS, type QuickJsLimits } from "./quickjs-limits.ts";
import { newRandomState } from "./random-state.ts";
import { type Positions, translateFrames } from "./source-maps/positions.ts";
import type { Template } from "./template/template-store.ts";
import { type ExternalAccess, type FileUse, MAX_REQUESTS, NO_FILE_USE } from "./thread/external-access.ts";
import { decodeOutcome, encodeTask, type WireAnswer } from "./thread/task-wire.ts";
import type { QuickJsAnswer, QuickJsArtifact, QuickJsTask } from "./thread/thread-task.ts";
import type { WaitingBudget } from "./waiting-budget.ts";

const NO_ROOM_TO_WAIT =
  "Tool could not wait for its requests: the waiting calls use too much memory. Try again later";

/** The most waits of a call for its timers alone: each suspends the guest and resumes it. */
const MAX_TIMER_WAITS = 1_000;

const TOO_MANY_WAITS = "Tool waited for timers 1,000 times, the most that a call can";

const NOTHING: readonly never[] = [];

/** Copying a suspended guest of this size takes so long that each is sent in a turn of the event loop of its own. */
const LARGE_GUEST_BYTES = 1_024 * 1_024;

/** Resources that all calls share. */
export interface CallHost extends ExternalResources {
  readonly pool: WorkerPool;
  readonly engine: WebAssembly.Module;
  readonly waiting: WaitingBudget;
  /** Aborted when the sandbox closes. */
  readonly closing: AbortSignal;
}

/**
 * One call, from its template to its outcome. It occupies a thread only while its guest runs: a guest that waits for
 * replies is suspended, and resumes in any free thread. Nested calls therefore never wait for their callers' threads,
 * and ending a thread ends only one call.
 */
export class QuickJsCall {
  readonly #host: CallHost;
  readonly #template: Artifact;
  readonly #tool: string;
  readonly #owner: string;
  readonly #positions: Positions | undefined;
  readonly #task: SandboxTask;
  readonly #limits: QuickJsLimits;
  /** `undefined` until the guest requests something, which most guests never do. */
  #requests: PendingRequests | undefined;
  #elapsedMs: number;
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
    loadMs: number,
  ): Promise<SandboxOutcome> {
    try {
      return new QuickJsCall(host, task, limits, template, loadMs).#run();
    } catch (error) {
      return Promise.resolve(notStarted(error));
    }
  }

  private constructor(
    host: CallHost,
    task: SandboxTask,
    limits: QuickJsLimits,
    { key, tool, snapshot, positions }: Template,
    loadMs: number,
  ) {
    this.#host = host;
    this.#elapsedMs = loadMs;
    const { quickjs } = task.implementations;
    const typedCode = quickjs !== undefined && "typedCode" in quickjs ? quickjs.typedCode : undefined;
    const artifact: QuickJsArtifact = { engine: host.engine, template: snapshot, typedCode };
    this.#template = { name: key, value: artifact };
    this.#tool = tool;
    this.#positions = positions;
    this.#owner = `${task.sessionId}\0${key}`;
    this.#task = task;
    this.#limits = limits;
    this.#log = { lines: limits.logLines, bytes: DEFAULT_LOG_BUDGET.bytes };
  }

  async #run(): Promise<SandboxOutcome> {
    const { pool, waiting, closing } = this.#host;
    const { canonical, capabilities, signal } = this.#task;
    let step: QuickJsTask["step"] = {
      kind: "start",
      input: canonical.text,
      randomState: newRandomState(capabilities.randomSeed),
    };
    /** Bytes reserved for the guest of the step. */
    let reserved = 0;
    let timerWaits = 0;
    for (;;) {
      const task = encodeTask(this.#nextTask(step));
      const outcome = decodeOutcome(await pool.run<WireAnswer>(task, this.#options));
      if (step.kind === "resume") this.#release(step.guest, reserved);
      this.#count(outcome);
      if (outcome.status !== "returned" || outcome.result.status !== "waiting") {
        if (this.#requests !== undefined) await this.#requests.end();
        const turn = outcome.status === "returned" ? awaitTurn(textLength(outcome.result)) : undefined;
        if (turn !== undefined) await turn;
        return this.#withChanges(this.#read(outcome));
      }
      const { guest, requests, wakeMs } = outcome.result;
      this.#hasBegun = true;
      const bytes = sizeOf(guest);
      const isRefused = timerWaits > MAX_TIMER_WAITS;
      if (isRefused || !waiting.reserve(this.#task, bytes)) {
        releaseGuest(guest);
        if (this.#requests !== undefined) await this.#requests.end();
        const message = isRefused ? TOO_MANY_WAITS : NO_ROOM_TO_WAIT;
        const used = this.#used;
        return this.#withChanges({
          status: "failed",
          effect: this.#effect,
          used,
          message,
          userVisible: true,
        });
      }
      this.#requests ??= new PendingRequests(this.#task, this.#host, this.#limits);
      if (!closing.aborted) this.#requests.start(requests, this.#leftMs);
      const wait = await this.#requests.next(this.#leftMs, wakeMs, [signal, closing]);
      this.#elapsedMs += wait.waitedMs;
      if (bytes >= LARGE_GUEST_BYTES) {
        const turnFrom = performance.now();
        await awaitTurn(bytes);
        this.#elapsedMs += performance.now() - turnFrom;
      }
      if ("end" in wait) {
        this.#release(guest, bytes);
        await this.#requests.end();
        return this.#withChanges({ status: wait.end, effect: this.#effect, used: this.#used });
      }
      const { replies } = wait;
      if (replies.length === 0) timerWaits++;
      const { outstanding } = this.#requests;
      step = { kind: "resume", guest, replies, outstanding };
      reserved = bytes;
    }
  }

  /** @param bytes What was reserved for the guest. */
  #release(guest: SuspendedGuest, bytes: number): void {
    releaseGuest(guest);
    this.#host.waiting.release(this.#task, bytes);
  }

  get #leftMs(): number {
    // At least 1: a guest that resumes at its deadline then times out in its thread.
    return Math.max(this.#limits.wallTimeMs - this.#elapsedMs, 1);
  }

  get #used(): SandboxOutcome["used"] {
    const logLines = this.#limits.logLines - this.#log.lines;
    const { writtenBytes: fileBytes } = this.#files;
    const used = { wallTimeMs: this.#elapsedMs, logLines, nestedCalls: 0, ...this.#requests?.use.used };
    return fileBytes > 0 ? { ...used, fileBytes } : used;
  }

  get #effect(): CallEffect {
    return this.#files.hasChanged ? "unknown" : (this.#requests?.use.effect ?? "none");
  }

  get #access(): ExternalAccess | undefined {
    const { fs = NOTHING, net = NOTHING, random = false, randomSeed } = this.#task.capabilities;
    if (net.length === 0 && fs.length === 0 && !random) return undefined;
    const { fileBytes, netBytes: bytes } = this.#limits;
    const allowance = this.#requests?.fetchAllowance ?? { requests: MAX_REQUESTS, bytes };
    return {
      net: net.length === 0 ? undefined : allowance,
      fs: fs.length === 0 ? undefined : { grants: fs, fileBytes, used: this.#files },
      random: random ? (randomSeed ?? true) : undefined,
    };
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
      nested: { granted, left: granted - (this.#requests?.nestedCalls ?? 0) },
      access: this.#access,
      frozenClock: capabilities.frozenClock,
    };
  }

  get #options(): PoolTaskOptions {
    const { signal, observer, principal } = this.#task;
    const wallTimeMs = this.#leftMs;
    const code = { tool: this.#tool, artifact: this.#template };
    return { wallTimeMs, graceMs: INTERRUPT_GRACE_MS, signal, observer, ...code, caller: principal?.id };
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
      const { changes: _, ...files } = this.#files;
      this.#files = { ...files, hasChanged: true };
    }
  }

  #withChanges(outcome: SandboxOutcome): SandboxOutcome {
    const { changes } = this.#files;
    return changes === undefined ? outcome : { ...outcome, changes };
  }

  get #mayWrite(): boolean {
    return this.#task.capabilities.fs?.some(({ write }) => write) === true;
  }

  #read(outcome: PoolOutcome<QuickJsAnswer>): SandboxOutcome {
    const effect = this.#effect;
    if (outcome.status === "unavailable" && this.#hasBegun) {
      // The call had started: it only lacks a thread to resume in.
      if (this.#host.closing.aborted) return { status: "cancelled", effect, used: this.#used };
      const message = "Tool could not resume after waiting: no thread was free";
      return {
        status: "failed",
        effect,
        used: this.#used,
        message,
        userVisible: true,
        detail: outcome.reason,
      };
    }
    const read = readQuickJsOutcome(outcome, this.#used, effect, this.#limits.outputBytes);
    if (this.#positions === undefined || read.detail === undefined) return read;
    // The names of source files can be longer than the frames.
    const detail = translateFrames(read.detail, this.#positions);
    return { ...read, detail: boundFailure({ message: detail }, this.#limits.outputBytes).message };
  }
}

/** The length of the text that has to be parsed. */
function textLength(answer: QuickJsAnswer): number {
  return answer.status === "returned" ? answer.text.length : 0;
}
