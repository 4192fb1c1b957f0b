import { loadCrypto } from "../../base/load-crypto.ts";
import type { CallNames } from "../line/call-parts.ts";
import { type ChainHead, composeLine, type RecordParts } from "../line/entry.ts";
import { eventParts } from "../line/event-parts.ts";
import { type AppendFile, LineBuffer } from "../storage/file-writing.ts";
import type { OpenCalls } from "./open-calls.ts";

/** A record that waits to be written. */
export interface WaitingRecord {
  readonly parts: RecordParts;
  /** The time of the record, in milliseconds since the epoch. */
  readonly at: number;
  /** Whether the call waits until the record is durable. */
  readonly isAwaited: boolean;
  /** The call that begins or ends with this record. Default: none. */
  readonly call?: { readonly kind: "begin" | "end"; readonly names: CallNames };
  /** The sealed arguments that the record names. Default: none. */
  readonly sealed?: string | undefined;
}

/** What the writer uses and notifies besides the file. */
export interface WriterSurroundings {
  /** Returns why nothing must be written, in addition to the problems of the file's path; `undefined` if records can be written. */
  readonly problem: () => string | undefined;
  /** Writes the sealed arguments that a group names, before the group. */
  readonly writeSealed: (sealed: readonly string[], isDurable: boolean) => Promise<void> | undefined;
  /** Called after a group was written. */
  readonly afterGroup: (head: ChainHead) => void;
  /** Returns the next file if the journal must be continued in another one, and otherwise `undefined`. Rejects if it cannot be. */
  readonly nextFile: (head: ChainHead, file: AppendFile) => Promise<AppendFile> | undefined;
  /** Called with the path of the file that another one now continues. */
  readonly onContinued: (path: string) => void;
  /** Called with the milliseconds by which the clock is behind the last record, and with 0 once it is not. */
  readonly onClock: (behindMs: number) => void;
  readonly onUnhealthy: (reason: string) => void;
  readonly onHealthy: (lost: number) => void;
}

/** How many records are written at once. More wait for the next group. */
const MAX_GROUP = 4_096;
/** A disk that hangs must not fill the memory: beyond this, no record is taken. */
const MAX_WAITING = 65_536;
/** How many records that nothing waits for are retained while the journal cannot write. */
const MAX_BUFFERED = 10_000;
/** How long the records that wait can be in all, in UTF-16 code units: they are written as one text. */
const MAX_WAITING_LENGTH = 67_108_864;
const RETRY_MS = 1_000;
/** Clocks are set back by less, to follow that of another machine. */
const MAX_CLOCK_BEHIND_MS = 1_000;

/**
 * Appends records to a journal: one loop, which writes everything that waits as one group. The chain is computed as a
 * group is written, so that a record that is given up leaves no gap.
 */
export class GroupWriter {
  /** Whether records are synced before those who wait are notified. */
  readonly #isSynced: boolean;
  readonly #open: OpenCalls;
  readonly #surroundings: WriterSurroundings;
  readonly #hash: typeof import("node:crypto").hash = loadCrypto().hash;
  /** Used again for each group: a new one would cost more than filling it. */
  readonly #lines = new LineBuffer();
  #file: AppendFile;
  #head: ChainHead;
  #waiting: WaitingRecord[] = [];
  /** The length of those that wait and of those that are being written. */
  #waitingLength = 0;
  /** The last group that was written. Its calls are not in `#open` yet. */
  #written: readonly WaitingRecord[] = [];
  /** Settled when the group that waits now is written. */
  #waitingGroup: PromiseWithResolvers<void> | undefined;
  #loop: Promise<void> | undefined;
  #problem: string | undefined;
  #lost = 0;
  /** The lost records that were not reported yet. */
  #unreported = 0;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;
  #isClockBehind = false;
  /** The records that are being written. */
  #writing = 0;
  /** Since when the oldest of these, and of those that wait, waits, from `performance.now()`. */
  #writingSince: number | undefined;
  #waitingSince: number | undefined;

  constructor(
    file: AppendFile,
    head: ChainHead,
    open: OpenCalls,
    isSynced: boolean,
    surroundings: WriterSurroundings,
  ) {
    this.#file = file;
    this.#head = head;
    this.#open = open;
    this.#isSynced = isSynced;
    this.#surroundings = surroundings;
  }

  /** Why the journal cannot write; `undefined` if it can. */
  get problem(): string | undefined {
    return this.#isClosed ? "the journal is closed" : this.#problem;
  }

