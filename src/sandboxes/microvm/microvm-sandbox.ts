import { performance } from "node:perf_hooks";
import { describeThrown } from "../../base/thrown.ts";
import { race } from "../../base/timers.ts";
import type { CapabilityName } from "../../policy/grant/capabilities.ts";
import { firstLimitBesides, type LimitName, type ResourceLimits } from "../../policy/grant/limits.ts";
import type { ToolImplementations } from "../../tool/implementations/implementations.ts";
import type { MicrovmImplementation } from "../../tool/implementations/process-implementation.ts";
import { refuseUnbound } from "../contract/bound-grant.ts";
import { GuestMemory } from "../contract/guest-memory.ts";
import type { SandboxOutcome } from "../contract/outcome.ts";
import {
  DEFAULT_MAX_WAIT_MS,
  ownerOf,
  type Sandbox,
  type SandboxTask,
  ToolPreparationError,
} from "../contract/sandbox.ts";
import type { Machine, MachineBackend, SavedMachine } from "./machine.ts";
import { MachinePool, type MachinePoolBounds } from "./machine-pool.ts";
import { MicrovmCall } from "./microvm-call.ts";
import { MICROVM_DEFAULTS, MICROVM_LIMITS } from "./microvm-limits.ts";
import type { Accelerator } from "./qemu/command-line.ts";
import { QemuBackend } from "./qemu/qemu-backend.ts";
import { defaultCacheDirectory } from "./qemu/state-cache.ts";

/** Every program can read the clock and draw random bytes, whether they are granted or not. */
const CAPABILITIES: ReadonlySet<CapabilityName> = new Set(["env", "clock", "random"]);

/**
 * Runs programs with a kernel of their own: each call in a virtual machine that was restored for it, has no network and
 * ends with it. Linux on x86-64 only.
 */
class MicrovmSandbox implements Sandbox {
  readonly mode = "microvm";
  readonly capabilities: ReadonlySet<CapabilityName> = CAPABILITIES;
  readonly defaults: ResourceLimits = MICROVM_DEFAULTS;
  readonly #pool: MachinePool;
  readonly #running = new Set<MicrovmCall>();
  readonly #closing = new AbortController();
  readonly #maxWaitMs: number;
  readonly #memory: GuestMemory;

  /**
   * @param maxWaitMs How long a call waits for the memory of its machine, in ms.
   * @param memory Where outputs have to have room. Default: one of its own.
   */
  constructor(
    backend: MachineBackend,
    bounds: MachinePoolBounds,
    maxWaitMs: number = DEFAULT_MAX_WAIT_MS,
    memory: GuestMemory = new GuestMemory(),
  ) {
    this.#memory = memory;
    this.#pool = new MachinePool(backend, bounds);
    this.#maxWaitMs = maxWaitMs;
  }

  unenforceable(limits: ResourceLimits): LimitName | undefined {
    return firstLimitBesides(limits, MICROVM_LIMITS);
  }

