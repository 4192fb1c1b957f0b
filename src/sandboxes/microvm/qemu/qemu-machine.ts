import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { Machine, MachineEnd } from "../machine.ts";
import { FIRST_PORT_FD, PORTS } from "./command-line.ts";
import type { CommandLine } from "./confinement.ts";

/** The most of QEMU's standard error that is retained, in UTF-16 code units. */
const MAX_SAID = 2_000;

/** A machine that a QEMU process runs. */
export class QemuMachine implements Machine {
  readonly control: Socket;
  readonly input: Socket;
  readonly output: Socket;
  readonly errors: Socket;
  /** The streams of the descriptors behind the ports; absent where a descriptor was passed on. */
  readonly others: readonly (Socket | undefined)[];
  readonly ended: Promise<MachineEnd>;
  readonly #child: ChildProcess;
  #said = "";

  /** @param others The descriptors behind the ports. */
  constructor({ command, args }: CommandLine, others: readonly ("pipe" | number)[]) {
    const ports = Array.from({ length: PORTS }, () => "pipe" as const);
    this.#child = spawn(command, args, {
      env: {},
      // A process group of its own, so that bubblewrap and what it has begun are killed at once.
      detached: true,
      // Standard output would be a place to write to that nobody reads.
      stdio: ["ignore", "ignore", "pipe", ...ports, ...others],
    });
    const streams = this.#child.stdio.slice(FIRST_PORT_FD) as Socket[];
    for (const stream of streams) stream?.on("error", () => {});
    [this.control, this.input, this.output, this.errors] = streams as [Socket, Socket, Socket, Socket];
    this.others = streams.slice(PORTS);
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#said = (this.#said + chunk.toString("utf8")).slice(-MAX_SAID);
    });
    this.ended = new Promise((resolve) => {
      this.#child.on("error", (error) => resolve({ cause: "failed", said: error.message }));
      this.#child.on("close", (code) => resolve({ cause: causeOf(code), said: this.#said.trim() }));
    });
  }

  /** The number of its first process, and of the process group of all; `undefined` if none could be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  kill(): void {
    const { pid, exitCode, signalCode } = this.#child;
    // Another process could have the number later.
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }

  keepAlive(isKept: boolean): void {
    const change = isKept ? "ref" : "unref";
    this.#child[change]();
    for (const stream of [this.#child.stderr as Socket | null, ...this.#child.stdio.slice(FIRST_PORT_FD)])
      (stream as Socket | null)?.[change]?.();
  }
}

/** @param code The exit code; `null` after a signal. */
function causeOf(code: number | null): MachineEnd["cause"] {
  if (code === null) return "killed";
  return code === 0 ? "stopped" : "failed";
}
