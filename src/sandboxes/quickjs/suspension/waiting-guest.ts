import { describeThrown } from "../../../base/thrown.ts";
import type { SuspendedTask, TaskSuspension } from "../../contract/suspension.ts";
import { releaseGuest, type SuspendedGuest, sizeOf } from "../engine/suspended-guest.ts";
import { compressGuest, decompressGuest } from "./heap-bytes.ts";
import type { TemplateBytes } from "./stored-template.ts";

/** What is suspended with a guest. */
export type SuspendedParts = Omit<SuspendedTask, "heap" | "template">;

/** The largest heap that is written, compressed: sealing and storing it blocks the event loop, a hundred MB for a second. */
const MAX_HEAP_BYTES = 8 * 1_024 * 1_024;

/** A guest that waits: in memory, and from {@link suspend} on as bytes, which outlive the process. */
export class WaitingGuest {
  readonly #suspension: TaskSuspension | undefined;
  readonly #template: () => TemplateBytes;
  readonly #maxBytes: number;
  /** Called with the bytes that it occupies, when they change. */
  readonly #onSize: (bytes: number) => void;
  #guest: SuspendedGuest | undefined;
  #heap: Uint8Array | undefined;
  #suspending: Promise<void> | undefined;
  #isDurable: boolean;

  /**
   * @param guest In memory, or as the bytes of an earlier process.
   * @param maxBytes The size up to which its memory can grow.
   */
  constructor(
    guest: SuspendedGuest | Uint8Array,
    suspension: TaskSuspension | undefined,
    template: () => TemplateBytes,
    maxBytes: number,
    onSize: (bytes: number) => void,
  ) {
    this.#suspension = suspension;
    this.#template = template;
    this.#maxBytes = maxBytes;
    this.#onSize = onSize;
    this.#isDurable = guest instanceof Uint8Array;
    if (guest instanceof Uint8Array) this.#heap = guest;
    else this.#guest = guest;
  }

  /** Whether it is durable. */
  get isDurable(): boolean {
    return this.#isDurable;
  }

  /**
   * Writes it, once. If that fails, it goes on waiting in memory, and the operator is warned.
   *
   * @param parts Returns what is written with it.
   */
  suspend(parts: () => SuspendedParts): Promise<void> {
    if (this.#suspension === undefined || this.#isDurable) return Promise.resolve();
    this.#suspending ??= this.#suspend(this.#suspension, parts).catch((thrown: unknown) => {
      process.emitWarning(`A waiting call could not be suspended: ${describeThrown(thrown).message}`, {
        code: "SANDGATE_NOT_SUSPENDED",
      });
    });
    return this.#suspending;
  }

  async #suspend(suspension: TaskSuspension, parts: () => SuspendedParts): Promise<void> {
    const guest = this.#guest as SuspendedGuest;
    const template = this.#template();
    const written = parts();
    const heap = await compressGuest(guest, template.dictionary);
    if (heap.length > MAX_HEAP_BYTES) {
      const most = MAX_HEAP_BYTES / 1_024 / 1_024;
      throw new Error(
        `its heap takes ${heap.length} bytes compressed, and ${most} MiB is the most that is written`,
      );
    }
    await suspension.suspend({ ...written, heap, template: template.digest }, template);
    this.#isDurable = true;
    this.#heap = heap;
    this.#guest = undefined;
    releaseGuest(guest);
    this.#onSize(heap.length);
  }

  /**
   * Returns the guest, which goes on now, and never again from what was written.
   *
   * @throws as a rejection, if it must not go on.
   */
  async resume(): Promise<SuspendedGuest> {
    await this.#suspending;
    if (!this.#isDurable || this.#suspension === undefined) {
      this.#guest ??= await this.#decompress();
      return this.#guest;
    }
    // Both at the same time: a store that syncs its disk takes as long as decompressing.
    const taking = this.#suspension.resume();
    const decompressing = this.#guest ?? this.#decompress();
    const [taken, guest] = await Promise.allSettled([taking, decompressing]);
    // Why it must not go on says more than what is wrong with it.
    if (taken.status === "rejected") throw taken.reason;
    if (guest.status === "rejected") throw guest.reason;
    this.#guest = guest.value;
    return guest.value;
  }

  #decompress(): Promise<SuspendedGuest> {
    return decompressGuest(this.#heap as Uint8Array, this.#template().dictionary, this.#maxBytes);
  }

  /** Releases what it occupies. */
  async release(): Promise<void> {
    await this.#suspending;
    if (this.#guest !== undefined) releaseGuest(this.#guest);
    this.#onSize(0);
  }
}

/** Bytes that a guest occupies. */
export function bytesOf(guest: SuspendedGuest | Uint8Array): number {
  return guest instanceof Uint8Array ? guest.length : sizeOf(guest);
}
