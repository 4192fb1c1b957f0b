import type { HostContext, HostLogger } from "../../tool/implementations/implementations.ts";
import type { Principal } from "../../tool/principal.ts";
import { type Ask, nobodyToAsk, type Question, type QuestionAnswer } from "../../tool/question.ts";
import { checkDisplay, type Display, type LogLevel } from "../../tool/streamed.ts";
import type { AgentInfo, KernelChecks } from "../../tool/supervised-agent.ts";
import type { PausableContext } from "../../tool/wall-time.ts";
import type { WorkspaceFiles } from "../../tool/workspace-files.ts";
import type { SandboxTask } from "../contract/sandbox.ts";

/** Receives requests of a call's context. */
export interface CallRunner {
  /** Stops the wall time while a person is asked. */
  pause(): () => void;
  /** Called when the chunks exceed the output limit. */
  overflow(): void;
}

/** The context of one call of a host function. Members that most tools do not use are created on demand. */
export class FunctionCall implements HostContext<never>, PausableContext {
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
