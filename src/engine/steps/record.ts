import { toPromise } from "../../base/promises.ts";
import { describeThrown } from "../../base/thrown.ts";
import { race } from "../../base/timers.ts";
import type {
  CallJournal,
  CallRecord,
  DecidedRecord,
  DeniedRecord,
  DispatchedRecord,
  EndedRecord,
} from "../call/journal.ts";
import { callDigest } from "../call.ts";
import { notRecordedText } from "../errors.ts";
import { cancelled, Refusal } from "../refusal.ts";
import type { CallState, PlacedCall } from "../state.ts";
import { shownName } from "../state.ts";

/**
 * Records the call before its sandbox gets it. It waits until the record is durable, unless the tool declares
 * that it changes nothing, and the journal does not ask for more.
 *
 * @throws {Refusal} `sandbox_unavailable` if the record cannot be written; `cancelled`, even while it is
 *   being written.
 */
export function record(call: PlacedCall): undefined | Promise<undefined> {
  const { suspension, claim } = call.caller ?? {};
  if (suspension === undefined || claim === undefined) return recordBegin(call);
  try {
    const { number, isAgain } = claim;
    const claimed = suspension.claim({ number, digest: callDigest(call.received) }, isAgain);
    return claimed instanceof Promise ? beginLater(claimed, call) : recordBegin(call);
  } catch (thrown) {
    throw notRecorded(call, thrown);
  }
}

/** A call of a tool that can be suspended is claimed before it runs, so that it is not made twice. */
async function beginLater(claimed: Promise<void>, call: PlacedCall): Promise<undefined> {
  await claimed.catch((thrown: unknown) => {
    throw notRecorded(call, thrown);
  });
  if (call.ctx.signal?.aborted) throw cancelled();
  return recordBegin(call);
}

function recordBegin(call: PlacedCall): undefined | Promise<undefined> {
  const { journal } = call.ctx;
  if (journal === undefined) return undefined;
  try {
    const begun = decidedRecord(call) as DispatchedRecord;
    const written = journal.begin(call.received.isSuspended ? { ...begun, isSuspended: true } : begun);
    call.isRecorded = true;
    if (written === undefined) return undefined;
    const durable = toPromise(written);
    const { sideEffects } = call.registered.subject;
    if (journal.awaitsEvery === true || (sideEffects !== "none" && sideEffects !== "read"))
      return waitFor(durable, call);
    // The journal itself reports the failure, and refuses the next record.
    durable.catch(() => {});
    return undefined;
  } catch (thrown) {
    throw notRecorded(call, thrown);
  }
}

async function waitFor(durable: Promise<unknown>, call: PlacedCall): Promise<undefined> {
  const end = await race(
    durable.then(() => "durable"),
    { signals: [call.ctx.signal] },
  ).catch((thrown: unknown) => {
    call.isRecorded = false;
    throw notRecorded(call, thrown);
  });
  // The record may still be written. Its end will then say that nothing ran.
  if (end === "aborted") throw cancelled();
}

function notRecorded(call: PlacedCall, thrown: unknown): Refusal {
  const { detail } = describeThrown(thrown);
  return new Refusal("sandbox_unavailable", notRecordedText(shownName(call)), { detail });
}

/** What every record of the call has. */
export function callRecord({ received, ctx, principal, caller }: CallState): CallRecord {
  const { sessionId, turnId, messageId } = ctx;
  return {
    callId: received.id,
    sessionId,
    toolName: received.name,
    ...(turnId !== undefined && { turnId }),
    ...(messageId !== undefined && { messageId }),
    ...(principal !== undefined && { principal }),
    ...(caller !== undefined && { parent: caller.callId }),
  };
}

/** What is known of the call after its last step. */
export function decidedRecord(call: CallState): DecidedRecord {
  const { registered, canonical, decision, policyRevision, confirmation, answer, grant } = call;
  const decidedAt = call.decisionTime?.ifRead;
  return {
    ...callRecord(call),
    rules: decision?.rules ?? [],
    ...(canonical !== undefined && { canonical }),
    ...(registered !== undefined && {
      sideEffects: registered.subject.sideEffects,
      definitionDigest: registered.definition.digest,
    }),
    ...(decision !== undefined && { decision: decision.decision }),
    ...(decision !== undefined && decidedAt !== undefined && { decidedAt }),
    ...(decision?.policyDecision !== undefined && { policyDecision: decision.policyDecision }),
    ...(decision?.decision === "deny" && decision.near !== undefined && { near: decision.near }),
    ...(decision !== undefined && policyRevision !== undefined && { policyRevision }),
    ...(confirmation !== undefined && { confirmation }),
    ...(answer !== undefined && { answer }),
    ...(grant !== undefined && { grant }),
  };
}

/** One thing that is done with the records of calls. `Of` is what is known of them besides. */
export interface RecordSink<Of> {
  /** Whether it begins before those above it are durable. Default: it waits for them. */
  readonly isAlongside?: true;
  /**
   * Called before a call runs. Returns a promise only if there is something to wait for.
   *
   * @throws if the call must not run, also as a rejection: the sinks below it are not called.
   */
  begin?(of: Of, record: DispatchedRecord): undefined | Promise<void>;
  /** Called with the end of a call that began. If it throws, the sinks below it are not called. */
  end?(of: Of, record: EndedRecord): unknown;
  /** Called with a call that does not run, even after `begin` has failed. */
  deny?(of: Of, record: DeniedRecord): unknown;
}

/** Does several things with each record of a call, one after the other. Only what the last of them returns of ends is returned. */
export class Recorder<Of> implements CallJournal {
  readonly #sinks: readonly RecordSink<Of>[];
  readonly #of: Of;
  /** Whether the engine waits for the records of every class. */
  readonly awaitsEvery: boolean;

  constructor(sinks: readonly RecordSink<Of>[], of: Of, awaitsEvery: boolean) {
    this.#sinks = sinks;
    this.#of = of;
    this.awaitsEvery = awaitsEvery;
  }

  begin(record: DispatchedRecord): undefined | Promise<void> {
    return this.#beginFrom(0, record);
  }

  #beginFrom(first: number, record: DispatchedRecord): undefined | Promise<void> {
    let durable: Promise<void> | undefined;
    for (let index = first; index < this.#sinks.length; index++) {
      const sink = this.#sinks[index] as RecordSink<Of>;
      if (durable !== undefined && sink.isAlongside !== true)
        return durable.then(() => this.#beginFrom(index, record));
      try {
        const written = sink.begin?.(this.#of, record);
        if (written !== undefined) durable = durable === undefined ? written : both(durable, written);
      } catch (error) {
        // The call is refused already. An unhandled rejection would end the process.
        durable?.catch(() => {});
        throw error;
      }
    }
    return durable;
  }

  end(record: EndedRecord): unknown {
    let written: unknown;
    for (const sink of this.#sinks) written = sink.end?.(this.#of, record);
    return written;
  }

  deny(record: DeniedRecord): unknown {
    let written: unknown;
    for (const sink of this.#sinks) written = sink.deny?.(this.#of, record);
    return written;
  }
}

async function both(one: Promise<void>, other: Promise<void>): Promise<void> {
  await Promise.all([one, other]);
}
