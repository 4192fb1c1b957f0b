import { performance } from "node:perf_hooks";
import type { OneShotThenable } from "../../base/promises.ts";
import type { HostContext, HostInstance, HostLogger } from "../../tool/implementations/implementations.ts";
import type { Principal } from "../../tool/principal.ts";
import { type Ask, nobodyToAsk, type Question, type QuestionAnswer } from "../../tool/question.ts";
import { checkDisplay, type Display, type LogLevel } from "../../tool/streamed.ts";
import type { AgentInfo, KernelChecks } from "../../tool/supervised-agent.ts";
import type { PausableContext } from "../../tool/wall-time.ts";
import type { WorkspaceFiles } from "../../tool/workspace-files.ts";
import { readThrown } from "../contract/failure.ts";
import type { CallEffect, ResourceUse, SandboxOutcome } from "../contract/outcome.ts";
import { checkReturned } from "../contract/output.ts";
import type { SandboxTask } from "../contract/sandbox.ts";
import type { AbandonedFunctions, RunningCall, RunningCalls } from "./running-calls.ts";

/** Milliseconds that a stopped tool has before the call ends without its result. */
const STOP_GRACE_MS = 100;

/** Copying an output up to this size takes less time than reading the clock again. */
const SMALL_BYTES = 1_024;

type StopCause = "timeout" | "cancelled" | "limit_exceeded";

/**
 * One call of a host function. Its outcome is passed to the engine directly: a promise in between would cost
 * as much as half of the engine.
 */
export class FunctionRun implements CallRunner, RunningCall, OneShotThenable<SandboxOutcome> {
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

/** Receives requests of a call's context. */
interface CallRunner {
  /** Stops the wall time while a person is asked. */
  pause(): () => void;
  /** Called when the chunks exceed the output limit. */
  overflow(): void;
}

/** The context of one call of a host function. Members that most tools do not use are created on demand. */
class FunctionCall implements HostContext<never>, PausableContext {
  readonly #task: SandboxTask;
  readonly #runner: CallRunner;
  readonly files: WorkspaceFiles | undefined;
  #abort: AbortController | undefined;
  #stopped = false;
  #hasEnded = false;
  #outputBytes = 0;
  /** Aborted when the call ends; `undefined` if it has not asked anything. */
  #asking: AbortController | undefined;

  constructor(task: SandboxTask, runner: CallRunner, files: WorkspaceFiles | undefined) {
    this.files = files;
    this.#task = task;
    this.#runner = runner;
  }

  get callId(): string {
    return this.#task.callId;
  }

  get sessionId(): string {
    return this.#task.sessionId;
  }

  get turnId(): string | undefined {
    return this.#task.turnId;
  }

  get messageId(): string | undefined {
    return this.#task.messageId;
  }

  get workspace(): string | undefined {
    return this.#task.workspace;
  }

  get idempotencyKey(): string | undefined {
    return this.#task.idempotencyKey;
  }

  get resultChars(): number | undefined {
    return this.#task.resultChars;
  }

  get toolName(): string {
    return this.#task.toolName;
  }

  get principal(): Principal | undefined {
    return this.#task.principal;
  }

  /** Without the checks, which are a member of their own. */
  get agent(): AgentInfo | undefined {
    const { agent } = this.#task;
    return agent && { id: agent.id, pid: agent.pid };
  }

  get kernel(): KernelChecks | undefined {
    return this.#task.agent?.kernel;
  }

  /** The registry's type made sure that it is what the function needs. */
  get embedder(): never {
    return this.#task.embedder as never;
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#stopped) this.#abort.abort();
    return this.#abort.signal;
  }

  get logger(): HostLogger {
    const at =
      (level: LogLevel): ((message: string) => void) =>
      (message) =>
        this.#task.observer.log(level, String(message));
    return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  }

  /** A bound function, since tools can destructure their context. */
  get onOutput(): (chunk: string) => void {
    return (chunk) => this.#stream(String(chunk));
  }

  /** A bound function, like {@link onOutput}. */
  get display(): (display: Display) => void {
    return (given) => this.#task.observer.display?.(checkDisplay(given));
  }

  /** A bound function, like {@link onOutput}. */
  get ask(): Ask {
    return ((question: Question) => this.#ask(question)) as Ask;
  }

  async #ask(question: Question): Promise<QuestionAnswer> {
    const { ask } = this.#task;
    if (ask === undefined) throw nobodyToAsk("unknown");
    this.#asking ??= new AbortController();
    if (this.#hasEnded) this.#asking.abort();
    return ask(question, { signal: this.#asking.signal, pause: () => this.#runner.pause() });
  }

  get canCall(): ((name: string) => boolean) | undefined {
    return this.#task.canCall;
  }

  /** See {@link PausableContext}. */
  pauseWallTime(): () => void {
    return this.#runner.pause();
  }

  #stream(text: string): void {
    this.#outputBytes += Buffer.byteLength(text);
    if (this.#outputBytes > (this.#task.limits.outputBytes ?? Number.POSITIVE_INFINITY))
      this.#runner.overflow();
    else this.#task.observer.output(text);
  }

  /** Bytes of all chunks so far. */
  get streamedBytes(): number {
    return this.#outputBytes;
  }

  /** Whether the tool has read its signal, and can therefore react to `stop`. */
  get listens(): boolean {
    return this.#abort !== undefined;
  }

  /** Aborts the tool's signal. */
  stop(): void {
    this.#stopped = true;
    this.end();
    this.#abort?.abort();
  }

  /** Withdraws the questions that still wait, and accepts no more. */
  end(): void {
    this.#hasEnded = true;
    this.#asking?.abort();
  }
}
