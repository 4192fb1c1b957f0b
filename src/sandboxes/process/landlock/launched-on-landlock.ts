import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import type { Duplex, Readable, Writable } from "node:stream";
import { closeOf, exitOf } from "../child-end.ts";
import type { Launched } from "../launcher.ts";
import type { LaunchPlan } from "./launch-plan.ts";

/** A program on Landlock, with the supervisor that waits for it: see `child/supervisor.ts`. */
export class LaunchedOnLandlock implements Launched {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly channel: Duplex | undefined;
  readonly pid: Promise<number | undefined>;
  readonly exited: Promise<number>;
  readonly closed: Promise<void>;
  readonly #child: ChildProcess;
  readonly #control: Duplex;
  #said = "";
  #isReady = false;
  #plan: LaunchPlan | undefined;
  #hasPlan = false;

  /** @param child The supervisor, which will wait for its plan. */
  constructor(child: ChildProcess) {
    const [stdin, stdout, stderr, control, started, channel] = child.stdio as unknown as [
      Writable,
      Readable,
      Readable,
      Duplex,
      Readable,
      Duplex | null,
    ];
    this.#child = child;
    this.channel = channel ?? undefined;
    this.pid = Promise.resolve(child.pid);
    this.exited = exitOf(child);
    this.closed = closeOf(child);
    this.stdin = stdin;
    this.stdout = stdout;
    this.stderr = stderr;
    started.on("data", (chunk: Buffer) => {
      this.#said += chunk.toString("latin1");
    });
    this.#control = control;
    control.once("data", () => {
      this.#isReady = true;
      this.#passOn();
    });
    for (const stream of child.stdio) stream?.on("error", () => {});
  }

  /** Starts the program, as soon as the supervisor is ready. */
  start(plan: LaunchPlan): void {
    this.#plan = plan;
    this.#passOn();
  }

  #passOn(): void {
    if (!this.#isReady || this.#plan === undefined || this.#child.killed) return;
    this.#hasPlan = true;
    this.#control.write(`${JSON.stringify(this.#plan)}\n`);
  }

  get hasExited(): boolean {
    return this.#child.pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  get said(): string {
    return this.#said;
  }

  /** The supervisor exits by itself only when all descendants of the program have ended. Without a plan, it has none. */
  get hasEnded(): boolean {
    return this.hasExited && (!this.#hasPlan || this.#child.signalCode === null);
  }

  terminate(): void {
    this.#control.write("t");
  }

  /** A supervisor that has no plan yet may still be starting, and would hear of it much later. */
  kill(): void {
    if (this.#hasPlan) this.#control.write("k");
    else this.#child.kill("SIGKILL");
  }

  keepAlive(isKept: boolean): void {
    const streams = this.#child.stdio.filter((stream) => stream !== null) as unknown as readonly Socket[];
    // A socket that is closed would wait for its connection.
    for (const each of [this.#child, ...streams.filter(({ destroyed }) => !destroyed)])
      if (isKept) each.ref();
      else each.unref();
  }

  discard(): void {
    for (const stream of this.#child.stdio) stream?.destroy();
  }
}
