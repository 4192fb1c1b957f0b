import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Case, NotHereError } from "./case.ts";
import type { FromCase, ToCase } from "./case-message.ts";
import type { Round } from "./time-round.ts";

const MAIN = fileURLToPath(new URL("case-process.ts", import.meta.url));
/** The command that pins a process to one core. Not available on every system. */
const PIN = "taskset";
const CORE = "0";

/** A case in a separate process, so that other cases do not affect its heap and its compiled code. */
export class CaseChild {
  readonly subject: Case;
  readonly #process: ChildProcess;

  private constructor(subject: Case, child: ChildProcess) {
    this.subject = subject;
    this.#process = child;
  }

  /**
   * Starts the process and opens the case in it.
   *
   * @throws {NotHereError} if something optional is not available on this machine.
   */
  static async open(suite: string, question: string, subject: Case): Promise<CaseChild> {
    const args = [suite, question, subject.name];
    const child = new CaseChild(subject, subject.isPinned ? forkPinned(args) : fork(MAIN, args));
    await child.#answer();
    return child;
  }

  /** Runs the case for this many milliseconds. */
  async round(roundMs: number): Promise<Round> {
    this.#send({ kind: "round", roundMs });
    const answer = await this.#answer();
    if (answer.kind !== "round")
      throw new Error(`'${this.subject.name}' replied '${answer.kind}' to a round`);
    return answer.round;
  }

  /** Closes the case and ends its process. */
  async close(): Promise<void> {
    if (!this.#process.connected) return;
    const exited = once(this.#process, "exit");
    this.#send({ kind: "close" });
    await exited;
  }

  #send(message: ToCase): void {
    this.#process.send(message);
  }

  async #answer(): Promise<FromCase> {
    const { name } = this.subject;
    const ended = new AbortController();
    const { signal } = ended;
    const exit = once(this.#process, "exit", { signal }).then(([code]): FromCase => {
      return { kind: "failed", reason: `its process ended with code ${code}` };
    });
    const message = once(this.#process, "message", { signal }).then(([said]) => said as FromCase);
    try {
      const answer = await Promise.race([message, exit]);
      if (answer.kind === "not here") throw new NotHereError(answer.reason);
      if (answer.kind === "failed") throw new Error(`'${name}' failed: ${answer.reason}`);
      return answer;
    } finally {
      ended.abort();
      await Promise.allSettled([message, exit]);
    }
  }
}

function forkPinned(args: readonly string[]): ChildProcess {
  if (spawnSync(PIN, ["--version"]).status !== 0) throw new NotHereError(`${PIN} is not available`);
  return fork(MAIN, args, { execPath: PIN, execArgv: ["-c", CORE, process.execPath] });
}
