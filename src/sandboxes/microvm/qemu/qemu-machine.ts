import { type ChildProcess, spawn } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { makeTemporaryDirectory } from "../../../base/temporary-directory.ts";
import { READY_LINE } from "../guest/first-process.ts";
import type { Machine, MachineEnd } from "../machine.ts";
import {
  type Accelerator,
  bootMemory,
  bootOptions,
  FIRST_PORT_FD,
  machineOptions,
  PORTS,
} from "./command-line.ts";
import type { CommandLine, Confinement } from "./confinement.ts";
import { Monitor } from "./monitor.ts";

/** Maximum length of the collected end of QEMU's standard error, in UTF-16 code units. */
const MAX_STDERR = 2_000;

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
  #stderr = "";

  /** @param others The descriptors behind the ports. */
  constructor({ command, args }: CommandLine, others: readonly ("pipe" | number)[]) {
    const ports = Array.from({ length: PORTS }, () => "pipe" as const);
    this.#child = spawn(command, args, {
      env: {},
      // A process group of its own, so that bubblewrap and its children are killed together.
      detached: true,
      // Nobody would read its standard output.
      stdio: ["ignore", "ignore", "pipe", ...ports, ...others],
    });
    const streams = this.#child.stdio.slice(FIRST_PORT_FD) as Socket[];
    for (const stream of streams) stream?.on("error", () => {});
    [this.control, this.input, this.output, this.errors] = streams as [Socket, Socket, Socket, Socket];
    this.others = streams.slice(PORTS);
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString("utf8")).slice(-MAX_STDERR);
    });
    this.ended = new Promise((resolve) => {
      this.#child.on("error", (error) => resolve({ cause: "failed", errors: error.message }));
      this.#child.on("close", (code) => resolve({ cause: causeOf(code), errors: this.#stderr.trim() }));
    });
  }

  /**
   * The id of its first process, which is that of the process group, too; `undefined` if it could not be
   * started.
   */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  kill(): void {
    const { pid, exitCode, signalCode } = this.#child;
    // The id could be reused later.
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }

  keepAlive(keeps: boolean): void {
    const change = keeps ? "ref" : "unref";
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

/** Milliseconds within which a machine must have booted. Without KVM, it takes 3 to 20 s, depending on the load. */
const BOOT_TIMEOUT_MS: Readonly<Record<Accelerator, number>> = { kvm: 15_000, tcg: 240_000 };

/** Milliseconds that a booted machine gets until all its processes wait. */
const SETTLE_MS = 300;

/** Maximum number of UTF-16 code units of the end of the kernel's log, for a machine that does not boot. */
const MAX_CONSOLE = 1_000;

/** The booting machine. */
export interface Boot {
  readonly qemu: string;
  readonly confinement: Confinement;
  readonly kernel: string;
  readonly initramfs: Buffer;
  readonly memoryBytes: number;
  readonly accelerator: Accelerator;
  /** Whether machines will map its memory, or read it with the state. */
  readonly mapsMemory: boolean;
  /** Ends the machine. */
  readonly signal: AbortSignal;
}

/**
 * Boots a machine, and saves it when it is ready for a call.
 *
 * @param store Reads the state until its end. The file of the memory, if machines map it, is complete then.
 * @throws {Error} if it does not boot or cannot be saved. The message ends with the end of the kernel's log.
 */
export async function bootAndSave<T>(
  boot: Boot,
  store: (state: Socket, memory: string | undefined) => Promise<T>,
): Promise<T> {
  const directory = makeTemporaryDirectory("microvm");
  let machine: QemuMachine | undefined;
  let server: Server | undefined;
  try {
    const initramfs = join(directory, "initramfs");
    await writeFile(initramfs, boot.initramfs);
    const memory = boot.mapsMemory ? join(directory, "memory") : undefined;
    const args = [
      ...machineOptions(boot.memoryBytes, boot.accelerator),
      ...(memory === undefined ? [] : bootMemory(boot.memoryBytes, memory)),
      ...bootOptions(boot.kernel, initramfs),
    ];
    const files = { readable: [boot.kernel], writable: [directory], devices: devicesOf(boot.accelerator) };
    machine = new QemuMachine(boot.confinement.wrap({ command: boot.qemu, args }, files), ["pipe", "pipe"]);
    const [kernelConsole, monitor] = machine.others as [Socket, Socket];
    await booted(machine, kernelConsole, boot);
    const socket = join(directory, "state");
    server = createServer({ pauseOnConnect: true });
    const connected = new Promise<Socket>((resolve) => server?.once("connection", resolve));
    await new Promise<void>((resolve) => server?.listen(socket, resolve));
    const stored = connected.then((state) => store(state, memory));
    // It is also awaited below, but QEMU may fail before.
    stored.catch(() => {});
    await new Monitor(monitor).saveTo(socket, boot.mapsMemory ? "without-files" : "with-files");
    machine.kill();
    return await stored;
  } finally {
    machine?.kill();
    await machine?.ended;
    server?.close();
    await rm(directory, { recursive: true, force: true });
  }
}

/** The device files that an accelerator needs. */
export function devicesOf(accelerator: Accelerator): readonly string[] {
  return accelerator === "kvm" ? ["/dev/kvm"] : [];
}

async function booted(machine: QemuMachine, kernelConsole: Duplex, boot: Boot): Promise<void> {
  let log = "";
  kernelConsole.on("data", (chunk: Buffer) => {
    log = (log + chunk.toString("latin1")).slice(-MAX_CONSOLE);
  });
  // Each port gets a line break, by which the machine waits for the host.
  for (const port of [machine.input, machine.output, machine.errors]) port.resume();
  const ready = new Promise<"ready">((resolve) => {
    let text = "";
    machine.control.on("data", (chunk: Buffer) => {
      text = (text + chunk.toString("latin1")).slice(-MAX_CONSOLE);
      if (text.split("\n").includes(READY_LINE)) resolve("ready");
    });
  });
  const timeout = AbortSignal.any([boot.signal, AbortSignal.timeout(BOOT_TIMEOUT_MS[boot.accelerator])]);
  const late = new Promise<"late">((resolve) => {
    timeout.addEventListener("abort", () => resolve("late"), { once: true });
    if (timeout.aborted) resolve("late");
  });
  const outcome = await Promise.race([ready, late, machine.ended]);
  if (outcome === "ready") await wait(SETTLE_MS);
  else if (boot.signal.aborted) throw new Error("the sandbox is closed");
  else {
    const why = outcome === "late" ? "did not boot in time" : `ended while it booted: ${outcome.errors}`;
    throw new Error(`the machine ${why}. Its kernel said: ${log.trim()}`);
  }
}
