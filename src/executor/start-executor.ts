import type { Executor, ExecutorOptions } from "./executor.ts";

/**
 * Starts an executor: see {@link Executor}. It is loaded only now, as few programs are one.
 *
 * @throws {ListenError} when it cannot listen, or would listen to strangers without knowing who calls.
 * @throws {TypeError} for bad options.
 */
export async function startExecutor(options: ExecutorOptions): Promise<Executor> {
  const { Executor } = await import("./executor.ts");
  return Executor.start(options);
}
