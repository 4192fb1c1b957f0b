import { type ChildProcess, execFile, execFileSync } from "node:child_process";
import { closeSync, constants, openSync, unlinkSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";

const { O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

/** How many pipes are made at once, and how few are left when the next ones are made. */
const AT_ONCE = 32;
const FEW = 8;

/** Where mkfifo(1) is looked for. */
const ENVIRONMENT = { PATH: "/usr/bin:/bin" };

/** A pipe between this process and a program. */
export interface ProgramPipe {
  /** The end of this process. */
  readonly stream: Socket;
  /** The end of the program. The caller closes it after the start. */
  readonly fd: number;
}

/**
 * Makes pipes for the standard streams of programs. Child processes of Node.js have sockets, which nothing can open by a
 * name such as `/dev/stderr`, and Node.js has no function that makes a pipe. These are FIFOs (fifo(7)), each of which loses
 * its name before a program gets it, and is used once.
 */
export class ProgramPipes {
  readonly #directory: string;
  #made = 0;
  #paths: string[] = [];
  #isMaking = false;

  /**
   * @param directory Where they are made. It is removed by its owner.
   * @throws {Error} if they cannot be made. The message says why.
   */
  static async open(directory: string): Promise<ProgramPipes> {
    const pipes = new ProgramPipes(directory);
    const problem = await pipes.#makeMore();
    if (problem !== undefined) throw new Error(`mkfifo cannot make pipes for programs: ${problem.message}`);
    return pipes;
  }

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Makes a pipe that the program reads from. */
  toProgram(): ProgramPipe {
    const [read, write] = this.#take(0, O_NONBLOCK);
    return { stream: new Socket({ fd: write, readable: false, writable: true }), fd: read };
  }

  /** Makes a pipe that the program writes to. */
  fromProgram(): ProgramPipe {
    const [read, write] = this.#take(O_NONBLOCK, 0);
    return { stream: new Socket({ fd: read, readable: true, writable: false }), fd: write };
  }

  /** Opens both ends of a pipe with additional flags. */
  #take(readFlags: number, writeFlags: number): readonly [read: number, write: number] {
    if (this.#paths.length === 0) {
      const paths = this.#nextPaths();
      execFileSync("mkfifo", ["-m", "600", ...paths], { env: ENVIRONMENT, stdio: "ignore" });
      this.#paths.push(...paths);
    } else if (this.#paths.length <= FEW) void this.#makeMore();
    const path = this.#paths.pop() as string;
    // Opening one end alone would wait for the other.
    const both = openSync(path, O_RDWR | O_NONBLOCK);
    try {
      const read = openSync(path, O_RDONLY | readFlags);
      return [read, openSync(path, O_WRONLY | writeFlags)];
    } finally {
      closeSync(both);
      unlinkSync(path);
    }
  }

  /** Returns why no pipes could be made. Never rejects. */
  async #makeMore(): Promise<Error | undefined> {
    if (this.#isMaking) return undefined;
    this.#isMaking = true;
    const paths = this.#nextPaths();
    const problem = await new Promise<Error | undefined>((resolve) => {
      execFile("mkfifo", ["-m", "600", ...paths], { env: ENVIRONMENT }, (error) =>
        resolve(error ?? undefined),
      );
    });
    if (problem === undefined) this.#paths.push(...paths);
    this.#isMaking = false;
    return problem;
  }

  #nextPaths(): readonly string[] {
    return Array.from({ length: AT_ONCE }, () => join(this.#directory, `pipe-${this.#made++}`));
  }
}

/**
 * A file without a name that a program has as its standard input before the text of that is known. A pipe would need a
 * process that writes to it until the program has read everything, also to open `/dev/stdin`.
 */
export class InputFile implements Disposable {
  readonly fd: number;
  #isOpen = true;

  constructor(directory: string) {
    this.fd = openNameless(directory, "input");
  }

  /**
   * Writes the text, and closes the file in this process.
   *
   * @throws {Error} if it is too long.
   */
  write(text: string): void {
    const bytes = Buffer.from(text);
    // At a position, so that the program, which shares the descriptor's own, begins to read at 0.
    for (let at = 0; at < bytes.length; ) at += writeSync(this.fd, bytes, at, bytes.length - at, at);
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    if (this.#isOpen) closeSync(this.fd);
    this.#isOpen = false;
  }
}

/** Opens a new file that has no name any more. */
export function openNameless(directory: string, name: string): number {
  const path = join(directory, name);
  const fd = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return fd;
}

/** Resolves with the exit code of a process; with -1 if it was killed or could not be started. */
export function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.on("exit", (code) => resolve(code ?? -1));
    child.on("error", () => resolve(-1));
  });
}

/**
 * Resolves when a process has exited, and everything that it wrote has been read.
 *
 * @param streams Further streams that it wrote to, in addition to those of the `ChildProcess`.
 */
export async function closeOf(child: ChildProcess, ...streams: readonly Readable[]): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    child.on("close", () => resolve());
    child.on("error", () => resolve());
  });
  await Promise.all([closed, ...streams.map(closeOfStream)]);
}

function closeOfStream(stream: Readable): Promise<void> {
  return new Promise((resolve) => void stream.once("close", () => resolve()));
}
