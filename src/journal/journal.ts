import { mkdir } from "node:fs/promises";
import { guardFiles } from "../base/guarded-files.ts";
import type {
  CallJournal,
  DeniedRecord,
  DispatchedRecord,
  EndedRecord,
  RecordedOutcome,
  SessionCall,
} from "../engine/call/journal.ts";
import type { CanonicalJson } from "../json/canonical.ts";
import type { KernelChange } from "../policy/capability-kernel.ts";
import type { PolicySubject, RuntimePolicy } from "../policy/policy.ts";
import { withPaths } from "../tool/changes.ts";
import { changesNothing } from "../tool/side-effects.ts";
import { BesideFiles } from "./beside-files.ts";
import { readArchived, reserveArchived } from "./checkpoints/archived.ts";
import { publishedHeads } from "./checkpoints/peers.ts";
import { JournalError, withRemedy } from "./journal-error.ts";
import {
  deniedParts,
  dispatchedParts,
  endedParts,
  interruptedParts,
  namesOf,
  type ShownArguments,
} from "./line/call-parts.ts";
import type { ChainHead, RecordParts } from "./line/entry.ts";
import { eventParts, kernelChangeParts } from "./line/event-parts.ts";
import { type CheckedOptions, checkOptions, type JournalNotice, type JournalOptions } from "./options.ts";
import { findCalls } from "./read/read-journal.ts";
import { RecordedInputs } from "./recorded-inputs.ts";
import { SessionKeys } from "./session-keys.ts";
import { journalFile, journalFiles } from "./storage/file-names.ts";
import { AppendFile } from "./storage/file-writing.ts";
import { DirectoryLock, type EarlierFileProblem, EarlierFiles } from "./storage/guards.ts";
import { GroupWriter, type WaitingRecord } from "./write/group-writer.ts";
import { type RecoveredJournal, recover } from "./write/recover.ts";

/** How often the files are looked at. */
const WATCH_MS = 1_000;

/**
 * Opens a journal to write to it, or creates it. Calls that were running when the journal was last written to get a
 * record of their end, with the effect `unknown`.
 *
 * @throws {TypeError} if an option is not valid.
 * @throws {JournalError} if the journal cannot be written, is open already, or contradicts itself.
 */
export function openJournal(options: JournalOptions): Promise<Journal> {
  return Journal.open(options);
}

/**
 * Records every call in a chain of lines: each has the digest of the one before. `docs/journal.md` describes the format.
 * Pass it to dispatches as `DispatchContext.journal`.
 */
export class Journal implements CallJournal, AsyncDisposable {
  readonly #options: CheckedOptions;
  readonly #lock: DirectoryLock;
  readonly #inputs: RecordedInputs;
  readonly #keys: SessionKeys;
  readonly #writer: GroupWriter;
  readonly #beside = new BesideFiles();
  readonly #earlier = new EarlierFiles();
  readonly #watch: NodeJS.Timeout;
  #closed: Promise<void> | undefined;