  /** What is not written yet: the number of records, and the age of the oldest. */
  get backlog(): { readonly records: number; readonly oldestMs: number } {
    const since = this.#writingSince ?? (this.#waiting.length > 0 ? this.#waitingSince : undefined);
    const oldestMs = since === undefined ? 0 : performance.now() - since;
    return { records: this.#writing + this.#waiting.length, oldestMs };
  }

  /** The number of records that could not be retained. */
  get lost(): number {
    return this.#lost;
  }

  /** The end of what was written. */
  get head(): ChainHead {
    return this.#head;
  }

  /**
   * Takes a record. The journal must be able to write, as far as `problem` and `isFull` know.
   *
   * @returns A promise that settles with the record's group if the record is awaited.
   */
  add(record: WaitingRecord): Promise<void> | undefined {
    if (this.#waiting.length === 0) this.#waitingSince = performance.now();
    this.#waiting.push(record);
    this.#waitingLength += lengthOf(record);
    this.#loop ??= this.#run();
    if (!record.isAwaited) return undefined;
    this.#waitingGroup ??= Promise.withResolvers();
    return this.#waitingGroup.promise;
  }

  /** Whether too many records wait. */
  get isFull(): boolean {
    return this.#waiting.length >= MAX_WAITING || this.#waitingLength >= MAX_WAITING_LENGTH;
  }

  /** Buffers a record that nothing waits for until the journal can write again, or counts it as lost. */
  buffer(record: WaitingRecord): void {
    const hasSpace =
      this.#writing + this.#waiting.length < MAX_BUFFERED && this.#waitingLength < MAX_WAITING_LENGTH;
    if (this.#isClosed || !hasSpace) {
      this.#lose();
      return;
    }
    this.#waiting.push(record);
    this.#waitingLength += lengthOf(record);
  }

  /** Waits until everything that was added before is written, or cannot be. */
  async flush(): Promise<void> {
    while (this.#loop !== undefined) await this.#loop;
  }

  /** Makes everything that was written durable. */
  sync(): Promise<void> {
    return this.#file.sync();
  }

  /** Notes a reason why nothing can be written. */
  look(): void {
    const reason = this.#file.problem ?? this.#surroundings.problem();
    if (reason !== undefined && this.problem === undefined) this.#fail(new Error(reason));
  }

  /** Writes what waits, and closes the file. Records that cannot be written are counted as lost. */
  async close(): Promise<void> {
    await this.flush();
    if (this.#problem !== undefined && this.#waiting.length > 0) {
      this.#loop = this.#tryAgain();
      await this.flush();
    }
    clearTimeout(this.#retry);
    this.#isClosed = true;
    for (const _ of this.#waiting.splice(0)) this.#lose();
    try {
      await this.#file.sync();
    } finally {
      await this.#file[Symbol.asyncDispose]();
    }
  }

  async #run(): Promise<void> {
    // Whatever the calls that just went on add in this turn of the event loop belongs to the group.
    await immediate();
    while (this.#waiting.length > 0 && this.#problem === undefined) {
      const group = this.#waiting.splice(0, MAX_GROUP);
      this.#writing = group.length;
      this.#writingSince = this.#waitingSince;
      this.#waitingSince = performance.now();
      const { promise, resolve, reject } = this.#waitingGroup ?? Promise.withResolvers<void>();
      this.#waitingGroup = undefined;
      // It rejects only for those who wait.
      promise.catch(() => {});
      try {
        await this.#write(group);
        this.#release(group);
        resolve();
      } catch (error) {
        // The calls that wait for their records do not run. What happens anyway is written later.
        this.#waiting.unshift(...group.filter(({ isAwaited }) => !isAwaited));
        this.#release(group.filter(({ isAwaited }) => isAwaited));
        this.#waitingSince = this.#writingSince;
        this.#fail(error);
        reject(error);
      }
      this.#writing = 0;
      this.#writingSince = undefined;
      await immediate();
    }
    this.#loop = undefined;
    if (this.#problem !== undefined) this.#dropAwaited();
  }

  async #write(group: readonly WaitingRecord[]): Promise<void> {
    const problem = this.#surroundings.problem();
    if (problem !== undefined) throw new Error(problem);
    const next = this.#surroundings.nextFile(this.#head, this.#file);
    if (next !== undefined) await this.#continueIn(await next);
    const sealed = group.flatMap((record) => record.sealed ?? []);
    await this.#surroundings.writeSealed(sealed, this.#mustSync(group));
    await this.#append(group);
    this.#surroundings.afterGroup(this.#head);
  }

  async #append(group: readonly WaitingRecord[]): Promise<void> {
    let { seq, digest, at } = this.#head;
    const lines = this.#lines.clear();
    this.#lookAtClock(group, at);
    for (const record of group) {
      at = Math.max(record.at, at);
      const line = composeLine(record.parts, at, digest, ++seq);
      digest = this.#hash("sha256", lines.add(line));
    }
    const file = this.#file;
    const { size } = file;
    const appended = file.append(lines.bytes);
    // Now, as the disk takes longer than this.
    this.#followWritten();
    await appended;
    if (this.#mustSync(group)) await this.#syncOrCut(file, size);
    this.#head = { seq, digest, at };
    this.#written = group;
  }

  #mustSync(group: readonly WaitingRecord[]): boolean {
    return this.#isSynced && group.some(({ isAwaited }) => isAwaited);
  }

  /** While the clock is behind, the records have the time of the last one before it was set back. */
  #lookAtClock(group: readonly WaitingRecord[], at: number): void {
    const behindMs = at - (group.at(-1)?.at ?? at);
    if (behindMs > MAX_CLOCK_BEHIND_MS === this.#isClockBehind) return;
    this.#isClockBehind = !this.#isClockBehind;
    this.#surroundings.onClock(this.#isClockBehind ? behindMs : 0);
  }

  /** Notes the calls that the last group began and ended. */
  #followWritten(): void {
    for (const { call } of this.#written) {
      if (call?.kind === "begin") this.#open.begin(call.names);
      else if (call?.kind === "end") this.#open.end(call.names);
    }
    this.#written = [];
  }

  /** After a failed sync it is not known what is on the disk: the group is cut off, and written anew. */
  async #syncOrCut(file: AppendFile, size: number): Promise<void> {
    try {
      await file.sync();
    } catch (error) {
      await file.cutBack(size).catch(() => {});
      throw error;
    }
  }

  async #continueIn(file: AppendFile): Promise<void> {
    const before = this.#file;
    this.#file = file;
    this.#followWritten();
    const parts = eventParts({ type: "journal.rotated", open: this.#open.list() });
    try {
      await this.#append([{ parts, at: Date.now(), isAwaited: true }]);
    } catch (error) {
      this.#file = before;
      await file[Symbol.asyncDispose]();
      throw error;
    }
    await before[Symbol.asyncDispose]().catch(() => {});
    this.#surroundings.onContinued(before.path);
  }

  #fail(error: unknown): void {
    if (this.#problem === undefined) {
      this.#problem = (error as Error).message;
      this.#surroundings.onUnhealthy(this.#problem);
    }
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.#loop ??= this.#tryAgain();
    }, RETRY_MS).unref();
  }

  /** Gives up the records that calls wait for. */
  #dropAwaited(): void {
    const buffered = this.#waiting.filter(({ isAwaited }) => !isAwaited);
    const lost = buffered.splice(MAX_BUFFERED);
    for (const _ of lost) this.#lose();
    this.#release([...this.#waiting.filter(({ isAwaited }) => isAwaited), ...lost]);
    this.#waiting = buffered;
    this.#waitingGroup?.promise.catch(() => {});
    this.#waitingGroup?.reject(new Error(this.#problem));
    this.#waitingGroup = undefined;
  }

  /** Subtracts records that no longer wait. */
  #release(records: readonly WaitingRecord[]): void {
    for (const record of records) this.#waitingLength -= lengthOf(record);
  }

  #lose(): void {
    this.#lost++;
    this.#unreported++;
  }

  async #tryAgain(): Promise<void> {
    const buffered = this.#waiting.splice(0);
    this.#writing = buffered.length;
    this.#writingSince = this.#waitingSince;
    const lost = this.#unreported;
    const event = { type: "journal.recovered", lost, reason: this.#problem ?? "" } as const;
    try {
      await this.#write([...buffered, { parts: eventParts(event), at: Date.now(), isAwaited: true }]);
      this.#release(buffered);
      this.#unreported -= lost;
      this.#problem = undefined;
      this.#surroundings.onHealthy(lost);
    } catch (error) {
      this.#waiting.unshift(...buffered);
      this.#fail(error);
    }
    this.#writing = 0;
    this.#writingSince = undefined;
    this.#loop = this.#problem === undefined && this.#waiting.length > 0 ? this.#run() : undefined;
  }
}

function lengthOf({ parts, sealed = "" }: WaitingRecord): number {
  const { beforeAt, beforePrev, beforeSeq, afterSeq } = parts;
  return beforeAt.length + beforePrev.length + beforeSeq.length + afterSeq.length + sealed.length;
}

function immediate(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
