import { randomBytes } from "node:crypto";
import type { Readable } from "node:stream";
import { FairQueue, type QueueOwner } from "../../base/fair-queue.ts";
import { awaitLine, startMessage } from "./control-port.ts";
import { GUEST_DIRECTORY, MESSAGE, READY_LINE } from "./guest/first-process.ts";
import type { Machine, MachineBackend, SavedMachine } from "./machine.ts";
import { MICROVM_DEFAULTS, machineBytes, toolMemory } from "./microvm-limits.ts";

interface QueuedMachine {
  readonly owner: QueueOwner;
  readonly bytes: number;
  readonly go: () => void;
}

/** The memory that all machines may take together. The callers of those that wait take turns. */
export class MachineMemory {
  readonly #total: number;
  readonly #waiting = new FairQueue<QueuedMachine>(({ owner }) => owner);
  #used = 0;

  constructor(total: number) {
    this.#total = total;
  }

  /** Whether a machine waits for memory. */
  get isWaitedFor(): boolean {
    return this.#waiting.size > 0;
  }

  /** Acquires memory if it is free and no machine waits for it. Returns whether it did. */
  tryAcquire(bytes: number): boolean {
    if (this.isWaitedFor || this.#used + bytes > this.#total) return false;
    this.#used += bytes;
    return true;
  }

  /**
   * Waits for memory.
   *
   * @param owner The owner of the machine. Default: unknown.
   * @returns whether it was acquired: not if the signal was aborted before.
   * @throws {Error} if there will never be enough.
   */
  async acquire(bytes: number, signal: AbortSignal, owner: QueueOwner = {}): Promise<boolean> {
    if (bytes > this.#total) throw new Error(`a virtual machine needs ${bytes} bytes of memory`);
    if (signal.aborted) return false;
    if (this.tryAcquire(bytes)) return true;
    return new Promise((resolve) => {
      const waiting: QueuedMachine = {
        owner,
        bytes,
        go: () => {
          signal.removeEventListener("abort", abort);
          resolve(true);
        },
      };
      const abort = (): void => {
        this.#waiting.delete(waiting);
        resolve(false);
        // Those behind it may need less.
        this.release(0);
      };
      signal.addEventListener("abort", abort, { once: true });
      this.#waiting.add(waiting);
    });
  }

  release(bytes: number): void {
    this.#used -= bytes;
    for (let next = this.#waiting.peek(); next !== undefined; next = this.#waiting.peek()) {
      if (this.#used + next.bytes > this.#total) return;
      this.#waiting.next();
      this.#used += next.bytes;
      next.go();
    }
  }
}

/** Reads a line, and writes one to each of its outputs. */
const PROGRAM = {
  command: `/${GUEST_DIRECTORY}/busybox`,
  args: ["sh", "-c", `/${GUEST_DIRECTORY}/busybox head -n 1; echo >&2`],
};

/** Milliseconds that a machine gets to become ready before it is given up. */
const REHEARSAL_TIMEOUT_MS = 30_000;

/** Bounds of a {@link MachinePool}. */
export interface MachinePoolBounds {
  /** Maximum number of machines that wait for calls. */
  readonly ready: number;
  /** Bytes of memory that all machines take together, at most. */
  readonly memoryBytes: number;
}

/** The machines of all images: saved, running and waiting for calls. Each runs one call. */
export class MachinePool {
  readonly #backend: MachineBackend;
  readonly #bounds: MachinePoolBounds;
  readonly #memory: MachineMemory;
  /** By image and memory. */
  readonly #saved = new Map<string, Promise<SavedMachine>>();
  /** In the order of their start, including those that are not ready yet. */
  readonly #waiting = new Map<Machine, { readonly saved: SavedMachine; isReady: boolean }>();
  /** The ends of machines that were killed while they waited. */
  readonly #ending = new Set<Promise<unknown>>();
  #closed = false;

  constructor(backend: MachineBackend, bounds: MachinePoolBounds) {
    this.#backend = backend;
    this.#bounds = bounds;
    this.#memory = new MachineMemory(bounds.memoryBytes);
  }

  /**
   * Saves a machine of the image, unless that has been done.
   *
   * @param toolBytes The memory that the tool may use.
   * @throws {Error} if that is not possible. The message is for operators; the next call tries again.
   */
  save(image: string, toolBytes: number): Promise<SavedMachine> {
    const bytes = toolMemory(toolBytes);
    const key = `${bytes} ${image}`;
    const known = this.#saved.get(key);
    if (known !== undefined) return known;
    const saving = this.#checkMemory(bytes).then(() => this.#backend.save(image, bytes));
    saving.catch(() => this.#saved.delete(key));
    this.#saved.set(key, saving);
    return saving;
  }

  /** Refuses, before it is booted, a machine that could never run. */
  async #checkMemory(toolBytes: number): Promise<void> {
    const bytes = machineBytes(toolBytes, 0);
    if (bytes <= this.#bounds.memoryBytes) return;
    throw new Error(
      `a virtual machine needs ${bytes} bytes of memory, but all together may have ${this.#bounds.memoryBytes}: ` +
        "raise the option 'memoryBytes' of 'microvm', or grant less",
    );
  }

  /** The next call saves the machine again. */
  #forget(saved: SavedMachine): void {
    for (const [key, saving] of this.#saved)
      void saving.then(
        (other) => other === saved && this.#saved.delete(key),
        () => {},
      );
  }

  /**
   * Returns a machine for one call, when there is memory for it; `undefined` if the signal is aborted before. Callers take
   * turns.
   *
   * @throws {Error} if there will never be enough memory for it, or it cannot be restored.
   */
  async take(saved: SavedMachine, owner: QueueOwner, signal: AbortSignal): Promise<Machine | undefined> {
    for (const [machine, waiting] of this.#waiting) {
      if (waiting.saved !== saved || !waiting.isReady) continue;
      this.#waiting.delete(machine);
      machine.keepAlive(true);
      return machine;
    }
    if (!this.#memory.tryAcquire(saved.bytes)) {
      // A call needs the memory more.
      for (const machine of [...this.#waiting.keys()]) this.#discard(machine);
      if (!(await this.#memory.acquire(saved.bytes, signal, owner))) return undefined;
    }
    return this.#restore(saved);
  }

  /** Starts a machine that waits for the next call of this image, if there may be one more. */
  prepareNext(saved: SavedMachine): void {
    if (this.#closed || this.#bounds.ready === 0) return;
    if (this.#waiting.size >= this.#bounds.ready) {
      const [oldest] = [...this.#waiting].find(([, waiting]) => waiting.saved !== saved) ?? [];
      if (oldest !== undefined) this.#discard(oldest);
      return;
    }
    if (!this.#memory.tryAcquire(saved.bytes)) return;
    let machine: Machine;
    try {
      machine = this.#restore(saved);
    } catch {
      // The next call reports the reason.
      return;
    }
    const waiting = { saved, isReady: false };
    this.#waiting.set(machine, waiting);
    machine.keepAlive(false);
    void machine.ended.then(() => this.#waiting.delete(machine));
    const timeout = setTimeout(() => this.#discard(machine), REHEARSAL_TIMEOUT_MS).unref();
    void machine.ended.then(() => clearTimeout(timeout));
    void rehearse(machine).then((isReady) => {
      clearTimeout(timeout);
      if (isReady) waiting.isReady = true;
      else this.#discard(machine);
    });
  }

  /** Ends the machines that boot or wait for calls, and waits until they have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const machine of [...this.#waiting.keys()]) this.#discard(machine);
    await Promise.all([this.#backend.close(), ...this.#ending]);
  }

  /** Ends a waiting machine, so that no call gets it. */
  #discard(machine: Machine): void {
    this.#waiting.delete(machine);
    // Its end can be waited for.
    machine.keepAlive(true);
    machine.kill();
    const ended = machine.ended.finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  /** Starts a machine whose memory was acquired. The memory is released when the machine is gone. */
  #restore(saved: SavedMachine): Machine {
    try {
      const machine = saved.restore();
      void machine.ended.then(({ cause }) => {
        this.#memory.release(saved.bytes);
        if (cause === "failed") this.#forget(saved);
      });
      return machine;
    } catch (error) {
      this.#memory.release(saved.bytes);
      throw error;
    }
  }
}

/**
 * Warms up a machine: it runs a program of Sandgate, and prepares for a call again, since QEMU translates
 * code when it first runs. The program has the control group of the tool: the most memory of a call that
 * follows is at least its 0.5 MiB.
 *
 * @returns whether it is ready for a call. Does not settle if the machine ends.
 */
export async function rehearse({ control, input, output, errors }: Machine): Promise<boolean> {
  const { memoryBytes, processes } = MICROVM_DEFAULTS;
  const token = randomBytes(MESSAGE.token[1] / 2).toString("hex");
  const isReady = awaitLine(control, (line) => (line === READY_LINE ? true : undefined));
  const outputs = Promise.all([takeByte(output), takeByte(errors)]);
  control.write(startMessage({ ...PROGRAM, token, memoryBytes, processes, env: {} }));
  input.write("\n");
  if (!(await isReady)) return false;
  return (await outputs).every((isOne) => isOne);
}

/** Reads what the warm-up writes to a stream. Returns whether it was one byte, as expected. */
function takeByte(stream: Readable): Promise<boolean> {
  return new Promise((resolve) => {
    stream.once("data", (chunk: Buffer) => {
      // The next call continues to read.
      stream.pause();
      resolve(chunk.length === 1);
    });
  });
}
