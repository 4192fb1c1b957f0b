import type { ChildProcess } from "node:child_process";
import { closeSync, readSync } from "node:fs";
import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { Cgroup } from "../cgroups/cgroups.ts";
import { closeOf, exitOf } from "../child-end.ts";
import type { ProxyListener } from "../network/proxy-listener.ts";
import { FirstProcess } from "./first-process.ts";
import { START_FDS } from "./start-script.ts";

/** Milliseconds between two looks at the status, and whether the first process is bound to bubblewrap. */
const POLL_MS = 1;

/** How many streams bubblewrap's process has. */
export const STREAMS = 6;

/** The streams of bubblewrap's process, in the order of their descriptors. Each is a socket, which has both directions. */
type SandboxStreams = readonly [
  stdin: Socket,
  stdout: Socket,
  stderr: Socket,
  options: Socket,
  script: Socket,
  gate: Socket,
];

/**
 * A process of bubblewrap that makes the namespaces of a sandbox, and then waits. The program is not known to it until
 * {@link start}, which is called at most once. If this process ends before, the script's end does, and the shell exits.
 */
export class PreparedSandbox {
  readonly stdin: Socket;
  readonly stdout: Socket;
  readonly stderr: Socket;
  /** The other end of the program's descriptor 3. Absent if it was not asked for. */
  readonly channel: Socket | undefined;
  /** Bubblewrap's exit code, which is that of the program; -1 if it was killed or could not be started. */
  readonly exited: Promise<number>;
  /** Resolves when it has exited and everything that was written has been read. */
  readonly closed: Promise<void>;
  /** The first process of the sandbox, which waits; `undefined` if bubblewrap ended before there was one. */
  readonly first: Promise<FirstProcess | undefined>;
  readonly #child: ChildProcess;
  readonly #streams: SandboxStreams;
  readonly #listener: ProxyListener | undefined;
  /** Resolves when the start script waits for its text. */
  readonly #ready: Promise<void>;
  #said = "";
  #hasExited = false;

  /**
   * @param status The file to which bubblewrap writes its status. It is no pipe, since bubblewrap dies if nobody reads what
   *   it writes, also when this process has died, and leaves its child waiting. It is closed by the sandbox.
   * @param listener Gets the listening socket of a sandbox with a network; then the process has a channel. Default: none.
   */
  constructor(child: ChildProcess, status: number, listener?: ProxyListener) {
    this.#child = child;
    this.#listener = listener;
    // The others are files, of which this process has no end.
    this.#streams = child.stdio.slice(0, STREAMS) as unknown as SandboxStreams;
    const [stdin, stdout, stderr, , script] = this.#streams;
    [this.stdin, this.stdout, this.stderr] = [stdin, stdout, stderr];
    const streams: readonly unknown[] = child.stdio;
    this.channel = (streams[START_FDS.channel] ?? undefined) as Socket | undefined;
    for (const stream of this.#allStreams) stream.on("error", () => {});
    this.exited = exitOf(child);
    void this.exited.then(() => {
      this.#hasExited = true;
    });
    this.closed = closeOf(child);
    this.first = this.#readFirst(status);
    this.#ready = new Promise((resolve) => {
      script.on("data", (chunk: Buffer) => {
        this.#said += chunk.toString("latin1");
        resolve();
      });
    });
  }

  /** What the start script has written: a line when it waits for its text, then one of those of `start-script.ts`. */
  get said(): string {
    return this.#said.slice(1);
  }

  get hasExited(): boolean {
    return this.#hasExited;
  }

  /**
   * Starts the program. Its script is passed on only when the kernel ends all processes of the sandbox with this one:
   * bubblewrap has asked for that before it tells the first process, and the first process before it is confined.
   *
   * @param text The script, in one line.
   * @param cgroup Holds the program, and all that it starts. Default: none.
   * @throws {Error} if the first process cannot be put into the cgroup, or the limits cannot be set.
   */
  async start(first: FirstProcess, text: string, cgroup: Cgroup | undefined): Promise<void> {
    // It has no other process yet.
    cgroup?.add(first.pid);
    if (this.#listener === undefined) cgroup?.enforce();
    const [, , , , script, gate] = this.#streams;
    gate.end("\n");
    await Promise.race([this.#ready, this.exited]);
    while (!this.#hasExited && !first.hasEnded && !first.isConfined) await wait(POLL_MS);
    if (this.#listener !== undefined) {
      const takenOver = this.#listener.takeOver(this.#child);
      script.write(`${text}\n`);
      // At the end of the script without another line, the program does not begin.
      if (!(await takenOver)) return void script.end();
      cgroup?.enforce();
      script.end("\n");
    } else script.end(`${text}\n`);
  }

  /**
   * Kills all processes of the sandbox. Bubblewrap is not killed itself: until the first process has asked for its end with
   * bubblewrap's, that would leave it behind.
   */
  async kill(): Promise<void> {
    (await this.first)?.kill();
  }

  /** Ends a sandbox that is not used any more. */
  async discard(): Promise<void> {
    await this.kill();
    for (const stream of this.#allStreams) stream.destroy();
    if (this.#child.connected) this.#child.disconnect();
  }

  /** Whether it keeps this process running. */
  keepAlive(isKept: boolean): void {
    // A socket that is closed would wait for its connection.
    for (const each of [this.#child, ...this.#allStreams.filter(({ destroyed }) => !destroyed)])
      if (isKept) each.ref();
      else each.unref();
  }

  get #allStreams(): readonly Socket[] {
    return this.channel === undefined ? this.#streams : [...this.#streams, this.channel];
  }

  /** Reads bubblewrap's status: lines of JSON, of which the first has `child-pid`. */
  async #readFirst(status: number): Promise<FirstProcess | undefined> {
    try {
      for (;;) {
        const isLast = this.#hasExited;
        const pid = /"child-pid": ?(\d+)\D/.exec(readStart(status))?.[1];
        if (pid !== undefined) return new FirstProcess(Number(pid));
        if (isLast) return undefined;
        // A sandbox that waits keeps no process running, but its end must be seen.
        await Promise.race([wait(POLL_MS, undefined, { ref: false }), this.exited]);
      }
    } finally {
      closeSync(status);
    }
  }
}

/** The most bytes of the first line of a status. */
const MAX_STATUS_BYTES = 1_024;

/** Reads the beginning of a file, whatever the position is that the descriptor shares with another process. */
function readStart(fd: number): string {
  const bytes = Buffer.alloc(MAX_STATUS_BYTES);
  return bytes.toString("latin1", 0, readSync(fd, bytes, 0, MAX_STATUS_BYTES, 0));
}
