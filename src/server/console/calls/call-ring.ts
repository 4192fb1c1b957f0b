import type { DispatchEvent } from "../../../engine/call/events.ts";
import { type CallProgress, progressOf } from "../../../engine/reporting/progress.ts";
import type { PolicyRequest, RuntimePolicy } from "../../../policy/policy.ts";
import type { SideEffects } from "../../../tool/side-effects.ts";
import { type CalledSession, type CallOrigin, ConsoleCall } from "./console-call.ts";

/** The names of a call, and what distinguishes it from another one that has the same. */
interface NamedCall {
  readonly key: string;
  /** Absent for events that are not of the call itself, such as those about questions to people. */
  readonly progress: CallProgress | undefined;
  readonly requestId?: string | undefined;
}

/** The calls that have not ended. Several can have the same names at the same time. */
class RunningCalls {
  readonly #byKey = new Map<string, ConsoleCall[]>();

  add(record: ConsoleCall, progress: CallProgress | undefined): void {
    const same = this.#byKey.get(record.key);
    if (same === undefined) this.#byKey.set(record.key, [record]);
    else same.push(record);
    record.progress = progress;
  }

  delete(record: ConsoleCall): void {
    const same = this.#byKey.get(record.key);
    const at = same?.indexOf(record) ?? -1;
    if (same === undefined || at < 0) return;
    if (same.length === 1) this.#byKey.delete(record.key);
    else same.splice(at, 1);
  }

  /** Returns the call that something happens to. */
  find({ key, progress, requestId }: NamedCall): ConsoleCall | undefined {
    const same = this.#byKey.get(key);
    if (same === undefined) return undefined;
    if (progress !== undefined) {
      const own = same.find((record) => record.progress === progress);
      if (own !== undefined) return own;
      const unclaimed = same.find((record) => record.progress === undefined);
      if (unclaimed !== undefined) unclaimed.progress = progress;
      return unclaimed;
    }
    const asked = requestId === undefined ? undefined : same.find((record) => record.requestId === requestId);
    // A question is about a call that does not wait for another one.
    return (
      asked ?? same.findLast(({ state }) => requestId === undefined || state === "running") ?? same.at(-1)
    );
  }
}

/** Bounds of the calls that are retained. */
export interface CallRingBounds {
  readonly calls: number;
  readonly bytes: number;
}

const BOUNDS: CallRingBounds = { calls: 10_000, bytes: 64 * 1_024 * 1_024 };

/** Looks up what events do not contain. */
export interface CallFacts {
  /** The class of a tool; `undefined` if the tool does not exist. */
  readonly sideEffectsOf: (toolName: string) => SideEffects | undefined;
  readonly sessionOf: (sessionId: string) => CalledSession | undefined;
}

/**
 * The latest calls of all sessions and of the executor. An event costs the same however many calls are retained and however many
 * clients read them: a client only knows how far it has read.
 */
export class CallRing {
  readonly #bounds: CallRingBounds;
  readonly #facts: CallFacts;
  /** By their numbers, which have no gaps. */
  readonly #calls = new Map<number, ConsoleCall>();
  readonly #running = new RunningCalls();
  #first = 1;
  #next = 1;
  #bytes = 0;
  #changes = 0;
  #latest: ConsoleCall | undefined;
  readonly #onChange: () => void;

  /** @param onChange Called for each event. */
  constructor(facts: CallFacts, onChange: () => void, bounds: CallRingBounds = BOUNDS) {
    this.#facts = facts;
    this.#onChange = onChange;
    this.#bounds = bounds;
  }

  /** Counts the changes of all calls. */
  get changes(): number {
    return this.#changes;
  }

  get size(): number {
    return this.#calls.size;
  }

