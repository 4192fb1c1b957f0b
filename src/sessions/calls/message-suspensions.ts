import type { MaybePromise } from "../../base/promises.ts";
import type {
  CallPlace,
  CallSuspension,
  CallSuspensions,
  ClaimedCall,
  KeptCall,
  ReopenedSuspension,
  SuspendableCall,
  WaitingCall,
} from "../../engine/call/suspension.ts";
import type { SuspendedTask, SuspendedTemplate } from "../../sandboxes/contract/suspension.ts";
import type { NestedResult } from "../../sandboxes/contract/task.ts";

/** The suspended programs of one message. What waits when the process ends goes on in the next one. */
export class MessageSuspensions implements CallSuspensions {
  readonly #suspensions: CallSuspensions;
  readonly #isLeaving: () => boolean;
  /** The calls that are suspended while the process ends. */
  readonly #left = new Set<string>();
  /** The calls that are suspended now. */
  readonly #waiting = new Set<string>();
  readonly #lendPlace: (callId: string) => () => Promise<void>;

  /**
   * @param isLeaving Whether the process is ending.
   * @param lendPlace Lends the session's place of a call while it is suspended. Returns a function that waits for one again.
   */
  constructor(
    suspensions: CallSuspensions,
    isLeaving: () => boolean,
    lendPlace: (callId: string) => () => Promise<void>,
  ) {
    this.#suspensions = suspensions;
    this.#isLeaving = isLeaving;
    this.#lendPlace = lendPlace;
  }

  /** Whether a call goes on in the next process, whatever came of it here. */
  hasLeft(callId: string): boolean {
    return this.#left.has(callId);
  }

  /** Whether a call is suspended now, so that it can go on in the next process. */
  isWaiting(callId: string): boolean {
    return this.#waiting.has(callId);
  }

  begin(call: SuspendableCall): CallSuspension {
    return this.#kept(call, this.#suspensions.begin(call), false);
  }

  async reopen(call: SuspendableCall): Promise<ReopenedSuspension> {
    return this.#kept(call, await this.#suspensions.reopen(call), true) as ReopenedSuspension;
  }

  #kept(call: CallPlace, suspension: CallSuspension, isReopened: boolean): CallSuspension {
    const setWaiting = (isWaiting: boolean): void => {
      if (isWaiting) this.#waiting.add(call.callId);
      else this.#waiting.delete(call.callId);
    };
    return new MessageSuspension(suspension, isReopened, {
      isLeaving: this.#isLeaving,
      setWaiting,
      onLeft: () => this.#left.add(call.callId),
      lendPlace: () => this.#lendPlace(call.callId),
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

  clean(isLost: (call: KeptCall) => boolean): MaybePromise<void> {
    return this.#suspensions.clean(isLost);
  }
}

/** What a suspension needs of its message. */
interface Surroundings {
  readonly isLeaving: () => boolean;
  /** Takes note of whether it is written, so that the call can go on from it. */
  readonly setWaiting: (isWaiting: boolean) => void;
  readonly onLeft: () => void;
  readonly lendPlace: () => () => Promise<void>;
}

/** A suspension that stays when the process ends. */
class MessageSuspension implements CallSuspension {
  readonly #suspension: CallSuspension;
  readonly #surroundings: Surroundings;
  /** Whether it is written, so that the call can go on from it. */
  #isWaiting: boolean;
  #reclaim: (() => Promise<void>) | undefined;

  constructor(suspension: CallSuspension, isWaiting: boolean, surroundings: Surroundings) {
    this.#suspension = suspension;
    this.#isWaiting = isWaiting;
    this.#surroundings = surroundings;
    surroundings.setWaiting(isWaiting);
    if (isWaiting) this.#reclaim = surroundings.lendPlace();
  }

  get from(): CallSuspension["from"] {
    return this.#suspension.from;
  }

  get kept(): CallSuspension["kept"] {
    return this.#suspension.kept;
  }

  get sinceMs(): number {
    return this.#suspension.sinceMs;
  }

  get afterMs(): number {
    return this.#suspension.afterMs;
  }

  async suspend(task: SuspendedTask, template: SuspendedTemplate): Promise<void> {
    await this.#suspension.suspend(task, template);
    this.#isWaiting = true;
    this.#surroundings.setWaiting(true);
    // It may wait for days.
    this.#reclaim = this.#surroundings.lendPlace();
  }

  async resume(): Promise<void> {
    await this.#reclaim?.();
    this.#isWaiting = false;
    this.#surroundings.setWaiting(false);
    await this.#suspension.resume();
  }

  template(digest: string): Promise<Uint8Array | undefined> {
    return this.#suspension.template(digest);
  }

  claim(call: ClaimedCall, again: boolean): MaybePromise<void> {
    return this.#suspension.claim(call, again);
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
