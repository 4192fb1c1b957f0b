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
  readonly exited: Promise<number>;
  readonly closed: Promise<void>;
  readonly #child: ChildProcess;
  readonly #control: Duplex;
  #said = "";

  /** @param child The supervisor, which waits for its plan. */
  constructor(child: ChildProcess, plan: LaunchPlan) {
    const [stdin, stdout, stderr, control, started] = child.stdio as unknown as [
      Writable,
      Readable,
      Readable,
      Duplex,
      Readable,
    ];
    this.#child = child;
    this.exited = exitOf(child);
    this.closed = closeOf(child);
    this.stdin = stdin;
    this.stdout = stdout;
    this.stderr = stderr;
    started.on("data", (chunk: Buffer) => {
      this.#said += chunk.toString("latin1");
    });
    this.#control = control;
    for (const stream of [stdin, stdout, stderr, control, started]) stream.on("error", () => {});
    control.write(`${JSON.stringify(plan)}\n`);
  }

  get said(): string {
    return this.#said;
  }

  /** The supervisor exits by itself only when all descendants of the program have ended. */
  get hasEnded(): boolean {
    return this.#child.pid === undefined || this.#child.exitCode !== null;
  }

  terminate(): void {
    this.#control.write("t");
  }

  kill(): void {
    this.#control.write("k");
  }

  keepAlive(isKept: boolean): void {
    const streams = this.#child.stdio as unknown as readonly Socket[];
    // A socket that is closed would wait for its connection.
    for (const each of [this.#child, ...streams.filter(({ destroyed }) => !destroyed)])
      if (isKept) each.ref();
      else each.unref();
  }

  discard(): void {
    for (const stream of this.#child.stdio) stream?.destroy();
  }
}
