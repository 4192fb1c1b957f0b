import type { QueueOwner } from "../../base/fair-queue.ts";
import type { Machine, MachineBackend, SavedMachine } from "./machine.ts";
import { MachineMemory } from "./machine-memory.ts";
import { machineBytes, toolMemory } from "./microvm-limits.ts";
import { rehearse } from "./rehearsal.ts";

/** Milliseconds that a machine gets to become ready before it is given up. */
const REHEARSAL_TIMEOUT_MS = 30_000;

/** Bounds of a {@link MachinePool}. */
export interface MachinePoolBounds {
  /** The most machines that wait for calls. */
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
  /** In the order in which they were started, with those that are not ready yet. */
  readonly #waiting = new Map<Machine, { readonly saved: SavedMachine; isReady: boolean }>();
  /** Of machines that were killed while they waited. */
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
   * @param toolBytes What the tool may use of its memory.
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

  /** Refuses what could never run before it is booted. */
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
    if (!this.#memory.tryTake(saved.bytes)) {
      // A call needs the memory more.
      for (const machine of [...this.#waiting.keys()]) this.#discard(machine);
      if (!(await this.#memory.take(saved.bytes, signal, owner))) return undefined;
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
    if (!this.#memory.tryTake(saved.bytes)) return;
    let machine: Machine;
    try {
      machine = this.#restore(saved);
    } catch {
      // The next call tells why.
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

  /** Ends a machine that waits. No call gets it any more. */
  #discard(machine: Machine): void {
    this.#waiting.delete(machine);
    // Its end can be waited for.
    machine.keepAlive(true);
    machine.kill();
    const ended = machine.ended.finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  /** Starts a machine for whose memory there is room. It is given back when the machine is gone. */
  #restore(saved: SavedMachine): Machine {
    try {
      const machine = saved.restore();
      void machine.ended.then(({ cause }) => {
        this.#memory.giveBack(saved.bytes);
        if (cause === "failed") this.#forget(saved);
      });
      return machine;
    } catch (error) {
      this.#memory.giveBack(saved.bytes);
      throw error;
    }
  }
}
