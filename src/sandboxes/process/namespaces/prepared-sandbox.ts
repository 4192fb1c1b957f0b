import type { ChildProcess } from "node:child_process";
import { closeSync, readSync } from "node:fs";
import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { Cgroup } from "../cgroups.ts";
import { closeOf, exitOf } from "../child-end.ts";
import type { ProxyListener } from "../network/proxy-listener.ts";
import { InputFile, type ProgramPipe } from "../program-pipes.ts";
import { FirstProcess } from "./first-process.ts";
import { SCRIPT_FD, START_FDS } from "./start-script.ts";

/** Milliseconds between two looks at the status, and whether the first process is bound to bubblewrap. */
const POLL_MS = 1;

/** What a process of bubblewrap was started with. */
export interface SandboxParts {
  readonly child: ChildProcess;
  /** The standard input of the program: a pipe, or a file for a text. */
  readonly input: ProgramPipe | InputFile;
  readonly stdout: Socket;
  readonly stderr: Socket;
  /**
   * The file to which bubblewrap writes its status. It is no pipe, since bubblewrap ends if no process reads what it writes, also
   * when this process has died, and leaves its child waiting. It is closed by the sandbox.
   */
  readonly status: number;
  /** Gets the listening socket of a sandbox with a network; then the process has a channel. Default: none. */
  readonly listener?: ProxyListener | undefined;
}

/** The descriptors of bubblewrap's process that are sockets to this one. */
const [OPTIONS_FD, GATE_FD] = [3, 5];

/**
 * A process of bubblewrap that makes the namespaces of a sandbox, and then waits. The program is not known to it until
 * {@link start}, which is called at most once. If this process ends before, the script's end does, and the shell exits.
 */
export class PreparedSandbox {
  /** Absent if the input is a text: see {@link start}. */
  readonly stdin: Socket | undefined;
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
  readonly #input: InputFile | undefined;
  readonly #script: Socket;
  readonly #gate: Socket;
  readonly #streams: readonly Socket[];
  readonly #listener: ProxyListener | undefined;
  /** Resolves when the start script waits for its text. */
  readonly #ready: Promise<void>;
  #said = "";
  #hasStarted = false;
  #hasExited = false;

  constructor({ child, input, stdout, stderr, status, listener }: SandboxParts) {
    this.#child = child;
    this.#listener = listener;
    this.#input = input instanceof InputFile ? input : undefined;
    this.stdin = input instanceof InputFile ? undefined : input.stream;
    [this.stdout, this.stderr] = [stdout, stderr];
    // The others are files and pipes, of which the process has no stream here.
    const streams = child.stdio as unknown as readonly (Socket | null | undefined)[];
    const script = streams[SCRIPT_FD] as Socket;
    const options = streams[OPTIONS_FD] as Socket;
    [this.#script, this.#gate] = [script, streams[GATE_FD] as Socket];
    this.channel = streams[START_FDS.channel] ?? undefined;
    this.#streams = [stdout, stderr, options, script, this.#gate, this.stdin, this.channel].filter(
      (stream) => stream !== undefined,
    );
    for (const stream of this.#streams) stream.on("error", () => {});
    this.exited = exitOf(child);
    void this.exited.then(() => {
      this.#hasExited = true;
      this.stdin?.destroy();
      this.#input?.[Symbol.dispose]();
      // What one has written that waited for a call is not read any more.
      if (!this.#hasStarted) this.#destroyStreams();
    });
    this.closed = closeOf(child, stdout, stderr);
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
   * @param input The standard input, if that is a text.
   * @param cgroup Holds the program, and all that it starts. Default: none.
   * @throws {Error} if the first process cannot be put into the cgroup, the limits cannot be set, or there is no room for the
   *   input.
   */
  async start(first: FirstProcess, text: string, input: string, cgroup: Cgroup | undefined): Promise<void> {
    this.#hasStarted = true;
    this.#input?.write(input);
    // It has no other process yet.
    cgroup?.add(first.pid);
    if (this.#listener === undefined) cgroup?.enforce();
    const script = this.#script;
    this.#gate.end("\n");
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
    this.#destroyStreams();
    if (this.#child.connected) this.#child.disconnect();
  }

  /** Whether it keeps this process running. */
  keepAlive(isKept: boolean): void {
    // A socket that is closed would wait for its connection.
    for (const each of [this.#child, ...this.#streams.filter(({ destroyed }) => !destroyed)])
      if (isKept) each.ref();
      else each.unref();
  }

  #destroyStreams(): void {
    for (const stream of this.#streams) stream.destroy();
    this.#input?.[Symbol.dispose]();
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
