import { accessSync, constants, writeSync } from "node:fs";
import { inspect } from "node:util";
import { isMainThread } from "node:worker_threads";

const SHELL = "/bin/sh";
const STDERR = 2;

/**
 * Makes this process end at its exit although it has threads that cannot be ended: after the last `exit`
 * listener, Node.js waits for all threads, and would wait for these forever. Covers `process.exit`, uncaught
 * errors and an empty event loop, but not `process.exit` in an `exit` listener. Does nothing in a worker
 * thread, whose end does not end the process.
 *
 * @returns a function that reverts it.
 */
export function forceExit(): () => void {
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

/** Runs the listeners that were added after ours, since ours ends the process. */
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
