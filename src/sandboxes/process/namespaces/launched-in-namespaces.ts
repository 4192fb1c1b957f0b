import type { Duplex, Readable, Writable } from "node:stream";
import type { Launch, Launched } from "../launcher.ts";
import { NetworkAttempts } from "../network/network-attempts.ts";
import type { FirstProcess } from "./first-process.ts";
import type { GrantedMounts } from "./granted-mounts.ts";
import type { PreparedSandbox } from "./prepared-sandbox.ts";
import { startScript } from "./start-script.ts";

/** A program in namespaces. It starts when the first process of its sandbox is known, unless it was killed before. */
export class LaunchedInNamespaces implements Launched {
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly channel: Duplex | undefined;
  readonly pid: Promise<number | undefined>;
  readonly exited: Promise<number>;
  readonly closed: Promise<void>;
  readonly #sandbox: PreparedSandbox;
  #attempts: NetworkAttempts | undefined;
  #problem: string | undefined;
  #isKilled = false;
  /** `undefined` until it is known. */
  #first: { readonly process: FirstProcess | undefined } | undefined;

  constructor(sandbox: PreparedSandbox, launch: Launch<GrantedMounts>) {
    this.#sandbox = sandbox;
    this.stdin = sandbox.stdin;
    this.stdout = sandbox.stdout;
    this.stderr = sandbox.stderr;
    this.channel = sandbox.channel;
    this.pid = sandbox.first.then((first) => first?.pid);
    this.exited = sandbox.exited;
    this.closed = sandbox.closed;
    void this.#start(launch);
  }

  get said(): string {
    return this.#sandbox.said;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  get hasEnded(): boolean {
    return this.#first !== undefined && this.#first.process?.hasEnded !== false;
  }

  get hasTriedNetwork(): boolean | undefined {
    return this.#attempts?.found;
  }

  terminate(): void {
    this.#first?.process?.terminate();
  }

  kill(): void {
    this.#isKilled = true;
    void this.#sandbox.kill();
  }

  keepAlive(isKept: boolean): void {
    this.#sandbox.keepAlive(isKept);
  }

  discard(): void {
    void this.#sandbox.discard();
  }

  /** Never rejects. */
  async #start({
    program,
    files,
    limits,
    cgroup,
    listener,
    hasChannel = false,
    hasInput = false,
  }: Launch<GrantedMounts>): Promise<void> {
    const script = startScript(program, limits, files.workingDirectory, {
      hasNetwork: listener !== undefined,
      ...{ hasChannel, hasInput: hasInput || program.stdin !== "" },
    });
    const first = await this.#sandbox.first;
    this.#first = { process: first };
    if (first === undefined || this.#isKilled) return;
    const attempts = new NetworkAttempts(first.pid);
    this.#attempts = attempts;
    void this.exited.then(() => attempts.end());
    try {
      await this.#sandbox.start(first, script, program.stdin, cgroup);
    } catch (error) {
      this.#problem = String(error);
      this.kill();
    }
  }
}
