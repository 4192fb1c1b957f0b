import { accessSync, constants, writeSync } from "node:fs";
import { availableParallelism } from "node:os";
import { inspect } from "node:util";
import { isMainThread } from "node:worker_threads";

const SHELL = "/bin/sh";

const STDERR = 2;

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

/**
 * Makes this process end at its exit although it has threads that cannot be ended: after the last `exit`
 * listener, Node.js waits for all threads, and would wait for these forever. Covers `process.exit`, uncaught
 * errors and an empty event loop, but not `process.exit` in an `exit` listener. Does nothing in a worker
 * thread, whose end does not end the process.
 *
 * @returns a function that reverts it.
 */
function forceExit(): () => void {
  if (!isMainThread) return () => {};
  let fatal: { readonly error: unknown } | undefined;
  /** Records an uncaught error, which Node.js prints after the `exit` listeners: too late. */
  const onUncaught = (error: unknown): void => {
    const isHandled =
      process.listenerCount("uncaughtException") > 0 || process.hasUncaughtExceptionCaptureCallback();
    if (!isHandled) fatal = { error };
  };
  const onExit = (code: number): void => {
    runLaterListeners(onExit, code);
    if (fatal !== undefined) printFatal(fatal.error);
    replaceProcess(Number(process.exitCode ?? code));
  };
  process.on("uncaughtExceptionMonitor", onUncaught);
  process.on("exit", onExit);
  return () => {
    process.off("uncaughtExceptionMonitor", onUncaught);
    process.off("exit", onExit);
  };
}

/** Runs the listeners that were added after this one, which ends the process. */
function runLaterListeners(own: (code: number) => void, code: number): void {
  const listeners = process.listeners("exit");
  for (const listener of listeners.slice(listeners.indexOf(own) + 1)) {
    try {
      listener.call(process, code);
    } catch (error) {
      printFatal(error);
      process.exitCode = 1;
    }
  }
}

function printFatal(error: unknown): void {
  try {
    writeSync(STDERR, `Uncaught ${inspect(error)}\n\nNode.js ${process.version}\n`);
  } catch {
    // Standard error may be closed.
  }
}

/**
 * Replaces the process by one that exits immediately with the code: the system ends all threads of a replaced
 * process. If this is not possible, the process is killed, and the code is lost.
 */
function replaceProcess(code: number): void {
  try {
    accessSync(SHELL, constants.X_OK);
    process.execve?.(SHELL, [SHELL, "-c", `exit ${code & 0xff}`], {});
  } catch {
    // There is no shell, or no permission to start one.
  }
  process.kill(process.pid, "SIGKILL");
}
