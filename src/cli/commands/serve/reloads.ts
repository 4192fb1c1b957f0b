/**
 * Runs a function on each SIGHUP, one run at a time. Signals that arrive during a run cause one more, as do those that
 * arrive before {@link begin}.
 */
export class Reloads implements Disposable {
  #reload: (() => Promise<void>) | undefined;
  #isRunning = false;
  #isDue = false;

  constructor() {
    process.on("SIGHUP", this.#onSignal);
  }

  /** @param reload Must not reject. */
  begin(reload: () => Promise<void>): void {
    this.#reload = reload;
    if (this.#isDue) void this.#run();
  }

  readonly #onSignal = (): void => {
    this.#isDue = true;
    if (this.#reload !== undefined && !this.#isRunning) void this.#run();
  };

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#isDue) {
      this.#isDue = false;
      await this.#reload?.();
    }
    this.#isRunning = false;
  }

  [Symbol.dispose](): void {
    process.off("SIGHUP", this.#onSignal);
  }
}
