import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { OpenCase } from "../harness/case.ts";
import { INPUT, isInput } from "../setting.ts";
import { ECHO_MODULE } from "./piscina-echo.ts";

/** Plain worker threads and messages. Calls are distributed to the threads in turn. */
export class RawThreads {
  readonly #threads: Worker[];
  readonly #waiting = new Map<number, (answer: unknown) => void>();
  #calls = 0;

  private constructor(threads: Worker[]) {
    this.#threads = threads;
    for (const thread of threads) {
      thread.on("message", ([id, answer]: [number, unknown]) => {
        this.#waiting.get(id)?.(answer);
        this.#waiting.delete(id);
      });
    }
  }

  /** Starts threads that call the default export of a module with each message. */
  static async start(count: number, module: URL): Promise<RawThreads> {
    const main = new URL("../fixtures/raw-thread.mjs", import.meta.url);
    const threads = Array.from({ length: count }, () => new Worker(main, { workerData: module.href }));
    await Promise.all(threads.map((thread) => once(thread, "message")));
    return new RawThreads(threads);
  }

  /** Calls the function in the next thread. */
  run(input: unknown): Promise<unknown> {
    return new Promise((resolve) => {
      const id = this.#calls++;
      this.#waiting.set(id, resolve);
      this.#threads[id % this.#threads.length]?.postMessage([id, input]);
    });
  }

  /** Terminates the threads. */
  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.terminate()));
  }
}

/** Opens the round trip of an echo in that many threads. */
export async function openRawEcho(threads: number): Promise<OpenCase> {
  const raw = await RawThreads.start(threads, ECHO_MODULE);
  return { run: () => raw.run(INPUT), check: isInput, close: () => raw.close() };
}
