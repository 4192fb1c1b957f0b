import { type MaybePromise, mapSome } from "../../base/promises.ts";
import type { JsonValue } from "../../json/value.ts";
import { newId } from "../ids.ts";
import {
  type AnswerOutcome,
  checkAnswer,
  isIn,
  outcomeOf,
  type PersonAnswer,
  resolutionOf,
} from "./answer.ts";
import {
  type CallConfirmation,
  type CallKey,
  type Confirmation,
  type ConfirmationRecord,
  type ConfirmationTable,
  confirmationInForce,
  type NewConfirmation,
  type Resolution,
} from "./confirmation.ts";
import {
  type ConfirmationBroker,
  type ConfirmationListener,
  ConfirmationListeners,
} from "./confirmation-broker.ts";
import { type AskOptions, OpenConfirmation } from "./open-confirmations.ts";

/** The listed members of a confirmation. The other members are in an object of their own. */
export interface ListedConfirmation
  extends Pick<
    Confirmation,
    "id" | "sessionId" | "turnId" | "messageId" | "callId" | "digest" | "principal" | "expiresAt"
  > {}

/** Returns what is listed of a confirmation. */
export function listed({
  id,
  sessionId,
  turnId,
  messageId,
  callId,
  digest,
  principal,
  expiresAt,
}: Confirmation): ListedConfirmation {
  return {
    id,
    sessionId,
    turnId,
    callId,
    digest,
    expiresAt,
    ...(messageId !== undefined && { messageId }),
    ...(principal !== undefined && { principal }),
  };
}

/** Lists the confirmations of all processes that are open. */
export interface ListOfOpen {
  /** Returns `false` if too many confirmations are open. */
  put(confirmation: ListedConfirmation): MaybePromise<boolean>;
  remove(ids: readonly string[]): MaybePromise<void>;
  list(): MaybePromise<readonly ListedConfirmation[]>;
}

/** How many confirmations may be open: of one principal, and in all. */
const PER_PRINCIPAL = 32;
const TOTAL = 1_000;

/** Whether too many confirmations are open for another one. */
export function isFull(open: readonly ListedConfirmation[], { principal }: ListedConfirmation): boolean {
  const ofPrincipal = open.filter((each) => each.principal === principal);
  return open.length >= TOTAL || ofPrincipal.length >= PER_PRINCIPAL;
}

/** Stores the confirmations of all processes. */
export interface SharedConfirmationStore
  extends Pick<ConfirmationTable, "addConfirmation" | "resolveConfirmation" | "confirmation"> {
  /** Returns the confirmations about a call, in the order in which they were asked. */
  confirmationsOf(call: CallKey): MaybePromise<readonly ConfirmationRecord[]>;
  /**
   * Ends that people are asked about the calls of a call's tool, at a time in ms since the epoch: cancels what is open, and adds
   * nothing later. Returns the ids of what was asked.
   */
  endAsking(call: CallKey, at: number): MaybePromise<readonly string[]>;
}

/** The options of {@link SharedConfirmations}. */
export interface SharedConfirmationsOptions {
  readonly store: SharedConfirmationStore;
  readonly list: ListOfOpen;
  /** How long a confirmation waits for an answer, in ms. */
  readonly timeoutMs: number;
  /** The time as the store has it, in ms since the epoch: clocks of servers may be wrong. */
  readonly now: () => number;
  /** Returns why a call could not run with the arguments that a person wrote; `undefined` if it could. */
  readonly checkArguments: (confirmation: CallConfirmation, edited: JsonValue) => Promise<string | undefined>;
}

/** How often the list is read, in ms: what other processes ask and answer is seen here that late. */
const READ_EVERY_MS = 1_000;

/**
 * Asks people from several processes. What is open is read from the store again and again, so that each of them can show and
 * answer all confirmations; the first answer that is written decides.
 */