  async prepare({ microvm: program }: ToolImplementations<never, never>): Promise<void> {
    if (program === undefined) return;
    if (this.#closing.signal.aborted) throw new ToolPreparationError("the sandbox is closed");
    try {
      await this.#pool.save(program.image, MICROVM_DEFAULTS.memoryBytes);
    } catch (error) {
      throw new ToolPreparationError((error as Error).message);
    }
  }

  async run(task: SandboxTask): Promise<SandboxOutcome> {
    const { microvm: program } = task.implementations;
    if (this.#closing.signal.aborted || program === undefined)
      return unavailable(program === undefined ? "the tool has no virtual machine" : "the sandbox is closed");
    const refused = refuseUnbound(task, "microvm");
    if (refused !== undefined) return refused;
    try {
      return await this.#run(task, program);
    } catch (error) {
      return this.#wasCancelled(task) ? CANCELLED : unavailable(describeThrown(error).detail);
    }
  }

  /** Ends all machines, and waits until they are gone. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.#pool.close(), ...Array.from(this.#running, (call) => call.stop("cancelled"))]);
  }

  async #run(task: SandboxTask, program: MicrovmImplementation): Promise<SandboxOutcome> {
    const toolBytes = task.limits.memoryBytes ?? MICROVM_DEFAULTS.memoryBytes;
    const cancelled = [task.signal, this.#closing.signal];
    task.turn?.waits();
    const saved = await race(this.#pool.save(program.image, toolBytes), { signals: cancelled });
    if (saved === "aborted") return CANCELLED;
    const waitsFrom = performance.now();
    const machine = await this.#take(saved, task);
    const waitedMs = Math.round(performance.now() - waitsFrom);
    if (machine === undefined) return this.#wasCancelled(task) ? CANCELLED : neverBegan(waitedMs);
    task.turn?.begins();
    let call: MicrovmCall;
    try {
      call = new MicrovmCall(task, program, machine, this.#memory);
    } catch (error) {
      machine.kill();
      throw error;
    }
    this.#running.add(call);
    if (this.#closing.signal.aborted) void call.stop("cancelled");
    const outcome = await call.ended;
    this.#running.delete(call);
    this.#pool.prepareNext(saved);
    return waitedMs > 0 ? { ...outcome, used: { ...outcome.used, waitedMs } } : outcome;
  }

  async #take(saved: SavedMachine, task: SandboxTask): Promise<Machine | undefined> {
    const { signal, waitedMs = 0 } = task;
    const until = new AbortController();
    const stop = (): void => until.abort();
    const timeout = setTimeout(stop, this.#maxWaitMs - waitedMs);
    for (const cause of [signal, this.#closing.signal])
      cause?.addEventListener("abort", stop, { once: true });
    try {
      return await this.#pool.take(saved, ownerOf(task), until.signal);
    } finally {
      clearTimeout(timeout);
      for (const cause of [signal, this.#closing.signal]) cause?.removeEventListener("abort", stop);
    }
  }

  #wasCancelled({ signal }: SandboxTask): boolean {
    return signal?.aborted === true || this.#closing.signal.aborted;
  }
}

const CANCELLED: SandboxOutcome = Object.freeze({
  status: "cancelled",
  effect: "none",
  used: Object.freeze({ wallTimeMs: 0 }),
});

/** Default of {@link MicrovmOptions.memoryBytes}: four machines of the least size. */
const DEFAULT_MEMORY_BYTES = 1_024 * 1_024 * 1_024;

/** Options of the sandbox `microvm`. */
export interface MicrovmOptions {
  /**
   * The file of the machines' kernel, from Debian's package `linux-image-cloud-amd64`. Its modules are in
   * `../lib/modules`. Default: the newest `/boot/vmlinuz-*-cloud-amd64`.
   */
  readonly kernel?: string;
  /**
   * How machines run: by the processor (`kvm`), translated by QEMU (`tcg`), or with KVM if a machine boots with it
   * (`auto`), which is tried once. Default: `"auto"`.
   */
  readonly accelerator?: Accelerator | "auto";
  /** How many booted machines are ready for the next calls. They count towards `memoryBytes`. Default: 1. */
  readonly ready?: number;
  /**
   * Bytes of memory that all machines take together; a call waits for it in its turn, up to `workers.maxWaitMs`. A machine
   * takes 224 MiB or more.
   * Default: 1 GiB.
   */
  readonly memoryBytes?: number;
  /** Where booted machines are saved; only this user may have access. Default: `sandgate/microvm` in the user's cache directory. */
  readonly cacheDirectory?: string;
}

/**
 * Opens the sandbox `microvm`. Looks for nothing and starts nothing before the first tool is prepared.
 *
 * @param maxWaitMs How long a call waits for the memory of its machine, in ms.
 * @param memory Where outputs have to have room. Default: one of its own.
 */
export function openMicrovm(
  {
    kernel,
    accelerator = "auto",
    ready = 1,
    memoryBytes = DEFAULT_MEMORY_BYTES,
    cacheDirectory = defaultCacheDirectory(),
  }: MicrovmOptions = {},
  maxWaitMs?: number,
  memory?: GuestMemory,
): MicrovmSandbox {
  const backend = new QemuBackend({ kernel, accelerator, cacheDirectory });
  return new MicrovmSandbox(backend, { ready, memoryBytes }, maxWaitMs, memory);
}

function neverBegan(waitedMs: number): SandboxOutcome {
  const detail = "no memory for a virtual machine became free";
  return {
    ...unavailable(detail),
    status: "unavailable",
    hasWaited: true,
    used: { wallTimeMs: 0, waitedMs },
  };
}

function unavailable(detail: string): SandboxOutcome {
  return { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail };
}
