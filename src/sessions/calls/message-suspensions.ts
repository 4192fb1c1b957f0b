import type { MaybePromise } from "../../base/promises.ts";
import type {
  CallPlace,
  CallSuspension,
  CallSuspensions,
  ClaimedCall,
  ReopenedSuspension,
  SuspendableCall,
  SuspendedCall,
  WaitingCall,
} from "../../engine/call/suspension.ts";
import type { NestedResult } from "../../sandboxes/contract/sandbox.ts";
import { isTaken, type SuspendedTask, type SuspendedTemplate } from "../../sandboxes/contract/suspension.ts";

/** The suspended programs of one message. Those that wait when the process ends continue in the next one. */
export class MessageSuspensions implements CallSuspensions {
  readonly #suspensions: CallSuspensions;
  readonly #isLeaving: () => boolean;
  /** The calls that are suspended while the process ends. */
  readonly #left = new Set<string>();
  /** The calls that are suspended now. */
  readonly #waiting = new Set<string>();
  /** The calls that another process runs. */
  readonly #lost = new Set<string>();
  readonly #suspendSlot: (callId: string) => () => Promise<void>;
  readonly #mayGoOn: (() => Promise<void>) | undefined;

  /**
   * @param isLeaving Whether the process is ending.
   * @param suspendSlot Releases the session's slot of a call while it is suspended. Returns a function that waits for one again.
   * @param mayGoOn Awaited before a suspended call continues. Rejects if it continues in another process. Default: it continues.
   */
  constructor(
    suspensions: CallSuspensions,
    isLeaving: () => boolean,
    suspendSlot: (callId: string) => () => Promise<void>,
    mayGoOn?: () => Promise<void>,
  ) {
    this.#suspensions = suspensions;
    this.#isLeaving = isLeaving;
    this.#suspendSlot = suspendSlot;
    this.#mayGoOn = mayGoOn;
  }

  /** Whether a call continues in the next process, whatever its outcome here. */
  hasLeft(callId: string): boolean {
    return this.#left.has(callId);
  }

  /** Whether another process runs a call, or the call whose tool makes it, so that its outcome here is ignored. */
  isLost(callId: string): boolean {
    return [...this.#lost].some((id) => `${callId}/`.startsWith(`${id}/`));
  }

  /** Whether a call is suspended now, so that it can continue in the next process. */
  isWaiting(callId: string): boolean {
    return this.#waiting.has(callId);
  }

  begin(call: SuspendableCall): CallSuspension {
    return this.#wrapped(call, this.#suspensions.begin(call), false);
  }

  async reopen(call: SuspendableCall): Promise<ReopenedSuspension> {
    try {
      return this.#wrapped(call, await this.#suspensions.reopen(call), true) as ReopenedSuspension;
    } catch (thrown) {
      if (isTaken(thrown)) this.#lost.add(call.callId);
      throw thrown;
    }
  }

  #wrapped(call: CallPlace, suspension: CallSuspension, isReopened: boolean): CallSuspension {
    const setWaiting = (isWaiting: boolean): void => {
      if (isWaiting) this.#waiting.add(call.callId);
      else this.#waiting.delete(call.callId);
    };
    return new MessageSuspension(suspension, isReopened, {
      isLeaving: this.#isLeaving,
      setWaiting,
      onLeft: () => this.#left.add(call.callId),
      onLost: () => this.#lost.add(call.callId),
      suspendSlot: () => this.#suspendSlot(call.callId),
      mayGoOn: this.#mayGoOn,
    });
  }

  isSuspended(place: CallPlace): MaybePromise<boolean> {
    return this.#suspensions.isSuspended(place);
  }

  waiting(): MaybePromise<readonly WaitingCall[]> {
    return this.#suspensions.waiting();
  }

  forget(place: CallPlace): MaybePromise<void> {
    if (!this.#isLeaving()) return this.#suspensions.forget(place);
    this.#left.add(place.callId);
  }

  clean(isLost: (call: SuspendedCall) => boolean): MaybePromise<void> {
    return this.#suspensions.clean(isLost);
  }
}

/** The part of its message that a suspension uses. */
interface Surroundings {
  readonly isLeaving: () => boolean;
  /** Called when it is written, so that the call can continue from it, and when it is resumed. */
  readonly setWaiting: (isWaiting: boolean) => void;
  readonly onLeft: () => void;
  readonly onLost: () => void;
  readonly suspendSlot: () => () => Promise<void>;
  readonly mayGoOn: (() => Promise<void>) | undefined;
}

/** A suspension that is not removed when the process ends. */
class MessageSuspension implements CallSuspension {
  readonly #suspension: CallSuspension;
  readonly #surroundings: Surroundings;
  /** Whether it is written, so that the call can continue from it. */
  #isWaiting: boolean;
  #resume: (() => Promise<void>) | undefined;

  constructor(suspension: CallSuspension, isWaiting: boolean, surroundings: Surroundings) {
    this.#suspension = suspension;
    this.#isWaiting = isWaiting;
    this.#surroundings = surroundings;
    surroundings.setWaiting(isWaiting);
    if (isWaiting) this.#resume = surroundings.suspendSlot();
  }

  get isLost(): boolean {
    return this.#suspension.isLost;
  }

  get from(): CallSuspension["from"] {
    return this.#suspension.from;
  }

  get restored(): CallSuspension["restored"] {
    return this.#suspension.restored;
  }

  get sinceMs(): number {
    return this.#suspension.sinceMs;
  }

  get afterMs(): number {
    return this.#suspension.afterMs;
  }

  async suspend(task: SuspendedTask, template: SuspendedTemplate): Promise<void> {
    await this.#orLost(this.#suspension.suspend(task, template));
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#surroundings.setWaiting(true);
    // It may wait for days.
    this.#resume = this.#surroundings.suspendSlot();
  }

  async resume(): Promise<void> {
    await this.#goesOn();
    await this.#resume?.();
    this.#isWaiting = false;
    this.#surroundings.setWaiting(false);
    await this.#orLost(this.#suspension.resume());
  }

  async #goesOn(): Promise<void> {
    try {
      await this.#surroundings.mayGoOn?.();
    } catch (error) {
      this.#surroundings.onLost();
      throw error;
    }
  }

  async #orLost(done: Promise<void>): Promise<void> {
    try {
      await done;
    } finally {
      if (this.isLost) this.#surroundings.onLost();
    }
  }

  template(digest: string): Promise<Uint8Array | undefined> {
    return this.#suspension.template(digest);
  }

  claim(call: ClaimedCall, again: boolean): MaybePromise<void> {
    if (!this.#isWaiting || this.#surroundings.mayGoOn === undefined)
      return this.#suspension.claim(call, again);
    return this.#goesOn().then(() => this.#suspension.claim(call, again));
  }

  /** A call that is cancelled since the process ends is made again in the next one, or is unknown there. */
  end(call: ClaimedCall, result: NestedResult): MaybePromise<void> {
    const isCancelled = "error" in result && result.error.code === "cancelled";
    return isCancelled && this.#surroundings.isLeaving() ? undefined : this.#suspension.end(call, result);
  }

  known(number: number): MaybePromise<"begun" | NestedResult | undefined> {
    return this.#suspension.known(number);
  }

  close(): MaybePromise<void> {
    if (!this.#isWaiting || !this.#surroundings.isLeaving()) return this.#suspension.close();
    this.#surroundings.onLeft();
  }
}
