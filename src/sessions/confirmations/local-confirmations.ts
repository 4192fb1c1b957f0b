import { SteadyClock } from "../../base/steady-clock.ts";
import { DeadlineTimer, MAX_DELAY_MS } from "../../base/timers.ts";
import { type OptionNames, refuseUnknown } from "../../base/unknown-names.ts";
import { newId } from "../ids.ts";
import { SESSION_DEFAULTS } from "../levels.ts";
import {
  type AnswerOutcome,
  checkAnswer,
  isIn,
  outcomeOf,
  type PersonAnswer,
  resolutionOf,
} from "./answer.ts";
import type {
  CallKey,
  Confirmation,
  ConfirmationRecord,
  ConfirmationTable,
  NewConfirmation,
  Resolution,
} from "./confirmation.ts";
import {
  type ConfirmationBroker,
  type ConfirmationListener,
  ConfirmationListeners,
} from "./confirmation-broker.ts";
import {
  type AskOptions,
  type ConfirmationBounds,
  ConfirmationCounts,
  OpenConfirmation,
  RestoredConfirmations,
} from "./open-confirmations.ts";

const ANSWER_NAMES: OptionNames<PersonAnswer> = {
  decision: true,
  digest: true,
  by: true,
  answer: true,
  arguments: true,
  approval: true,
  reason: true,
  sessionId: true,
  turnId: true,
  signal: true,
};

/** The options of {@link LocalConfirmations}. */
export interface LocalConfirmationsOptions extends Partial<ConfirmationBounds> {
  readonly store: ConfirmationTable;
  /** How long a confirmation waits for an answer, in ms: 1 to 2^31 - 1. Default: 5 minutes. */
  readonly timeoutMs?: number;
  /** Default: a new one. */
  readonly clock?: SteadyClock;
}

const NONE: readonly ConfirmationRecord[] = Object.freeze([]);

function recordOf({ confirmation, resolution }: OpenConfirmation): ConfirmationRecord {
  return resolution === undefined ? { confirmation } : { confirmation, resolution };
}

const UNKNOWN: AnswerOutcome = Object.freeze({ outcome: "unknown" });
const GONE: AnswerOutcome = Object.freeze({ outcome: "gone" });
const OTHER_DIGEST: AnswerOutcome = Object.freeze({ outcome: "other-digest" });

