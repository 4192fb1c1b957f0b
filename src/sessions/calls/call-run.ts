import type { MaybePromise } from "../../base/promises.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import { cutOffRefusal } from "../../engine/dispatch-turn.ts";
import { dispatchNow, refuseCall } from "../../engine/pipeline.ts";
import type { InquiryRecord } from "../confirmations/inquiry.ts";
import type { CallIdentity } from "../store/call-identity.ts";
import { applyAnswer } from "./asking/asking.ts";
import type { MessageCore } from "./core.ts";
import { abandonedExecution } from "./ended-calls.ts";
import type { MessageCall } from "./message-calls.ts";

type Result = ToolExecution | null;

/** A call of the model from its arrival to its result. While it runs, it has a place in the session's lanes. */
export class CallRun {
  readonly received: MessageCall;
  /** Set by the message when a store needs it: it takes a digest of the call. */
  identity: CallIdentity | undefined;
  readonly #message: MessageCore;
  /** How many calls of the tool may run at once. */
  readonly #most: number;
  #hasPlace = false;
  /** Whether another call can have the session's part of the place. */
  #isLent = false;
  #reclaiming: Promise<void> | undefined;
  #hasEnded = false;
  #resolve: ((result: Result) => void) | undefined;

  constructor(received: MessageCall, message: MessageCore) {
    this.received = received;
    this.#message = message;
    this.#most = message.session.placesOf(received.name);
  }

  /** Runs the call as soon as there is a place for it. Resolves to its result; never rejects. */
  start(): Promise<Result> {
    const { received } = this;
    const { session, context, refusal } = this.#message;
    if (refusal !== undefined) return this.#run(() => refuseCall(received, context, refusal));
    if (received.isCutOff) return this.#run(() => refuseCall(received, context, cutOffRefusal()));
    // The answers about a suspended call were applied before it began.
    if (received.isSuspended !== true) {
      const asked = this.#message.askedBefore(received.id);
      if (asked instanceof Promise || asked.length > 0) return this.#startAsked(asked);
    }
    if (!session.lanes.take(received.name, this.#most)) return this.#startLater();
    this.#hasPlace = true;
    return this.#dispatch();
  }

  /** Starts a call about which an earlier process asked: the answer holds, whatever is decided on the call now. */
  async #startAsked(asked: MaybePromise<readonly InquiryRecord[]>): Promise<Result> {
    try {
      for (const { inquiry, resolution } of await asked)
        await applyAnswer(this.#message.session, inquiry, resolution);
    } catch {
      // The store failed. The call applies the answer once more before it runs, and is denied if that fails, too.
    }
    return this.#startLater();
  }

  async #startLater(): Promise<Result> {
    await this.#awaitPlace();
    // A call that was cancelled meanwhile has no place, and the first step of the dispatch ends it.
    return this.#dispatch();
  }

  #dispatch(): Promise<Result> {
    return this.#run(() => dispatchNow(this.received, this.#message.context));
  }

  /** The promise is resolved before the dispatch ends if the call is abandoned. */
  #run(dispatch: () => Result | Promise<Result>): Promise<Result> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      const result = dispatch();
      if (result instanceof Promise) result.then(this.#end);
      else this.#end(result);
    });
  }

  /** Gives the place to another call while a person is asked about this one. */
  leavePlace(): void {
    if (!this.#hasPlace) return;
    this.#hasPlace = false;
    const { lanes } = this.#message.session;
    if (this.#isLent) lanes.releaseTool(this.received.name, this.#most);
    else lanes.release(this.received.name, this.#most);
    this.#isLent = false;
  }

  /** Waits for a place, unless the call is cancelled first. */
  async #awaitPlace(): Promise<void> {
    const { session, turn } = this.#message;
    const { name } = this.received;
    if (!(await session.lanes.wait(name, this.#most, turn.signal))) return;
    // The call can end between the moment in which it gets the place and this one.
    if (this.#hasEnded) session.lanes.release(name, this.#most);
    else this.#hasPlace = true;
  }

  /** Waits for a place after {@link leavePlace}, in order to go on. */
  async returnToPlace(): Promise<void> {
    if (!this.#hasPlace && !this.#hasEnded) await this.#awaitPlace();
  }

  /** Lends the place of the session, but not that of the tool, to another call while the tool asks a person. */
  lendPlace(): void {
    if (!this.#hasPlace || this.#isLent) return;
    this.#isLent = true;
    this.#message.session.lanes.lend();
  }

  /** Waits for a place of the session after {@link lendPlace}, unless the call is cancelled first. */
  reclaimPlace(): Promise<void> {
    if (!this.#isLent) return Promise.resolve();
    this.#reclaiming ??= this.#reclaim();
    return this.#reclaiming;
  }

  async #reclaim(): Promise<void> {
    const { session, turn } = this.#message;
    const hasPlace = await session.lanes.reclaim(turn.signal);
    this.#reclaiming = undefined;
    if (!hasPlace) return;
    // The call can have ended meanwhile, and given back what it had.
    if (this.#isLent) this.#isLent = false;
    else session.lanes.lend();
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Ends a cancelled call whose tool does not stop. What it returns later is dropped. */
  abandon(): void {
    if (this.#hasEnded) return;
    const { name, id } = this.received;
    process.emitWarning(`Call '${id}' of tool '${name}' still runs long after it was cancelled`, {
      code: "SANDGATE_CALL_ABANDONED",
    });
    this.#end(abandonedExecution(this.received));
  }

  readonly #end = (result: Result): void => {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.leavePlace();
    if (result?.success === true) this.#message.session.provenance?.observe(result);
    const kept = this.#message.keep(this.received, result);
    if (kept === undefined) this.#settle(result);
    else kept.then(() => this.#settle(result));
  };

  #settle(result: Result): void {
    this.#message.endCall();
    this.#resolve?.(result);
  }
}