export class SharedConfirmations implements ConfirmationBroker {
  readonly timeoutMs: number;
  readonly #options: SharedConfirmationsOptions;
  readonly #open = new Map<string, OpenConfirmation>();
  readonly #listeners = new ConfirmationListeners();
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: SharedConfirmationsOptions) {
    this.#options = options;
    this.timeoutMs = options.timeoutMs;
  }

  /**
   * Asks about a call whose process waits for the answer.
   *
   * @param earlier What an earlier process has asked about the call, whose answer counts. Default: looked up for nested calls.
   */
  async ask(
    question: NewConfirmation,
    options: AskOptions = {},
    earlier?: ConfirmationRecord,
  ): Promise<Resolution | "nobody"> {
    const { signal, staysOpen, onAsked } = options;
    const known = earlier === undefined ? await this.#earlier(question) : this.#entryOf(earlier);
    const entry = known ?? (await this.#request(question, options));
    if (entry === undefined) return "nobody";
    if (entry === "ended") return { decision: "cancelled", at: Date.now() };
    if (signal?.aborted && staysOpen?.() !== true) await this.#end(entry, "cancelled");
    onAsked?.(entry.confirmation);
    const leftMs = Math.min(Math.max(entry.confirmation.expiresAt - this.#options.now(), 0), this.timeoutMs);
    const timer = setTimeout(() => void this.#end(entry, "timeout"), leftMs);
    try {
      return await entry.wait(options, () => void this.#end(entry, "cancelled"));
    } finally {
      clearTimeout(timer);
    }
  }

  async answer(id: string, given: PersonAnswer): Promise<AnswerOutcome> {
    const { store, checkArguments } = this.#options;
    const known = await store.confirmation(id);
    if (known === undefined || !isIn(known.confirmation, given)) return { outcome: "unknown" };
    const { confirmation, resolution } = known;
    if (resolution !== undefined) return outcomeOf(resolution, given, confirmation.digest);
    if (this.#isExpired(confirmation)) return { outcome: "gone" };
    if (given.digest !== confirmation.digest) return { outcome: "other-digest" };
    const entry = new OpenConfirmation(confirmation);
    if (confirmation.kind !== "question")
      entry.checkArguments = (edited) => checkArguments(confirmation, edited);
    const checked = await checkAnswer(entry, given);
    if ("problem" in checked) return { outcome: "invalid", problem: checked.problem };
    given.signal?.throwIfAborted();
    if (this.#isExpired(confirmation)) return { outcome: "gone" };
    const winner = await store.resolveConfirmation(id, resolutionOf(checked.answer, Date.now()));
    if (winner === undefined) return { outcome: "unknown" };
    await this.#close(confirmation, winner);
    return outcomeOf(winner, checked.answer, confirmation.digest);
  }

  /** Reads what was asked about a call that a tool makes: other calls have begun with their answers. */
  async earlier(call: CallKey): Promise<readonly ConfirmationRecord[]> {
    return this.#options.store.confirmationsOf(call);
  }

  /** Nothing of an earlier process waits here: the store has it. */
  async abandon(): Promise<void> {}

  /** Also those that another process has asked, or is about to ask. */
  async abandonBelow(call: CallKey): Promise<void> {
    const { store, list } = this.#options;
    const end: Resolution = Object.freeze({ decision: "cancelled", at: Date.now() });
    const ids = await store.endAsking(call, end.at);
    await mapSome(ids, async (id) => {
      const entry = this.#open.get(id);
      if (entry !== undefined) this.#settle(entry, (await store.confirmation(id))?.resolution ?? end);
    });
    if (ids.length > 0) await list.remove(ids);
  }

  /** Cancels a confirmation that an earlier process has opened, and that its call does not need. */
  async cancel(confirmation: Confirmation): Promise<void> {
    await this.#end(this.#open.get(confirmation.id) ?? new OpenConfirmation(confirmation), "cancelled");
  }

  find(id: string): Promise<ConfirmationRecord | undefined> {
    return Promise.resolve(this.#options.store.confirmation(id));
  }

  open(accepts: (confirmation: Confirmation) => boolean = () => true): readonly Confirmation[] {
    return Array.from(this.#open.values(), ({ confirmation }) => confirmation)
      .filter((confirmation) => accepts(confirmation) && !this.#isExpired(confirmation))
      .sort((one, other) => one.askedAt - other.askedAt);
  }

  on(listener: ConfirmationListener): () => void {
    return this.#listeners.add(listener, this.open());
  }

  /** Begins to read the list. Each server applies the answers about the calls that it dispatches. */
  async restore(): Promise<readonly ConfirmationRecord[]> {
    await this.#read();
    this.#readLater();
    return [];
  }

  /** Reads the list now, since it may have changed. */
  async refresh(): Promise<void> {
    // Another read may have begun before the change.
    await this.#reading;
    await this.#read();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #readLater(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      // The store cannot be reached, and says so.
      this.#read()
        .catch(() => {})
        .finally(() => this.#readLater());
    }, READ_EVERY_MS);
    // Otherwise a call of this process can wait for a person.
    if (this.#open.size === 0) this.#timer.unref();
  }

  #isExpired({ expiresAt }: Pick<Confirmation, "expiresAt">): boolean {
    return this.#options.now() >= expiresAt;
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readNow(): Promise<void> {
    const { list, store } = this.#options;
    const before = [...this.#open.keys()];
    const now = await list.list();
    const ids = new Set(now.map(({ id }) => id));
    const added = now.filter(({ id }) => !this.#open.has(id));
    await mapSome(added, (each) => this.#take(each));
    await mapSome(before, async (id) => {
      const entry = this.#open.get(id);
      if (entry === undefined || (ids.has(id) && !this.#isExpired(entry.confirmation))) return;
      const known = await store.confirmation(id);
      if (known?.resolution === undefined && ids.has(id)) await this.#end(entry, "timeout");
      else this.#settle(entry, known?.resolution ?? { decision: "cancelled", at: Date.now() });
    });
  }

  /** Shows a confirmation of another process; one that was answered meanwhile leaves the list. */
  async #take({ id, expiresAt }: ListedConfirmation): Promise<void> {
    const { store, list } = this.#options;
    const known = await store.confirmation(id);
    if (this.#open.has(id)) return;
    if (known === undefined) {
      // It is listed before it is written, and never was: it would count for ever.
      if (this.#isExpired({ expiresAt })) await list.remove([id]);
    } else if (known.resolution === undefined) this.#add(new OpenConfirmation(known.confirmation));
    else await list.remove([id]);
  }

  /**
   * What an earlier process has asked about the same call, which continues here. A person may have answered while no process
   * waited for it, and is not asked again. What another one asks at the same time is found when it is written.
   */
  async #earlier(question: NewConfirmation): Promise<OpenConfirmation | undefined> {
    if (question.parent === undefined) return undefined;
    const records = await this.earlier(question);
    const known = confirmationInForce(records, question);
    return known && this.#entryOf(known);
  }

  #entryOf({ confirmation, resolution }: ConfirmationRecord): OpenConfirmation {
    const entry = this.#open.get(confirmation.id) ?? new OpenConfirmation(confirmation, resolution);
    if (resolution === undefined) this.#add(entry);
    return entry;
  }

  async #request(
    question: NewConfirmation,
    { timeoutMs = this.timeoutMs }: AskOptions,
  ): Promise<OpenConfirmation | "ended" | undefined> {
    const { list, store } = this.#options;
    const askedAt = this.#options.now();
    const confirmation: Confirmation = Object.freeze({
      ...question,
      id: newId(askedAt),
      askedAt,
      expiresAt: askedAt + Math.min(timeoutMs, this.timeoutMs),
    });
    if (!(await list.put(listed(confirmation)))) return undefined;
    const added = await store.addConfirmation(confirmation);
    if (added?.confirmation.id !== confirmation.id) await list.remove([confirmation.id]);
    return added === undefined ? "ended" : this.#entryOf(added);
  }

  #add(entry: OpenConfirmation): void {
    const { confirmation } = entry;
    if (this.#open.has(confirmation.id)) return;
    this.#open.set(confirmation.id, entry);
    this.#timer?.ref();
    this.#listeners.emit({ type: "requested", confirmation });
  }

  async #end(entry: OpenConfirmation, decision: "timeout" | "cancelled"): Promise<void> {
    if (entry.resolution !== undefined) return;
    const end: Resolution = Object.freeze({ decision, at: Date.now() });
    let winner: Resolution | undefined;
    try {
      winner = await this.#options.store.resolveConfirmation(entry.confirmation.id, end);
      await this.#options.list.remove([entry.confirmation.id]);
    } catch {
      // The call does not run in any case. What is still listed is resolved by its expiry.
    }
    this.#settle(entry, winner ?? end);
  }

  async #close(confirmation: Confirmation, resolution: Resolution): Promise<void> {
    const entry = this.#open.get(confirmation.id);
    if (entry !== undefined) this.#settle(entry, resolution);
    else this.#listeners.emit({ type: "resolved", confirmation, resolution });
    try {
      await this.#options.list.remove([confirmation.id]);
    } catch {
      // It leaves the list when the list is read next.
    }
  }

  #settle(entry: OpenConfirmation, resolution: Resolution): void {
    this.#open.delete(entry.confirmation.id);
    if (!entry.settle(resolution)) return;
    this.#listeners.emit({ type: "resolved", confirmation: entry.confirmation, resolution });
  }
}
