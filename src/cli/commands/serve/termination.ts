import type { Terminal } from "../../terminal/terminal.ts";

/** Waits for SIGTERM or an interruption. Only the first one is handled: a second one ends the process at once. */
export class Termination implements Disposable {
  /** Resolves to what requested it. */
  readonly requested: Promise<"SIGTERM" | "interruption">;
  #stop = (): void => {};

  constructor({ signal }: Terminal) {
    this.requested = new Promise((resolve) => {
      const terminate = (): void => resolve("SIGTERM");
      const interrupt = (): void => resolve("interruption");
      process.once("SIGTERM", terminate);
      signal?.addEventListener("abort", interrupt);
      if (signal?.aborted) interrupt();
      this.#stop = () => {
        process.off("SIGTERM", terminate);
        signal?.removeEventListener("abort", interrupt);
      };
    });
  }

  [Symbol.dispose](): void {
    this.#stop();
  }
}