/** Asks people from one process, over a store. The answer that the store writes first decides. */
export class LocalConfirmations implements ConfirmationBroker {
  readonly timeoutMs: number;
  readonly #store: ConfirmationTable;
  readonly #clock: SteadyClock;
  readonly #open = new Map<string, OpenConfirmation>();
  readonly #restored = new RestoredConfirmations<OpenConfirmation>();
  readonly #counts: ConfirmationCounts;
  readonly #listeners = new ConfirmationListeners();
  readonly #timer = new DeadlineTimer<OpenConfirmation>({
    deadlineOf: ({ confirmation }) => performance.now() + confirmation.expiresAt - this.#clock.now(),
    expire: (entry) => {
      this.#timer.delete(entry);
      void this.#end(entry, "timeout");
    },
    // A call that waits for its time-out must not be dropped because nothing else happens in the process.
    keepsAlive: true,
  });

  /**
   * @throws {TypeError} if an option is invalid.
   * @see {@link restore} for a store that has confirmations.
   */
  constructor({
    store,
    timeoutMs = SESSION_DEFAULTS.timeoutMs,
    perPrincipal = 32,
    total = 1_000,
    clock,
  }: LocalConfirmationsOptions) {
    if (!(Number.isFinite(timeoutMs) && timeoutMs >= 1 && timeoutMs <= MAX_DELAY_MS)) {
      throw new TypeError(`the timeout of confirmations must be 1 to ${MAX_DELAY_MS} ms, not ${timeoutMs}`);
    }
    for (const bound of [perPrincipal, total]) {
      if (!(Number.isSafeInteger(bound) && bound >= 1)) {
        throw new TypeError(`a bound of open confirmations must be a whole number above 0, not ${bound}`);
      }
    }
    this.#store = store;
    this.timeoutMs = timeoutMs;
    this.#clock = clock ?? new SteadyClock();
    this.#counts = new ConfirmationCounts({ perPrincipal, total });
  }

  /**
   * Opens the confirmations of an earlier process again, with their ids, digests and expiries. They wait for the next
   * {@link ask} about the same call. The questions of calls that ran are cancelled, since these calls do not run again.
   *
   * @param asksAgain Whether the tool that made a nested call continues, so that the call asks again. Default: none does.
   * @returns those that were answered, also about calls that do not ask again.
   */
  async restore(
    asksAgain: (confirmation: Confirmation) => boolean = () => false,
  ): Promise<readonly ConfirmationRecord[]> {
    const pending = await this.#store.pendingConfirmations();
    for (const { confirmation, resolution } of pending) {
      this.#clock.atLeast(resolution?.at ?? confirmation.askedAt);
      const entry = new OpenConfirmation(confirmation, resolution);
      const isLost = confirmation.parent !== undefined && !asksAgain(confirmation);
      if (isLost && resolution !== undefined) continue;
      if (resolution !== undefined) {
        this.#restored.add(entry);
        continue;
      }
      this.#counts.add(confirmation.principal);
      this.#add(entry);
      if (isLost || confirmation.kind === "question") await this.#end(entry, "cancelled");
      else this.#restored.add(entry);
    }
    return pending.filter(({ resolution }) => resolution !== undefined);
  }

  /**
   * Asks a person, and waits for the answer, the time-out or the signal. If an earlier process has asked the same, its
   * confirmation or its answer is used.
   *
   * @returns how it ended; `"nobody"` if too many confirmations are open.
   */
  async ask(question: NewConfirmation, options: AskOptions = {}): Promise<Resolution | "nobody"> {
    const earlier = await this.#takeRestored(question);
    const { signal, staysOpen } = options;
    if (signal?.aborted && staysOpen?.() !== true) {
      if (earlier !== undefined) await this.#end(earlier, "cancelled");
      return { decision: "cancelled", at: this.#clock.now() };
    }
    const entry = earlier ?? (await this.#request(question, options));
    if (entry === undefined) return "nobody";
    if (entry === "ended") return { decision: "cancelled", at: this.#clock.now() };
    options.onAsked?.(entry.confirmation);
    return entry.wait(options, () => void this.#end(entry, "cancelled"));
  }

  earlier(call: CallKey): readonly ConfirmationRecord[] {
    const entries = this.#restored.of(call);
    return entries.length === 0 ? NONE : entries.map(recordOf);
  }

  /**
   * Answers a confirmation. Rejects if a member is unknown, the store fails or the answer's signal is aborted; the
   * confirmation is open then.
   */
  async answer(id: string, given: PersonAnswer): Promise<AnswerOutcome> {
    // A misspelt scope would be the widest.
    refuseUnknown(given, ANSWER_NAMES, "an answer");
    const entry = this.#open.get(id);
    if (entry === undefined) return this.#answerClosed(id, given);
    const { confirmation } = entry;
    if (!isIn(confirmation, given)) return UNKNOWN;
    if (this.#isExpired(confirmation)) {
      await this.#end(entry, "timeout");
      return this.#answerClosed(id, given);
    }
    if (given.digest !== confirmation.digest) return OTHER_DIGEST;
    const checked = await checkAnswer(entry, given);
    if ("problem" in checked) return { outcome: "invalid", problem: checked.problem };
    given.signal?.throwIfAborted();
    if (this.#isExpired(confirmation)) await this.#end(entry, "timeout");
    if (entry.resolution !== undefined) return this.#answerClosed(id, given);
    const mine = resolutionOf(checked.answer, this.#clock.now());
    const winner = await this.#store.resolveConfirmation(id, mine);
    this.#settle(entry, winner ?? { decision: "cancelled", at: mine.at });
    return winner === undefined ? UNKNOWN : outcomeOf(winner, checked.answer, confirmation.digest);
  }

  /** Cancels the confirmations of an earlier process about a call that will not ask, for example since it has ended. */
  async abandon(call: CallKey): Promise<void> {
    for (const entry of this.#restored.take(call)) await this.#end(entry, "cancelled");
  }

  /** Cancels the confirmations of an earlier process about calls of a call's tool, which has ended. */
  async abandonBelow(call: CallKey): Promise<void> {
    for (const entry of this.#restored.takeBelow(call)) await this.#end(entry, "cancelled");
  }

  /** Returns an open confirmation; `undefined` if it is not open. */
  get(id: string): Confirmation | undefined {
    const confirmation = this.#open.get(id)?.confirmation;
    return confirmation === undefined || this.#isExpired(confirmation) ? undefined : confirmation;
  }

  /** Returns a confirmation, open or resolved; `undefined` if it is unknown. */
  async find(id: string): Promise<ConfirmationRecord | undefined> {
    const confirmation = this.get(id);
    return confirmation === undefined ? this.#store.confirmation(id) : { confirmation };
  }

  /**
   * Returns the open confirmations, the oldest first.
   *
   * @param accepts Which confirmations. Default: all.
   */
  open(accepts: (confirmation: Confirmation) => boolean = () => true): readonly Confirmation[] {
    // If the clock was set forward, their timers are still to fire, and nobody can answer them.
    for (const entry of this.#open.values()) {
      if (this.#isExpired(entry.confirmation)) void this.#end(entry, "timeout");
    }
    return Array.from(this.#open.values(), ({ confirmation }) => confirmation).filter(
      (confirmation) => accepts(confirmation) && !this.#isExpired(confirmation),
    );
  }

  /** Adds a listener, after it was notified of the open confirmations. Returns a function that removes it. */
  on(listener: ConfirmationListener): () => void {
    return this.#listeners.add(listener, this.open());
  }

  /** Stops the timers. The confirmations stay open in the store. */
  close(): void {
    this.#timer.stop();
  }

  /**
   * Takes what an earlier process asked about the call: what a person denied, or else the last confirmation if it is the same.
   * Cancels everything else.
   */
  async #takeRestored(question: NewConfirmation): Promise<OpenConfirmation | undefined> {
    const entries = this.#restored.take(question);
    const last = entries.at(-1);
    const denied = entries.find(({ resolution }) => resolution?.decision === "deny");
    const same = denied ?? (last?.confirmation.digest === question.digest ? last : undefined);
    for (const entry of entries) if (entry !== same) await this.#end(entry, "cancelled");
    if (same !== undefined && this.#isExpired(same.confirmation)) await this.#end(same, "timeout");
    return same;
  }

  /** Writes a new confirmation, unless an earlier one is in force; returns `undefined` if too many are open. */
  async #request(
    question: NewConfirmation,
    { checkArguments, timeoutMs = this.timeoutMs, awaitsRoom = false, signal }: AskOptions,
  ): Promise<OpenConfirmation | "ended" | undefined> {
    if (awaitsRoom) {
      if (!(await this.#counts.awaitRoom(question.principal, signal))) return undefined;
    } else {
      if (!this.#counts.hasRoom(question.principal)) return undefined;
      this.#counts.add(question.principal);
    }
    const askedAt = this.#clock.now();
    const confirmation = Object.freeze({
      ...question,
      id: newId(askedAt),
      askedAt,
      expiresAt: askedAt + Math.min(timeoutMs, this.timeoutMs),
    });
    let added: ConfirmationRecord | undefined;
    try {
      added = await this.#store.addConfirmation(confirmation);
    } finally {
      if (added?.confirmation.id !== confirmation.id) this.#counts.delete(question.principal);
    }
    if (added === undefined) return "ended";
    if (added.confirmation.id !== confirmation.id)
      return (
        this.#open.get(added.confirmation.id) ?? new OpenConfirmation(added.confirmation, added.resolution)
      );
    const entry = new OpenConfirmation(confirmation);
    entry.checkArguments = checkArguments;
    this.#add(entry);
    this.#listeners.emit({ type: "requested", confirmation });
    return entry;
  }

  #add(entry: OpenConfirmation): void {
    this.#open.set(entry.confirmation.id, entry);
    this.#timer.add(entry);
  }

  #isExpired({ expiresAt }: Confirmation): boolean {
    return this.#clock.now() >= expiresAt;
  }

  /** Ends a confirmation without an answer, unless an answer was written first. */
  async #end(entry: OpenConfirmation, decision: "timeout" | "cancelled"): Promise<void> {
    if (entry.resolution !== undefined) return;
    const end: Resolution = Object.freeze({ decision, at: this.#clock.now() });
    let winner: Resolution | undefined;
    try {
      winner = await this.#store.resolveConfirmation(entry.confirmation.id, end);
    } catch {
      // The call does not run in any case: no later answer is accepted for a confirmation that is not open here.
    }
    this.#settle(entry, winner ?? end);
  }

  #settle(entry: OpenConfirmation, resolution: Resolution): void {
    if (!entry.settle(resolution)) return;
    const { confirmation } = entry;
    this.#open.delete(confirmation.id);
    this.#timer.delete(entry);
    this.#counts.delete(confirmation.principal);
    this.#listeners.emit({ type: "resolved", confirmation, resolution });
  }

  async #answerClosed(id: string, given: PersonAnswer): Promise<AnswerOutcome> {
    const known = await this.#store.confirmation(id);
    if (known === undefined || !isIn(known.confirmation, given)) return UNKNOWN;
    // Without a resolution, the store failed to write a time-out or a cancellation.
    if (known.resolution === undefined) return GONE;
    return outcomeOf(known.resolution, given, known.confirmation.digest);
  }
}
