import { createHash, randomFillSync } from "node:crypto";
import { performance } from "node:perf_hooks";
import { encodedGuardedFiles } from "../../base/guarded-files.ts";
import { awaitTurn } from "../../base/turns.ts";
import { boundFailure } from "../contract/failure.ts";
import type { GuestMemory } from "../contract/guest-memory.ts";
import type { CallEffect, SandboxOutcome } from "../contract/outcome.ts";
import { ownerOf, type SandboxTask } from "../contract/sandbox.ts";
import type { ExternalResources } from "../guest-services/call-services.ts";
import { type Artifact, callerOf, type PoolOutcome, type PoolTaskOptions } from "../threads/pool-task.ts";
import type { WorkerPool } from "../threads/worker-pool.ts";
import { releaseGuest, type SuspendedGuest } from "./engine/suspended-guest.ts";
import { notResumed, notStarted, readQuickJsOutcome } from "./outcome.ts";
import { type EndedWait, PendingRequests } from "./pending-requests.ts";
import { CallUse, INTERRUPT_GRACE_MS, type QuickJsLimits } from "./quickjs-limits.ts";
import { type Positions, translateFrames } from "./source-maps.ts";
import { readCallState, type SuspendedCallState, writeCallState } from "./suspension/call-state.ts";
import { engineBuild } from "./suspension/engine-build.ts";
import { GuestWaits, type WaitRefusal } from "./suspension/guest-waits.ts";
import { type SuspendedParts, templateBytes } from "./suspension/waiting-guest.ts";
import type { FoundTemplate } from "./template-store.ts";
import { type ExternalAccess, MAX_REQUESTS } from "./thread/external-access.ts";
import {
  decodeOutcome,
  encodeTask,
  type QuickJsAnswer,
  type QuickJsArtifact,
  type QuickJsTask,
  type WireAnswer,
} from "./thread/thread-task.ts";

const NOTHING: readonly never[] = [];

/** How many states of random generators are drawn at once: one system call costs as much as a small tool call. */
const DRAWN = 512;

const drawn = Buffer.alloc(DRAWN * 8);
let unusedStates = 0;

/** Copying a suspended guest of this size takes so long that each is sent in a turn of the event loop of its own. */
const LARGE_GUEST_BYTES = 1_024 * 1_024;

/** Resources that all calls share. */
export interface CallHost extends ExternalResources {
  readonly pool: WorkerPool;
  readonly engine: WebAssembly.Module;
  readonly memory: GuestMemory;
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
  readonly #use: CallUse;
  /** Those at the beginning, as JSON text: the same for all steps. */
  readonly #toolNames: string | undefined;
  #hasBegun = false;
  /** Whether the guest runs while its earlier state stays stored. */
  #isStored = false;
  /** `undefined` until the guest waits, which most guests never do. */
  #currentWaits: GuestWaits | undefined;

  /**
   * Runs a call. Settles when no part of the call is running any more. Rejects only if an internal error
   * hides the outcome of the guest.
   */
  static run(
    host: CallHost,
    task: SandboxTask,
    limits: QuickJsLimits,
    found: FoundTemplate,
  ): Promise<SandboxOutcome> {
    try {
      const call = new QuickJsCall(host, task, limits, found);
      return task.suspension?.from === undefined ? call.#run() : call.#resume();
    } catch (error) {
      return Promise.resolve(notStarted(error));
    }
  }

  private constructor(
    host: CallHost,
    task: SandboxTask,
    limits: QuickJsLimits,
    { template: { key, tool, snapshot, positions }, loadMs, waitedMs }: FoundTemplate,
  ) {
    this.#host = host;
    this.#use = new CallUse(limits, loadMs, waitedMs);
    const { quickjs } = task.implementations;
    const typedCode = quickjs !== undefined && "typedCode" in quickjs ? quickjs.typedCode : undefined;
    const artifact: QuickJsArtifact = { engine: host.engine, template: snapshot, typedCode };
    this.#template = { name: key, value: artifact };
    this.#tool = tool;
    this.#positions = positions;
    this.#owner = `${task.sessionId}\0${key}`;
    this.#task = task;
    this.#limits = limits;
    this.#toolNames = task.toolNames && JSON.stringify(task.toolNames());
  }

