import { closeSync, openSync, readSync } from "node:fs";
import type { Duplex, Readable, Writable } from "node:stream";
import type { Launch, Launched } from "../launcher.ts";
import type { FirstProcess } from "./first-process.ts";
import type { GrantedMounts } from "./granted-mounts.ts";
import type { PreparedSandbox } from "./prepared-sandbox.ts";
import { startScript } from "./start-script.ts";

/** Bytes that the files take at most, which have two lines for each protocol. */
const MAX_BYTES = 16_384;

/** Whether the programs of a network namespace tried to reach what no interface of it leads to. */
class NetworkAttempts {
  #fd: number | undefined;
  #found = false;

  /** @param pid A process of the namespace, which has only a loopback interface. */
  constructor(pid: number) {
    try {
      // The namespace, with its counters, lasts as long as the file is open (proc_pid_net(5)).
      this.#fd = openSync(`/proc/${pid}/net/snmp`, "r");
    } catch {
      // The process has ended, or this kernel counts nothing.
    }
  }

  /** Reads the counters for the last time. */
  end(): void {
    if (this.#fd === undefined) return;
    try {
      const bytes = Buffer.alloc(MAX_BYTES);
      this.#found =
        packetsWithoutRoute(bytes.toString("latin1", 0, readSync(this.#fd, bytes, 0, MAX_BYTES, 0))) > 0;
    } catch {
      // Then it is not known.
    }
    closeSync(this.#fd);
    this.#fd = undefined;
  }

  /** Whether there were attempts until {@link end}. */
  get found(): boolean {
    return this.#found;
  }
}

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
      hasChannel,
      hasInput: hasInput || program.stdin !== "",
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

/** The counter of connections and packets for which there was no route: a line of names, then a line of their values. */
function packetsWithoutRoute(counters: string): number {
  const [names = "", values = ""] = counters.split("\n").filter((line) => line.startsWith("Ip: "));
  return Number(values.split(" ")[names.split(" ").indexOf("OutNoRoutes")] ?? 0);
}