  private constructor(
    options: CheckedOptions,
    lock: DirectoryLock,
    { file, head, open, earlier }: RecoveredJournal,
  ) {
    this.#options = options;
    this.#lock = lock;
    this.#inputs = new RecordedInputs(options.directory);
    this.#keys = new SessionKeys(options.directory);
    this.#writer = new GroupWriter(file, head, open, options.sync === "group", {
      problem: () => lock.problem ?? this.#beside.problem,
      writeSealed: (sealed, isDurable) => this.#beside.write(sealed, isDurable),
      afterGroup: (end) => this.#beside.follow(end),
      nextFile: (end, current) =>
        current.size < options.maxBytes ? undefined : this.#openNext(end, current),
      onContinued: (path) => this.#earlier.add(path),
      onClock: (behindMs) =>
        this.#notify(
          "clock",
          behindMs === 0
            ? "the clock has reached the time of the records again"
            : `the clock is ${Math.ceil(behindMs / 1_000)} s behind the last record: until it has reached it, all records have the time of that one`,
        ),
      onUnhealthy: (reason) =>
        this.#notify(
          "unhealthy",
          `the journal in '${options.directory}' cannot write, so no call runs: ${withRemedy(reason)}`,
        ),
      onHealthy: (lost) =>
        this.#notify(
          "healthy",
          `the journal can write again${lost > 0 ? `; ${lost} records were lost` : ""}`,
        ),
    });
    for (const path of earlier) this.#earlier.add(path);
    this.#watch = setInterval(() => this.#look(), WATCH_MS).unref();
  }

  /** See {@link openJournal}. @internal */
  static async open(given: JournalOptions): Promise<Journal> {
    const options = checkOptions(given);
    const { directory } = options;
    guardFiles(journalFiles(directory));
    let lock: DirectoryLock | undefined;
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      lock = new DirectoryLock(directory);
      const { key, peers } = options;
      const published = key && peers && (await publishedHeads(peers.directory, key, peers.keys));
      const recovered = await recover(directory, published ?? []);
      const journal = new Journal(options, lock, recovered);
      try {
        await journal.#begin(recovered);
        await reserveArchived(directory);
      } catch (error) {
        await journal.close().catch(() => {});
        throw error;
      }
      return journal;
    } catch (error) {
      lock?.[Symbol.dispose]();
      if (error instanceof JournalError) throw error;
      throw new JournalError(
        `the journal in '${directory}' cannot be opened: ${withRemedy((error as Error).message)}`,
      );
    }
  }

  /** What is not written yet: the number of records, and the age of the oldest. */
  get backlog(): { readonly records: number; readonly oldestMs: number } {
    return this.#writer.backlog;
  }

  /** Why the journal cannot write; `undefined` if it can. While it cannot, no call runs. */
  get problem(): string | undefined {
    return this.#writer.problem;
  }

  /** The number of records of ends and denials that could not be written, nor stored until they could be. */
  get lost(): number {
    return this.#writer.lost;
  }

  /** The number of records that were written, by every process. */
  get records(): number {
    return this.#writer.head.seq;
  }

  /** The text of the key that checks the journal's checkpoints; `undefined` if it has none. */
  get verifierKey(): string | undefined {
    return this.#options.key?.verifier;
  }

  get recordsSources(): boolean {
    return this.#options.sources;
  }

  begin(record: DispatchedRecord): undefined | Promise<void> {
    this.#requireHealth();
    const { canonical, sessionId, sideEffects } = record;
    const names = namesOf(record);
    const shown = this.#show(canonical, sessionId);
    return this.#writer.add({
      parts: dispatchedParts(record, names, shown),
      sealed: shown.line,
      at: Date.now(),
      isAwaited: !changesNothing(sideEffects),
      call: { kind: "begin", names },
    });
  }

  end(record: EndedRecord): void {
    const names = namesOf(record);
    const { redaction } = this.#options;
    const changes = record.changes && withPaths(record.changes, (path) => redaction.text(path));
    const shown = changes === undefined ? record : { ...record, changes };
    this.#addUnawaited(endedParts(shown, names), { kind: "end", names });
  }

  deny(record: DeniedRecord): void {
    const { canonical, sessionId } = record;
    const shown = canonical && this.#show(canonical, sessionId);
    this.#addUnawaited(deniedParts(record, shown), undefined, shown?.line);
  }

  recordKernelChange(change: KernelChange): void {
    this.#addUnawaited(kernelChangeParts(change));
  }

  /**
   * Returns what is recorded of calls of sessions. It reads the records since a day before `since`: clocks are set back.
   *
   * @throws {JournalError} as a rejection, if a file cannot be read.
   */
  async findCalls(
    calls: readonly SessionCall[],
    since: number,
  ): Promise<readonly (RecordedOutcome | undefined)[]> {
    await this.flush();
    return findCalls(this.#options.directory, calls, since);
  }

  /**
   * Stores a policy and the tools that it decides on beside the journal, so that its decisions can be made again. A policy
   * in code is not stored.
   */
  async keep(policy: RuntimePolicy, tools: Iterable<PolicySubject>): Promise<void> {
    await this.#inputs.store(policy, tools);
  }

  /**
   * Deletes the key of a session: its sealed arguments can never be read again. The chain of records stays valid.
   *
   * @returns Whether there was a key.
   */
  forget(sessionId: string): Promise<boolean> {
    return this.#keys.forget(sessionId);
  }

  /** Waits until every record that was added before is written, or cannot be. */
  flush(): Promise<void> {
    return this.#writer.flush();
  }

  /** Writes what waits, signs a last checkpoint, and closes the journal. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #begin({ file, head, open, torn }: RecoveredJournal): Promise<void> {
    await this.#beside.open(file.path, head, this.#options, {
      keys: this.#keys,
      sync: () => this.#writer.sync(),
      notify: (kind, message) => this.#notify(kind, message),
    });
    if (torn !== undefined) {
      this.#notify(
        "torn",
        `the last line was half-written: its ${torn.bytes} bytes were moved to '${torn.path}'`,
      );
    }
    const interrupted = open.list();
    if (file.size === 0 && head.seq > 0) {
      this.#addUnawaited(eventParts({ type: "journal.rotated", open: interrupted }));
    }
    for (const names of interrupted) {
      this.#addUnawaited(interruptedParts(names), { kind: "end", names });
    }
    if (interrupted.length > 0) {
      this.#notify("interrupted", `${interrupted.length} calls were interrupted: their effect is unknown`);
    }
    // Written even if nothing else is: it shows that the journal can write.
    await this.#writer.add({
      parts: eventParts({ type: "journal.opened", verifierKey: this.verifierKey }),
      at: Date.now(),
      isAwaited: true,
    });
  }

  async #close(): Promise<void> {
    try {
      await this.flush();
      if (this.problem === undefined) await this.#beside.finish();
      await this.#writer.close();
    } finally {
      clearInterval(this.#watch);
      await this.#beside[Symbol.asyncDispose]();
      this.#lock[Symbol.dispose]();
    }
  }

  #requireHealth(): void {
    const { problem } = this.#writer;
    if (problem !== undefined) throw new JournalError(`the journal cannot write: ${problem}`);
    if (this.#writer.isFull)
      throw new JournalError("the journal cannot write: too many records wait for the disk");
  }

  #addUnawaited(parts: RecordParts, call?: WaitingRecord["call"], sealed?: string): void {
    const record = { parts, at: Date.now(), isAwaited: false, sealed, ...(call && { call }) };
    try {
      this.#requireHealth();
    } catch (error) {
      this.#writer.buffer(record);
      throw error;
    }
    this.#writer.add(record);
  }

  #show(canonical: CanonicalJson, sessionId: string): ShownArguments {
    const { redaction } = this.#options;
    return this.#beside.seal(canonical, sessionId) ?? canonical.shownAs((value) => redaction.json(value));
  }

  /** Notices what another process does to the files, even while no call is recorded. */
  #look(): void {
    this.#lock.renew();
    this.#writer.look();
    const problems = this.#earlier.look();
    if (problems.length > 0) void this.#report(problems);
  }

  /** Reports what happened to earlier files, except that they were archived. */
  async #report(problems: readonly EarlierFileProblem[]): Promise<void> {
    const archived = await readArchived(this.#options.directory).catch(() => undefined);
    for (const { path, firstSeq, isRemoved } of problems) {
      if (isRemoved && firstSeq <= (archived?.records ?? 0)) continue;
      const what = isRemoved ? "removed" : "changed";
      this.#notify("changed", `'${path}', which was written before, was ${what} by another process`);
    }
  }

  async #openNext({ seq }: ChainHead, { problem }: AppendFile): Promise<AppendFile> {
    // What was written is not continued if it is lost.
    if (problem !== undefined) throw new JournalError(problem);
    const path = journalFile(this.#options.directory, seq + 1);
    const file = await AppendFile.open(path);
    try {
      // An attempt that failed may have left something.
      if (file.size > 0) await file.cutBack(0);
      await this.#beside.continueIn(path);
      // Everything in the file before is durable: what follows is the end of the journal.
      await this.#writer.sync();
      return file;
    } catch (error) {
      await file[Symbol.asyncDispose]();
      throw error;
    }
  }

  #notify(kind: JournalNotice["kind"], message: string): void {
    try {
      this.#options.onNotice({ kind, message });
    } catch {
      // A listener must not affect the journal.
    }
  }
}
