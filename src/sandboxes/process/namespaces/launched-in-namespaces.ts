import type { ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { LineReader } from "../collected-output.ts";
import type { Launched } from "../launcher.ts";
import { FirstProcess } from "./first-process.ts";

/** A program in namespaces, with the process of bubblewrap that waits for it. */
export class LaunchedInNamespaces implements Launched {
  readonly child: ChildProcess;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly started: Readable;
  /** `undefined` until it is known. */
  #first: FirstProcess | undefined;

  /** @param status Lines of JSON. One has `child-pid`, the process whose end ends all others of the sandbox. */
  constructor(
    child: ChildProcess,
    [stdin, stdout, stderr, status, started]: readonly [Writable, Readable, Readable, Readable, Readable],
  ) {
    this.child = child;
    this.stdin = stdin;
    this.stdout = stdout;
    this.stderr = stderr;
    this.started = started;
    const lines = new LineReader((line) => this.#readStatus(line));
    status.on("data", (chunk: Buffer) => lines.add(chunk));
    status.on("error", () => {});
  }

  get hasEnded(): boolean {
    return this.#first?.hasEnded !== false;
  }

  terminate(): void {
    this.#first?.terminate();
  }

  /** Kills bubblewrap if there is no first process yet: what it begins dies with it. */
  kill(): void {
    if (this.#first === undefined) this.child.kill("SIGKILL");
    else this.#first.kill();
  }

  #readStatus(line: string): void {
    const pid = /"child-pid": ?(\d+)/.exec(line)?.[1];
    if (pid !== undefined) this.#first ??= new FirstProcess(Number(pid));
  }
}