  async #run(): Promise<SandboxOutcome> {
    const { canonical, capabilities } = this.#task;
    return this.#runFrom({
      kind: "start",
      input: canonical.text,
      randomState: newRandomState(capabilities.randomSeed),
    });
  }

  /** Goes on from where an earlier process suspended the call. */
  async #resume(): Promise<SandboxOutcome> {
    const { from, sinceMs = 0 } = this.#task.suspension ?? {};
    if (from === undefined) return notStarted("the task is not suspended");
    let earlier: SuspendedCallState;
    try {
      earlier = readCallState(from.state);
    } catch (error) {
      return notResumed(error);
    }
    this.#hasBegun = true;
    this.#use.resume(earlier, this.#limits.waitTimeMs - from.leftWaitMs + sinceMs);
    this.#currentWaits = this.#newWaits(earlier.timerWaits);
    // First, as they know what the call did before.
    this.#requests = new PendingRequests(this.#task, this.#host, this.#limits, earlier);
    const refusal = this.#waits.wait(from.heap, earlier.wakeMs);
    if (refusal !== undefined) return this.#fail(refusal);
    if (this.#use.leftWaitMs === 0) return this.#endWaiting("waited");
    this.#requests.resume(earlier.requests, this.#waits.persist);
    return this.#runFrom(undefined);
  }

  /** @param first The first step; `undefined` if the guest waits. */
  async #runFrom(first: QuickJsTask["step"] | undefined): Promise<SandboxOutcome> {
    const { pool, closing } = this.#host;
    for (let step = first; ; ) {
      if (step !== undefined) {
        const task = encodeTask(this.#nextTask(step));
        const outcome = decodeOutcome(await pool.run<WireAnswer>(task, this.#options));
        if (step.kind === "resume") releaseGuest(step.guest);
        this.#currentWaits?.free();
        this.#use.countStep(outcome, this.#mayWrite);
        if (outcome.status !== "returned" || outcome.result.status !== "waiting") {
          const refused = await this.#settle();
          if (refused !== undefined) return refused;
          await this.#endRequests();
          const length = outcome.status === "returned" ? textLength(outcome.result) : 0;
          const turn = awaitTurn(length, ownerOf(this.#task));
          if (turn !== undefined) await turn;
          return this.#withChanges(this.#read(outcome));
        }
        const { guest, requests, wakeMs } = outcome.result;
        this.#hasBegun = true;
        const refusal = this.#waits.wait(guest, wakeMs);
        if (refusal !== undefined) {
          releaseGuest(guest);
          return this.#fail(refusal);
        }
        this.#requests ??= new PendingRequests(this.#task, this.#host, this.#limits, undefined);
        const added = this.#requests.add(requests, this.#use.leftMs);
        const refused = await this.#settle();
        if (refused !== undefined) return refused;
        if (!closing.aborted) this.#requests.start(added, this.#waits.persist);
      }
      const wait = await this.#nextReplies(this.#requests as PendingRequests);
      if ("end" in wait) return this.#endWaiting(wait.end);
      const waited = this.#waits.leave();
      // A reply can come while the guest is written, so that a person can be asked.
      await waited.written();
      // A kill while the guest computes must not lose a pending confirmation. A guest that writes files would
      // change them twice.
      this.#isStored = waited.isDurable && !this.#mayWrite && (this.#requests as PendingRequests).isAsking;
      let guest: SuspendedGuest;
      try {
        guest = await waited.resume(this.#isStored);
      } catch (error) {
        await waited.release();
        return this.#refuse(error);
      }
      if (wait.replies.length === 0) this.#waits.countTimerWait();
      const { outstanding } = this.#requests as PendingRequests;
      step = { kind: "resume", guest, replies: wait.replies, outstanding };
    }
  }

  /**
   * Invalidates the stored earlier state of the guest. Returns the outcome if the guest must not continue.
   */
  async #settle(): Promise<SandboxOutcome | undefined> {
    if (!this.#isStored) return undefined;
    this.#isStored = false;
    try {
      await this.#waits.settle(this.#requests?.isAsking === true);
      return undefined;
    } catch (error) {
      await this.#waits.release();
      return this.#refuse(error);
    }
  }

  async #refuse(error: unknown): Promise<SandboxOutcome> {
    await this.#endRequests();
    return { ...this.#withChanges(notResumed(error)), used: this.#used };
  }

  /** Waits for replies, or for the first timer. */
  async #nextReplies(requests: PendingRequests): Promise<EndedWait> {
    const waits = this.#waits;
    const stop = waits.begin(requests.isAsking);
    const signals = [this.#task.signal, this.#host.closing];
    const wait = await requests.next(this.#use.leftMs, this.#use.leftWaitMs, waits.wakeMs, signals);
    stop();
    this.#use.countWait(wait);
    const bytes = waits.reserved;
    if (bytes >= LARGE_GUEST_BYTES) {
      const turnFrom = performance.now();
      await awaitTurn(bytes, ownerOf(this.#task));
      this.#use.elapsedMs += performance.now() - turnFrom;
    }
    return wait;
  }

  async #endWaiting(end: "timeout" | "waited" | "cancelled"): Promise<SandboxOutcome> {
    await this.#currentWaits?.release();
    await this.#endRequests();
    const ended = { effect: this.#effect, used: this.#used };
    if (end !== "waited") return this.#withChanges({ status: end, ...ended });
    return this.#withChanges({ status: "limit_exceeded", limit: "waitTimeMs", ...ended });
  }

  async #fail(refusal: WaitRefusal): Promise<SandboxOutcome> {
    await this.#endRequests();
    const ended = { effect: this.#effect, used: this.#used };
    return this.#withChanges({ ...refusal, ...ended });
  }

  async #endRequests(): Promise<void> {
    this.#currentWaits?.end();
    if (this.#requests !== undefined) await this.#requests.end();
  }

  get #waits(): GuestWaits {
    this.#currentWaits ??= this.#newWaits(0);
    return this.#currentWaits;
  }

  #newWaits(timerWaits: number): GuestWaits {
    const { template } = this.#template.value as QuickJsArtifact;
    const call = {
      task: this.#task,
      budget: this.#host.memory,
      maxBytes: this.#limits.memoryBytes,
      template: () => templateBytes(template),
      parts: () => this.#parts(),
    };
    return new GuestWaits(call, timerWaits);
  }

  #parts(): SuspendedParts {
    const requests = this.#requests as PendingRequests;
    const { timerWaits, wakeMs } = this.#waits;
    const { elapsedMs, log, files } = this.#use;
    const own = { elapsedMs, timerWaits, wakeMs, log, files };
    return {
      build: engineBuild(),
      state: writeCallState({ ...own, ...requests.state }),
      open: requests.openCalls,
      leftWaitMs: this.#use.leftWaitMs,
    };
  }

  get #used(): SandboxOutcome["used"] {
    return this.#use.withServices(this.#requests?.use.used);
  }

  get #effect(): CallEffect {
    return this.#use.files.hasChanged ? "unknown" : (this.#requests?.use.effect ?? "none");
  }

  get #access(): ExternalAccess | undefined {
    const { fs = NOTHING, net = NOTHING, random = false, randomSeed } = this.#task.capabilities;
    if (net.length === 0 && fs.length === 0 && !random) return undefined;
    const { fileBytes, netBytes: bytes } = this.#limits;
    const allowance = this.#requests?.fetchAllowance ?? { requests: MAX_REQUESTS, bytes };
    return {
      net: net.length === 0 ? undefined : allowance,
      fs:
        fs.length === 0
          ? undefined
          : { grants: fs, guarded: encodedGuardedFiles(), fileBytes, used: this.#use.files },
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
      wallTimeMs: this.#use.leftMs,
      memoryBytes,
      outputBytes,
      log: this.#use.log,
      nested: { granted, left: granted - (this.#requests?.nestedCalls ?? 0) },
      access: this.#access,
      frozenClock: capabilities.frozenClock,
      toolNames: this.#toolNames,
    };
  }

  get #options(): PoolTaskOptions {
    const { signal, observer, waitedMs = 0 } = this.#task;
    return {
      ...callerOf(this.#task),
      wallTimeMs: this.#use.leftMs,
      graceMs: INTERRUPT_GRACE_MS,
      signal,
      observer,
      tool: this.#tool,
      artifact: this.#template,
      waitedMs: waitedMs + this.#use.waitedMs,
    };
  }

  #withChanges(outcome: SandboxOutcome): SandboxOutcome {
    const { changes } = this.#use.files;
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
      const message = "Tool could not resume after waiting: no thread was free in time. Try again later";
      const why = { message, userVisible: true, detail: outcome.reason };
      return { status: "failed", code: "sandbox_unavailable", effect, used: this.#used, ...why };
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

/**
 * Returns a state for the `Math.random` of one call, which is not 0: the generator would never leave that state.
 * Threads receive it with the call, because loading `node:crypto` takes a new thread 4 ms.
 *
 * @param seed The same seed gives the same state. If `undefined`, the state is unpredictable and never used again.
 */
function newRandomState(seed: string | undefined): bigint {
  if (seed !== undefined) return createHash("sha256").update(seed).digest().readBigUInt64LE() | 1n;
  if (unusedStates === 0) {
    randomFillSync(drawn);
    unusedStates = DRAWN;
  }
  unusedStates--;
  return drawn.readBigUInt64LE(unusedStates * 8) | 1n;
}
