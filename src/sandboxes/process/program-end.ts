import { performance } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { race } from "../../base/timers/race.ts";
import type { Launched } from "./launcher.ts";

/** Milliseconds after which a program counts as not ended although its processes were killed. */
const END_GRACE_MS = 2_000;

/** Milliseconds between two looks whether processes that were killed have ended. */
const POLL_MS = 5;

/** Ends a launched program, and finds out whether it has ended. */
export class ProgramEnd {
  /**
   * Resolves to the exit code when the process that waits for the program has exited; to `undefined` if it has not some time
   * after {@link kill}.
   */
  readonly exited: Promise<number | undefined>;
  readonly #launched: Launched;
  readonly #killed = Promise.withResolvers<void>();

  constructor(launched: Launched) {
    this.#launched = launched;
    const { exited } = launched;
    const late = this.#killed.promise.then(() => race(exited, { timeoutMs: END_GRACE_MS }));
    this.exited = Promise.race([exited, late]).then((code) => (typeof code === "number" ? code : undefined));
  }

  /** Kills all processes of the program. Can be repeated. */
  kill(): void {
    this.#launched.kill();
    this.#killed.resolve();
  }

  /**
   * Waits until all processes have ended and everything that they wrote has been read, after {@link exited}.
   *
   * @returns The exit code; `undefined` if processes remain. Then all streams to them are closed.
   */
  async finish(): Promise<number | undefined> {
    const code = await this.exited;
    const hasEnded = code !== undefined && (await this.#endAll());
    // What the program wrote before its end is in the pipes, which no process of the sandbox holds then.
    if (hasEnded) await this.#launched.closed;
    else this.#launched.discard();
    return hasEnded ? code : undefined;
  }

  /**
   * Kills what the program left behind: the process that waits for it can exit before that.
   *
   * @returns Whether all have ended.
   */
  async #endAll(): Promise<boolean> {
    for (const until = performance.now() + END_GRACE_MS; performance.now() < until; await wait(POLL_MS)) {
      if (this.#launched.hasEnded) return true;
      this.#launched.kill();
    }
    return false;
  }
}
