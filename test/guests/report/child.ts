import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as after } from "node:timers/promises";

/** A child process that answers messages one by one. */
export class Child {
  readonly #program: URL;
  readonly #answerMs: number;
  #process: ChildProcess | undefined;

  /** @param answerMs How long an answer may take. */
  constructor(program: URL, answerMs: number) {
    this.#program = program;
    this.#answerMs = answerMs;
  }

  /**
   * Sends a message. The process is started if it does not run.
   *
   * @returns the answer; `undefined` if there is none, in which case the process was killed.
   */
  async ask<Answer>(message: unknown): Promise<Answer | undefined> {
    this.#process ??= fork(this.#program);
    const child = this.#process;
    const stop = new AbortController();
    const answer = await Promise.race([
      once(child, "message", { signal: stop.signal }).then(
        ([value]) => value as Answer,
        () => undefined,
      ),
      once(child, "exit", { signal: stop.signal }).then(
        () => undefined,
        () => undefined,
      ),
      after(this.#answerMs, undefined, { signal: stop.signal }).catch(() => undefined),
      send(child, message),
    ]);
    stop.abort();
    if (answer === undefined) this.kill();
    return answer;
  }

  /** Kills the process. The next message starts another one. */
  kill(): void {
    this.#process?.kill("SIGKILL");
    this.#process = undefined;
  }

  /** Lets the process end. Returns its exit code; `undefined` if it does not end within 10 s, or does not run. */
  async end(): Promise<number | undefined> {
    const child = this.#process;
    if (child === undefined) return undefined;
    const exit = once(child, "exit");
    child.disconnect();
    const code = await Promise.race([exit.then(([value]) => value as number), after(10_000, undefined)]);
    this.kill();
    return code;
  }
}

function send(child: ChildProcess, message: unknown): Promise<never> {
  return new Promise((_, reject) => {
    child.send(message as object, (error) => error !== null && reject(error));
  });
}
