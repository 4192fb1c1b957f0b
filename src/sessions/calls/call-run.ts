import type { MaybePromise } from "../../base/promises.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import { type ReceivedCall, receiveCall, repeatedIds, type ToolCall, twiceText } from "../../engine/call.ts";
import { cutOffRefusal, dispatchNow, isCutOff, refuseCall } from "../../engine/engine.ts";
import type { CallIdentity } from "../../record/identity.ts";
import type { ConfirmationRecord } from "../confirmations/confirmation.ts";
import { applyAnswer } from "./call-confirmation.ts";
import type { MessageCore } from "./core.ts";
import { abandonedExecution } from "./ended-calls.ts";

/** A call of a message, as it arrived. */
export interface MessageCall extends ReceivedCall {
  /** Whether the provider cut off the message after the call, so that it must not run. */
  readonly isCutOff: boolean;
}

/** The ids of nested calls: that of their caller, and their number. */
const NESTED = /^(.*)\/[1-9][0-9]*$/s;

type Result = ToolExecution | null;

/** A call of the model from its arrival to its result. While it runs, it has a place in the session's lanes. */
export class CallRun {
  readonly received: MessageCall;
  /** Set by the message when a store needs it: it takes a digest of the call. */
  identity: CallIdentity | undefined;
  readonly #message: MessageCore;
  /** How many calls of the tool may run at once. */
  readonly #most: number;
  #hasSlot = false;
  /** Whether another call can have the session's part of the place. */
  #isSuspended = false;
  #resuming: Promise<void> | undefined;
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
    this.#hasSlot = true;
    return this.#dispatch();
  }

  /** Starts a call about which an earlier process asked: the answer applies, whatever is decided on the call now. */
  async #startAsked(asked: MaybePromise<readonly ConfirmationRecord[]>): Promise<Result> {
    try {
      for (const { confirmation, resolution } of await asked)
        await applyAnswer(this.#message.session, confirmation, resolution);
    } catch {
      // The store failed. The call applies the answer once more before it runs, and is denied if that fails, too.
    }
    return this.#startLater();
  }

  async #startLater(): Promise<Result> {
    await this.#acquireSlot();
    // A call that was cancelled meanwhile has no slot, and the first step of the dispatch ends it.
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

  /** Releases the slot to another call while a person is asked about this one. */
  releaseSlot(): void {
    if (!this.#hasSlot) return;
    this.#hasSlot = false;
    const { lanes } = this.#message.session;
    if (this.#isSuspended) lanes.releaseTool(this.received.name, this.#most);
    else lanes.release(this.received.name, this.#most);
    this.#isSuspended = false;
  }

  /** Waits for a slot, unless the call is cancelled first. */
  async #acquireSlot(): Promise<void> {
    const { session, turn } = this.#message;
    const { name } = this.received;
    if (!(await session.lanes.wait(name, this.#most, turn.signal))) return;
    // The call can end between the moment in which it gets the slot and this one.
    if (this.#hasEnded) session.lanes.release(name, this.#most);
    else this.#hasSlot = true;
  }

  /** Waits for a slot after {@link releaseSlot}, in order to continue. */
  async reacquireSlot(): Promise<void> {
    if (!this.#hasSlot && !this.#hasEnded) await this.#acquireSlot();
  }

  /** Releases the slot of the session, but not that of the tool, while the tool asks a person. */
  suspendSlot(): void {
    if (!this.#hasSlot || this.#isSuspended) return;
    this.#isSuspended = true;
    this.#message.session.lanes.suspend();
  }

  /** Waits for a slot of the session after {@link suspendSlot}, unless the call is cancelled first. */
  resumeSlot(): Promise<void> {
    if (!this.#isSuspended) return Promise.resolve();
    this.#resuming ??= this.#resume();
    return this.#resuming;
  }

  async #resume(): Promise<void> {
    const { session, turn } = this.#message;
    const hasSlot = await session.lanes.resume(turn.signal);
    this.#resuming = undefined;
    if (!hasSlot) return;
    // The call can have ended meanwhile, and given back what it had.
    if (this.#isSuspended) this.#isSuspended = false;
    else session.lanes.suspend();
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
    this.releaseSlot();
    if (result?.success === true) this.#message.session.provenance?.observe(result);
    const stored = this.#message.store(this.received, result);
    if (stored === undefined) this.#settle(result);
    else stored.then(() => this.#settle(result));
  };

  #settle(result: Result): void {
    this.#message.endCall();
    this.#resolve?.(result);
  }
}

/** Reads a call from an unchecked value. Never throws. */
export function messageCall(call: ToolCall): MessageCall {
  const { id, name, arguments: args, problem } = receiveCall(call);
  return { id, name, arguments: args, problem, isCutOff: isCutOff(call) };
}

/**
 * Reads the calls of a message. Those that have the id of another one are invalid: an answer could be for either. So are a
 * call with the id of a call that the tool of another one could make, and that other one.
 */
export function messageCalls(calls: readonly ToolCall[]): readonly MessageCall[] {
  const received = calls.map(messageCall);
  const ids = new Set(received.map(({ id }) => id));
  const ambiguous = ids.size === received.length ? new Set<string>() : repeatedIds(received);
  for (const id of ids) {
    for (let caller = callerOf(id); caller !== undefined; caller = callerOf(caller)) {
      if (ids.has(caller)) ambiguous.add(id).add(caller);
    }
  }
  if (ambiguous.size === 0) return received;
  return received.map((call) => (ambiguous.has(call.id) ? { ...call, problem: twiceText(call.id) } : call));
}

/** The id of the call that the tool of another call would have made with this id. */
function callerOf(id: string): string | undefined {
  return NESTED.exec(id)?.[1];
}

/** The calls as they are stored: of several with one id, the first. */
export function storedCalls(calls: readonly MessageCall[]): readonly ToolCall[] {
  if (calls.length === 1) return calls.map(storedCall);
  const byId = new Map<string, ToolCall>();
  for (const call of calls) if (!byId.has(call.id)) byId.set(call.id, storedCall(call));
  return [...byId.values()];
}

function storedCall({ id, name, arguments: args, problem, isCutOff }: MessageCall): ToolCall {
  if (problem === undefined && !isCutOff) return { id, name, arguments: args };
  return {
    id,
    name,
    arguments: args,
    ...(isCutOff && { cutOff: true as const }),
    ...(problem !== undefined && { problem }),
  };
}