  /** A policy is asked about a call. */
  ask(origin: CallOrigin, request: PolicyRequest, policy: RuntimePolicy): void {
    const { callId, sessionId, principal, tool } = request;
    const progress = progressOf(request);
    const record =
      this.#running.find({ key: keyOf(origin, request), progress }) ??
      this.#add(
        origin,
        { callId, sessionId, toolName: tool.name, principal, at: progress?.startedAt ?? Date.now() },
        progress,
      );
    // Without its progress, a request can be that of another call with the same id.
    if (progress === undefined && record.progress !== undefined && record.decided !== undefined) return;
    record.ask(request, policy);
    this.#count(record);
  }

  /** Something happens to a call. */
  take(origin: CallOrigin, event: DispatchEvent): void {
    const key = keyOf(origin, event);
    const started = event.type === "tool.decided" ? event.at - event.durationMs : undefined;
    const ended = "execution" in event ? event.at - event.execution.durationMs : undefined;
    const progress = progressOf(event);
    const requestId = "requestId" in event ? event.requestId : undefined;
    const record =
      this.#running.find({ key, progress, requestId }) ??
      this.#add(origin, { ...event, at: progress?.startedAt ?? started ?? ended ?? event.at }, progress);
    // The policy was asked first, which does not know about it.
    record.parent ??= this.#parentOf(origin, event);
    if (origin === "session") record.session ??= this.#facts.sessionOf(event.sessionId);
    record.take(event);
    if (record.hasEnded) this.#running.delete(record);
    this.#count(record);
    this.#touch(record);
  }

  get(number: number): ConsoleCall | undefined {
    return this.#calls.get(number);
  }

  /** The calls before one, the newest first. */
  *before(number: number = this.#next): Generator<ConsoleCall> {
    for (let at = Math.min(number, this.#next) - 1; at >= this.#first; at--) {
      const record = this.#calls.get(at);
      if (record !== undefined) yield record;
    }
  }

  /** The calls that have changed since then, those that changed last first. */
  *changedSince(changes: number): Generator<ConsoleCall> {
    for (let record = this.#latest; record !== undefined && record.changed > changes; record = record.older)
      yield record;
  }

  #add(
    origin: CallOrigin,
    event: Pick<DispatchEvent, "callId" | "sessionId" | "toolName" | "at" | "parent"> & {
      readonly principal?: DispatchEvent["principal"] | undefined;
    },
    progress: CallProgress | undefined,
  ): ConsoleCall {
    const key = keyOf(origin, event);
    const record = new ConsoleCall(this.#next++, origin, key, event, {
      parent: this.#parentOf(origin, event),
      sideEffects: this.#facts.sideEffectsOf(event.toolName) ?? "none",
    });
    this.#calls.set(record.number, record);
    this.#running.add(record, progress);
    this.#touch(record);
    return record;
  }

  /** Returns the number of the calling call; `undefined` if no tool made the call. */
  #parentOf(
    origin: CallOrigin,
    { sessionId, parent }: Pick<DispatchEvent, "sessionId" | "parent">,
  ): number | undefined {
    return parent === undefined
      ? undefined
      : this.#running.find({ key: keyOf(origin, { sessionId, callId: parent }), progress: undefined })
          ?.number;
  }

  #count(record: ConsoleCall): void {
    const { size } = record;
    this.#bytes += size - record.bytes;
    record.bytes = size;
    while (this.#calls.size > this.#bounds.calls || this.#bytes > this.#bounds.bytes) {
      const oldest = this.#calls.get(this.#first++);
      if (oldest !== undefined) this.#forget(oldest);
    }
  }

  #forget(record: ConsoleCall): void {
    this.#calls.delete(record.number);
    this.#running.delete(record);
    this.#bytes -= record.bytes;
    this.#unlink(record);
  }

  /** Makes a call the one that changed last. */
  #touch(record: ConsoleCall): void {
    // It may have been forgotten already, if it is larger than the ring.
    if (!this.#calls.has(record.number)) return;
    record.changed = ++this.#changes;
    if (this.#latest !== record) {
      this.#unlink(record);
      record.older = this.#latest;
      if (this.#latest !== undefined) this.#latest.newer = record;
      this.#latest = record;
    }
    this.#onChange();
  }

  #unlink(record: ConsoleCall): void {
    if (record.newer !== undefined) record.newer.older = record.older;
    else if (this.#latest === record) this.#latest = record.older;
    if (record.older !== undefined) record.older.newer = record.newer;
    record.older = undefined;
    record.newer = undefined;
  }
}

/** Ids of calls are unique within their session. */
function keyOf(
  origin: CallOrigin,
  { sessionId, callId }: Pick<DispatchEvent, "sessionId" | "callId">,
): string {
  return `${origin} ${sessionId.length} ${sessionId} ${callId}`;
}
