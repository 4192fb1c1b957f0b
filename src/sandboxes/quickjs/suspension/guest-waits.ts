import type { GuestMemory } from "../../contract/guest-memory.ts";
import type { FailedOutcome, SandboxOutcome } from "../../contract/outcome.ts";
import type { SandboxTask } from "../../contract/sandbox.ts";
import type { SuspendedGuest } from "../engine/suspended-guest.ts";
import { bytesOf, type SuspendedParts, type TemplateBytes, WaitingGuest } from "./waiting-guest.ts";

/** Maximum number of waits of a call for its timers alone: each suspends the guest and resumes it. */
const MAX_TIMER_WAITS = 1_000;

/** Why a guest cannot wait. */
export type WaitRefusal =
  | Pick<FailedOutcome, "status" | "message" | "userVisible">
  | Omit<Extract<SandboxOutcome, { readonly status: "limit_exceeded" }>, "effect" | "used">;

const NO_ROOM_TO_WAIT: WaitRefusal = Object.freeze({
  status: "limit_exceeded",
  limit: "memoryBytes",
  message:
    "Tool could not wait for its requests: waiting calls have all the memory of the session (64 MiB), its principal (128 MiB) or all (256 MiB). Try again later",
});

const TOO_MANY_WAITS: WaitRefusal = Object.freeze({
  status: "failed",
  userVisible: true,
  message: "Tool waited for timers 1,000 times, the most that a call can",
});

/** The parts of a call that its waits need. */
export interface WaitingCall {
  readonly task: SandboxTask;
  /** The memory that all waiting calls share. */
  readonly budget: GuestMemory;
  /** The size up to which the guest's memory can grow. */
  readonly maxBytes: number;
  readonly template: () => TemplateBytes;
  /** Returns the data that is stored with the guest when it is suspended. */
  readonly parts: () => SuspendedParts;
}

/**
 * The waits of a call's guest: reserves memory for the guest, and suspends it, so that it outlives its
 * process.
 */
export class GuestWaits {
  readonly #call: WaitingCall;
  /** The guest while it waits. */
  #waiting: WaitingGuest | undefined;
  #wakeMs: number | undefined;
  #timerWaits: number;
  /** Bytes that are reserved for the guest while it waits. */
  #reserved = 0;
  /** Set while a call waits for the guest to be suspended, which runs at the moment. */
  #wanted: PromiseWithResolvers<void> | undefined;

  /** @param timerWaits How often the call waited for its timers alone, in earlier processes too. */
  constructor(call: WaitingCall, timerWaits: number) {
    this.#call = call;
    this.#timerWaits = timerWaits;
  }

  /** Milliseconds of wall time until the first timer of the waiting guest is due; `undefined` if it has none. */
  get wakeMs(): number | undefined {
    return this.#wakeMs;
  }

  get timerWaits(): number {
    return this.#timerWaits;
  }

  /** Bytes that are reserved for the waiting guest. */
  get reserved(): number {
    return this.#reserved;
  }

  /** Lets the call outlive its process before a person is asked about a call that its tool makes; `undefined` if it cannot. */
  get persist(): (() => Promise<void>) | undefined {
    if (this.#call.task.suspension === undefined) return undefined;
    return async () => {
      if (this.#waiting !== undefined) return this.#suspend();
      this.#wanted ??= Promise.withResolvers();
      return this.#wanted.promise;
    };
  }

  /**
   * Begins a wait of the guest.
   *
   * @param guest As the bytes of an earlier process, or in memory.
   * @returns why it cannot wait; `undefined` if it can.
   */
  wait(guest: SuspendedGuest | Uint8Array, wakeMs: number | undefined): WaitRefusal | undefined {
    if (this.#timerWaits > MAX_TIMER_WAITS) return TOO_MANY_WAITS;
    if (!this.#reserve(bytesOf(guest))) return NO_ROOM_TO_WAIT;
    const { task, template, maxBytes } = this.#call;
    this.#wakeMs = wakeMs;
    this.#waiting = new WaitingGuest(guest, task.suspension, template, maxBytes, (bytes) =>
      this.#reserve(bytes),
    );
    return undefined;
  }

  /**
   * Suspends the waiting guest: at once, or after `afterMs`.
   *
   * @param atOnce Whether a person is asked about one of its calls.
   * @returns a function that cancels the delay.
   */
  begin(atOnce: boolean): () => void {
    if (atOnce || this.#wanted !== undefined) void this.#suspend();
    const { suspension } = this.#call.task;
    if (suspension === undefined || this.#waiting?.isDurable === true) return () => {};
    const threshold = setTimeout(() => void this.#suspend(), suspension.afterMs).unref();
    return () => clearTimeout(threshold);
  }

  /**
   * Invalidates the stored state from which a running guest has continued: replaces it by the current state,
   * or takes it.
   *
   * @param atOnce As for {@link begin}.
   * @throws as a rejection, if it must not continue: another process has it, or the store failed.
   */
  async settle(atOnce: boolean): Promise<void> {
    if (atOnce && this.#waiting !== undefined) await this.#suspend();
    if (this.#waiting?.isDurable !== true) await this.#call.task.suspension?.resume();
  }

  /** Ends the wait, and returns the guest. */
  leave(): WaitingGuest {
    const waited = this.#waiting as WaitingGuest;
    this.#waiting = undefined;
    return waited;
  }

  /** Counts a wait for the first timer alone. */
  countTimerWait(): void {
    this.#timerWaits++;
  }

  /** Releases the memory of a guest that continues. */
  free(): void {
    this.#reserve(0);
  }

  /** Releases the guest that waits, if there is one. */
  async release(): Promise<void> {
    await this.#waiting?.release();
  }

  /** Resumes calls that wait for the suspension of a guest that has ended. */
  end(): void {
    this.#wanted?.resolve();
  }

  async #suspend(): Promise<void> {
    await this.#waiting?.suspend(this.#call.parts);
    this.#wanted?.resolve();
    this.#wanted = undefined;
  }

  /** Changes what is reserved for the waiting guest. Returns `false` if there is not enough memory. */
  #reserve(bytes: number): boolean {
    const { budget, task } = this.#call;
    budget.release(task, this.#reserved);
    const hasRoom = bytes === 0 || budget.reserve(task, bytes);
    this.#reserved = hasRoom ? bytes : 0;
    return hasRoom;
  }
}
