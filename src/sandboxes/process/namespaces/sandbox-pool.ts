import type { ChildProcess } from "node:child_process";
import { closeSync, readSync } from "node:fs";
import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { QueueOwner } from "../../../base/fair-queue.ts";
import { awaitWork } from "../../../base/turns.ts";
import type { FsGrant } from "../../../policy/grant/fs-grant.ts";
import type { ProxyListener } from "../call-network.ts";
import type { Cgroup } from "../cgroups.ts";
import { closeOf, exitOf, InputFile, type ProgramPipe } from "../program-pipes.ts";
import { GrantedMounts } from "./granted-mounts.ts";
import { FirstProcess, SCRIPT_FD, START_FDS } from "./start-script.ts";

/** Milliseconds between two polls of the status, and of whether the first process is bound to bubblewrap. */
const POLL_MS = 1;

/** The parts of a started bubblewrap process. */
interface SandboxParts {
  readonly child: ChildProcess;
  /** The standard input of the program: a pipe, or a file for a text. */
  readonly input: ProgramPipe | InputFile;
  readonly stdout: Socket;
  readonly stderr: Socket;
  /**
   * The file to which bubblewrap writes its status. Not a pipe: if no process read it any more, for example
   * because this one has died, bubblewrap would end and leave its child waiting. The sandbox closes it.
   */
  readonly status: number;
  /** Gets the listening socket of a sandbox with a network; then the process has a channel. Default: none. */
  readonly listener?: ProxyListener | undefined;
}

/** The descriptors of bubblewrap's process that are sockets to this one. */
const [OPTIONS_FD, GATE_FD] = [3, 5];

/**
 * A process of bubblewrap that makes the namespaces of a sandbox, and then waits. It does not depend on the
 * program until {@link start}, which is called at most once. If this process ends before, the script's end
 * does, and the shell exits.
 */
export class PreparedSandbox {
  /** Absent if the input is a text: see {@link start}. */
  readonly stdin: Socket | undefined;
  readonly stdout: Socket;
  readonly stderr: Socket;
  /** The other end of the program's descriptor 3. Absent unless it was requested. */
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
  #startOutput = "";
  #hasStarted = false;
  #hasExited = false;

  constructor({ child, input, stdout, stderr, status, listener }: SandboxParts) {
    this.#child = child;
    this.#listener = listener;
    this.#input = input instanceof InputFile ? input : undefined;
    this.stdin = input instanceof InputFile ? undefined : input.stream;
    [this.stdout, this.stderr] = [stdout, stderr];
    // The others are files and pipes without a stream in this process.
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
      // Output of a sandbox that still waited for a call is no longer read.
      if (!this.#hasStarted) this.#destroyStreams();
    });
    this.closed = closeOf(child, stdout, stderr);
    this.first = this.#readFirst(status);
    this.#ready = new Promise((resolve) => {
      script.on("data", (chunk: Buffer) => {
        this.#startOutput += chunk.toString("latin1");
        resolve();
      });
    });
  }

  /** What the start script has written: a line when it waits for its text, then one of those of `start-script.ts`. */
  get startOutput(): string {
    return this.#startOutput.slice(1);
  }

  get hasExited(): boolean {
    return this.#hasExited;
  }

  /**
   * Starts the program. Its script is passed on only when the kernel ends all processes of the sandbox with
   * this one: bubblewrap has requested that before it notifies the first process, and the first process
   * before it is confined.
   *
   * @param text The script, in one line.
   * @param input The standard input, if that is a text.
   * @param cgroup The cgroup of the program and everything that it starts. Default: none.
   * @throws {Error} if the first process cannot be put into the cgroup, the limits cannot be set, or the
   *   input is too long.
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

  /** Sets whether it keeps this process running. */
  keepAlive(keeps: boolean): void {
    // A socket that is closed would wait for its connection.
    for (const each of [this.#child, ...this.#streams.filter(({ destroyed }) => !destroyed)])
      if (keeps) each.ref();
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
        // A waiting sandbox must not keep the process running, but its end must be noticed.
        await Promise.race([wait(POLL_MS, undefined, { ref: false }), this.exited]);
      }
    } finally {
      closeSync(status);
    }
  }
}

