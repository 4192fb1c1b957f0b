import { availableParallelism } from "node:os";
import { forceExit } from "./force-exit.ts";

/**
 * The threads that did not end when they were terminated. V8 checks for termination only at certain points,
 * and native code may never check, so only the end of the process ends such a thread. Pools do not wait for
 * it.
 */
export class AbandonedThreads {
  readonly #limit: number;
  /** The tool that each thread runs, if it is known. */
  readonly #tools = new Map<object, string | undefined>();
  #ensuresExit = false;
  #stopForcing: (() => void) | undefined;

  /**
   * The limit is twice the number of a pool's threads: calls of one tool can occupy all threads of a pool
   * before they turn out to be stuck, and other tools must still run.
   *
   * @param threads Number of threads of each pool. Default: the machine's available parallelism.
   */
  constructor(threads: number = availableParallelism()) {
    this.#limit = 2 * threads;
  }

  /** The number of abandoned threads. */
  get count(): number {
    return this.#tools.size;
  }

  /** Whether the limit is reached. No task may start then. */
  get isFull(): boolean {
    return !this.canAdd(0);
  }

  /**
   * Whether another thread may start while `ending` threads are being terminated, any of which may turn out to be
   * stuck.
   */
  canAdd(ending: number): boolean {
    return this.#tools.size + ending < this.#limit;
  }

  /** Returns why tasks of a tool may not start now; `undefined` if they may. */
  refusal(tool: string | undefined): string | undefined {
    if (this.#tools.size === 0) return undefined;
    if (this.isFull) return `${this.#tools.size} threads could not be terminated and are still running`;
    if (tool === undefined) return undefined;
    for (const stuck of this.#tools.values()) {
      if (stuck === tool) return "a thread that runs an earlier call of the tool could not be terminated";
    }
    return undefined;
  }

  /** Adds a thread, and warns the operator, since the outcome of the call may not be observed. */
  add(thread: object, tool: string | undefined): void {
    this.#tools.set(thread, tool);
    const { count } = this;
    process.emitWarning(`A sandbox thread could not be terminated and is still running (${count} in total)`, {
      type: "SandgateWarning",
      code: "SANDGATE_THREAD_ABANDONED",
      detail: this.isFull
        ? "Sandboxes that use threads accept no calls until one of these threads ends. Restart the process."
        : "Calls of its tool are refused until the thread ends.",
    });
    if (this.#ensuresExit) this.#stopForcing ??= forceExit();
  }

  /** Removes a thread that has ended late. */
  delete(thread: object): void {
    this.#tools.delete(thread);
    if (this.#tools.size > 0) return;
    this.#stopForcing?.();
    this.#stopForcing = undefined;
  }

  /** Lets this process exit despite abandoned threads. See `Sandboxes.ensureExit`. */
  ensureExit(): void {
    this.#ensuresExit = true;
    if (this.#tools.size > 0) this.#stopForcing ??= forceExit();
  }
}
