/** Milliseconds after which a function that was told to stop, and still runs, is abandoned. */
const ABANDONED_AFTER_MS = 30_000;

/**
 * The functions that still run long after their calls ended. Nothing can end a function in this process: the operator is
 * warned once for each, with the code `SANDGATE_FUNCTION_ABANDONED`.
 */
export class AbandonedFunctions {
  #count = 0;

  /** The number of functions that are abandoned and still run. */
  get count(): number {
    return this.#count;
  }

  /**
   * Watches a function whose call ended without it.
   *
   * @param result Settles when the function ends.
   */
  watch(toolName: string, result: Promise<unknown>): void {
    let isAbandoned = false;
    const timer = setTimeout(() => {
      isAbandoned = true;
      this.#count++;
      process.emitWarning(
        `The host function of tool '${toolName}' still runs ${ABANDONED_AFTER_MS / 1_000} s after its call ended: it should heed its signal`,
        { code: "SANDGATE_FUNCTION_ABANDONED" },
      );
    }, ABANDONED_AFTER_MS);
    timer.unref();
    const end = (): void => {
      clearTimeout(timer);
      if (isAbandoned) this.#count--;
    };
    result.then(end, end);
  }
}