/** Maximum number of bytes of the first line of a status. */
const MAX_STATUS_BYTES = 1_024;

/** Maximum number of sandboxes that wait. Each has two processes of bubblewrap. */
const MOST = 4;

/** Milliseconds after which a sandbox is not used any more. */
const MAX_AGE_MS = 60_000;

interface IdleSandbox {
  readonly sandbox: PreparedSandbox;
  /** See {@link GrantedMounts.identity}. */
  readonly identity: string;
  /** Open, so that the inodes of entries that are removed before they are mounted are not reused. */
  readonly mounts: GrantedMounts;
  readonly expiry: NodeJS.Timeout;
}

/**
 * Sandboxes that wait for the next calls. A sandbox has its mounts already, so that it fits only a call whose grant has
 * the same directories and files, and the same protected places in them. Each is used for one call.
 */
export class SandboxPool {
  readonly #make: (mounts: GrantedMounts) => PreparedSandbox;
  readonly #ending = new Set<Promise<unknown>>();
  /** The oldest first: it is most likely to be ready. */
  #waiting: readonly IdleSandbox[] = [];
  #preparing = 0;
  #closed = false;

  /** @param make Makes a sandbox with these mounts. */
  constructor(make: (mounts: GrantedMounts) => PreparedSandbox) {
    this.#make = make;
  }

  /** Returns a sandbox with these mounts: one that waits, or a new one. */
  take(mounts: GrantedMounts): PreparedSandbox {
    const { identity } = mounts;
    const found = this.#waiting.find((each) => each.identity === identity && !each.sandbox.hasExited);
    if (found === undefined) return this.#make(mounts);
    this.#remove(found);
    found.sandbox.keepAlive(true);
    return found.sandbox;
  }

  /**
   * Makes a sandbox for the next call with this grant, in a later turn of the event loop. Never rejects.
   *
   * @param owner The owner of the grant.
   */
  async prepare(grants: readonly FsGrant[], owner: QueueOwner): Promise<void> {
    // More of them would evict waiting ones.
    if (this.#preparing >= MOST) return;
    this.#preparing++;
    let mounts: GrantedMounts | undefined;
    try {
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (this.#closed) return;
      mounts = await GrantedMounts.open(grants, owner);
      await awaitWork(owner);
      if (mounts.canWait && !this.#closed) this.#add(this.#make(mounts), mounts);
      else mounts[Symbol.dispose]();
    } catch {
      // The next call with the grant fails in the same way, and reports the reason.
      mounts?.[Symbol.dispose]();
    } finally {
      this.#preparing--;
    }
  }

  #add(sandbox: PreparedSandbox, mounts: GrantedMounts): void {
    sandbox.keepAlive(false);
    const expiry = setTimeout(() => this.#discard(waiting), MAX_AGE_MS).unref();
    const waiting: IdleSandbox = { sandbox, identity: mounts.identity, mounts, expiry };
    this.#waiting = [...this.#waiting, waiting];
    void sandbox.exited.then(() => this.#remove(waiting));
    const [oldest] = this.#waiting;
    if (this.#waiting.length > MOST && oldest !== undefined) this.#discard(oldest);
  }

  #discard(waiting: IdleSandbox): void {
    this.#remove(waiting);
    const { sandbox } = waiting;
    // Its end can be waited for.
    sandbox.keepAlive(true);
    const ended = sandbox
      .discard()
      .then(() => sandbox.exited)
      .finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  #remove(waiting: IdleSandbox): void {
    clearTimeout(waiting.expiry);
    waiting.mounts[Symbol.dispose]();
    this.#waiting = this.#waiting.filter((each) => each !== waiting);
  }

  /** Ends the sandboxes that wait, and waits until they have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const waiting of this.#waiting) this.#discard(waiting);
    await Promise.all(this.#ending);
  }
}

/**
 * Reads the beginning of a file, independently of the position that the descriptor shares with another
 * process.
 */
function readStart(fd: number): string {
  const bytes = Buffer.alloc(MAX_STATUS_BYTES);
  return bytes.toString("latin1", 0, readSync(fd, bytes, 0, MAX_STATUS_BYTES, 0));
}
