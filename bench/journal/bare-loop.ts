import { hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import type { OpenCase } from "../harness/case.ts";
import { NewDirectory } from "./new-directory.ts";

/** As long as the records of calls, which have 645 to 657 bytes. */
export const LINE_BYTES = 655;

/** What is the least for records that are durable: one loop that writes what waits, and syncs it. */
class BareLoop {
  readonly #file: FileHandle;
  #waiting: string[] = [];
  #written = Promise.withResolvers<void>();
  #isRunning = false;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  add(line: string): Promise<void> {
    this.#waiting.push(line);
    const { promise } = this.#written;
    if (!this.#isRunning) {
      this.#isRunning = true;
      void this.#run();
    }
    return promise;
  }

  async #run(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const lines = this.#waiting;
      const { resolve } = this.#written;
      this.#waiting = [];
      this.#written = Promise.withResolvers();
      await this.#file.write(Buffer.from(lines.join("")));
      await this.#file.datasync();
      resolve();
      await new Promise((next) => setImmediate(next));
    }
    this.#isRunning = false;
  }
}

/**
 * Opens a case that writes lines with a bare loop.
 *
 * @param newLine Returns a line with its newline.
 */
export async function openBareLoop(newLine: () => string): Promise<OpenCase> {
  const directory = new NewDirectory();
  const file = await open(directory.pathOf("lines"), "a");
  const loop = new BareLoop(file);
  return {
    run: () => loop.add(newLine()).then(() => true),
    check: isTrue,
    close: async () => {
      await file.close();
      directory.delete();
    },
  };
}

/** Opens a case that computes the digest of each of many lines, as verifying has to. */
export function openDigests(count: number): OpenCase {
  const line = Buffer.alloc(LINE_BYTES, "x");
  return {
    run: () => {
      let digest = "";
      for (let index = 0; index < count; index++) digest = hash("sha256", line);
      return digest.length === 64;
    },
    check: isTrue,
  };
}

export function isTrue(answer: unknown): void {
  if (answer !== true) throw new Error("the result is wrong");
}
