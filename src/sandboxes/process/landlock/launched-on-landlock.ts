import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { closeOf, exitOf } from "../child-end.ts";
import type { Launched } from "../launcher.ts";
import { InputFile, type ProgramPipe } from "../program-pipes.ts";
import type { LaunchPlan } from "./launch-plan.ts";

/** A program on Landlock, with the supervisor that waits for it: see `child/supervisor.ts`. */
export class LaunchedOnLandlock implements Launched {
  readonly stdin: Socket | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly channel: Socket | undefined;
  readonly pid: Promise<number | undefined>;
  readonly exited: Promise<number>;
  readonly closed: Promise<void>;
  readonly #child: ChildProcess;
  readonly #input: InputFile | undefined;
  readonly #control: Socket;
  readonly #streams: readonly Socket[];
  #said = "";
  #isReady = false;
  #plan: LaunchPlan | undefined;
  #hasPlan = false;

  /**
   * @param child The supervisor, which will wait for its plan.
   * @param input The standard input of the program: a pipe, or a file for a text.
   */
  constructor(child: ChildProcess, input: ProgramPipe | InputFile, stdout: Socket, stderr: Socket) {
    const [, , , control, started, channel] = child.stdio as unknown as readonly [
      ...[null, null, null],
      ...[control: Socket, started: Socket, channel: Socket | null],
    ];
    this.#child = child;
    this.#input = input instanceof InputFile ? input : undefined;
    this.stdin = input instanceof InputFile ? undefined : input.stream;
    this.channel = channel ?? undefined;
    this.pid = Promise.resolve(child.pid);
    this.exited = exitOf(child);
    this.closed = closeOf(child, stdout, stderr);
    [this.stdout, this.stderr] = [stdout, stderr];
    this.#streams = [stdout, stderr, control, started, this.stdin, this.channel].filter(
      (stream) => stream !== undefined,
    );
    void this.exited.then(() => {
      this.stdin?.destroy();
      this.#input?.[Symbol.dispose]();
      // What one has written that waited for a call is not read any more.
      if (this.#plan === undefined) this.discard();
    });
    started.on("data", (chunk: Buffer) => {
      this.#said += chunk.toString("latin1");
    });
    this.#control = control;
    control.once("data", () => {
      this.#isReady = true;
      this.#passOn();
    });
    for (const stream of this.#streams) stream.on("error", () => {});
  }

  /**
   * Starts the program, as soon as the supervisor is ready.
   *
   * @param input The standard input, if that is a text.
   * @throws {Error} if there is no room for the input.
   */
  start(plan: LaunchPlan, input: string): void {
    this.#input?.write(input);
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
    // A socket that is closed would wait for its connection.
    for (const each of [this.#child, ...this.#streams.filter(({ destroyed }) => !destroyed)])
      if (isKept) each.ref();
      else each.unref();
  }

  discard(): void {
    for (const stream of this.#streams) stream.destroy();
    this.#input?.[Symbol.dispose]();
  }
}
