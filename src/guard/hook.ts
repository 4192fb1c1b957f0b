/**
 * The hook of an agent: hands on what the agent writes to standard input, and writes what the agent understands. Everything but an
 * answer of the process whose key was installed ends with an exit code other than 0, which the command around it turns into the
 * blocking answer of the agent.
 */
import { spawn } from "node:child_process";
import { rmSync, statSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { askGuard } from "./wire.ts";

/** The agent waits longer for its hook, and so does the command around this process. */
const LIMIT_MS = 25_000;

/** How long the process that decides may take, once it listens, in ms. It denies by itself before. */
const ANSWER_MS = 9_000;

/** How often a process that is being started is looked for, in ms. */
const RETRY_MS = 100;

const MAX_INPUT_BYTES = 12 * 1_024 * 1_024;

const [, , agent = "", socket = "", key = "", ...daemon] = process.argv;

/** It has not been started, or has ended. */
const ABSENT = ["ENOENT", "ECONNREFUSED"];

const endsAt = performance.now() + LIMIT_MS;
setTimeout(() => process.exit(3), LIMIT_MS);

async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_INPUT_BYTES) throw new Error("the input is too long");
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
}

async function ask(input: string): Promise<unknown> {
  using starting = new Starting();
  for (;;) {
    try {
      return await askGuard(
        { socket, key },
        { agent, input },
        Math.min(ANSWER_MS, endsAt - performance.now()),
      );
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (!ABSENT.includes(code) || daemon.length === 0 || starting.hasFailed) throw error;
      starting.begin();
      await delay(RETRY_MS);
    }
  }
}

/** The process that decides, while one is started: by one hook, if several look for it at once. */
class Starting implements Disposable {
  readonly #lock = `${socket}.starting`;
  #isOwn = false;
  /** Whether the process that was started here has ended. */
  hasFailed = false;

  begin(): void {
    if (this.#isOwn || !this.#takeLock()) return;
    const [program = "", ...words] = daemon;
    const started = spawn(program, words, { detached: true, stdio: "ignore", cwd: "/" });
    const onEnd = (): void => {
      this.hasFailed = true;
    };
    started.once("exit", onEnd).once("error", onEnd);
    started.unref();
  }

  #takeLock(): boolean {
    try {
      writeFileSync(this.#lock, "", { flag: "wx", mode: 0o600 });
      this.#isOwn = true;
    } catch {
      const { mtimeMs = Date.now() } = statSync(this.#lock, { throwIfNoEntry: false }) ?? {};
      // A hook that was killed leaves it behind.
      if (Date.now() - mtimeMs > LIMIT_MS) rmSync(this.#lock, { force: true });
    }
    return this.#isOwn;
  }

  [Symbol.dispose](): void {
    if (this.#isOwn) rmSync(this.#lock, { force: true });
  }
}

try {
  const answer = await ask(await readInput());
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) throw new Error("no object");
  process.stdout.write(JSON.stringify(answer), () => process.exit(0));
} catch {
  process.exit(3);
}
