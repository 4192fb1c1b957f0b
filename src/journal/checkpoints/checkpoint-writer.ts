import { JournalError } from "../journal-error.ts";
import { AppendFile } from "../storage/append-file.ts";
import type { ChainHead } from "../write/recover.ts";
import type { Anchors } from "./anchors.ts";
import { parseCheckpoints, signCheckpoint } from "./checkpoint.ts";
import { readVerifierKey, type SigningKey } from "./note-keys.ts";
import { checkNote } from "./signed-note.ts";

/** A checkpoint is signed after so many records. */
const MAX_RECORDS = 1_000;
/** A checkpoint is signed at most so long after a record. */
const MAX_AGE_MS = 1_000;

interface OwnCheckpoints {
  readonly file: AppendFile;
  /** The number of records that they cover. */
  readonly covered: number;
}

/** Signs checkpoints of a journal, keeps them in a file beside it and copies them to its anchors. */
export class CheckpointWriter implements AsyncDisposable {
  readonly #key: SigningKey;
  readonly #anchors: Anchors;
  /** Makes the journal durable: a checkpoint must not be ahead of it. */
  readonly #sync: () => Promise<void>;
  readonly #onFailed: (reason: string) => void;
  #file: AppendFile;
  /** The end of the journal. */
  #head: ChainHead;
  /** The number of records that the last checkpoint covers. */
  #covered: number;
  #timer: NodeJS.Timeout | undefined;
  #signing: Promise<void> | undefined;

  private constructor(
    key: SigningKey,
    { file, covered }: OwnCheckpoints,
    head: ChainHead,
    anchors: Anchors,
    sync: () => Promise<void>,
    onFailed: (reason: string) => void,
  ) {
    this.#key = key;
    this.#file = file;
    this.#head = head;
    this.#covered = covered;
    this.#anchors = anchors;
    this.#sync = sync;
    this.#onFailed = onFailed;
  }

  /**
   * Opens the checkpoints beside a journal's last file.
   *
   * @param head The end of the journal.
   * @throws {JournalError} if the journal has fewer records than its last checkpoint.
   */
  static async open(
    path: string,
    key: SigningKey,
    head: ChainHead,
    anchors: Anchors,
    sync: () => Promise<void>,
    onFailed: (reason: string) => void,
  ): Promise<CheckpointWriter> {
    return new CheckpointWriter(key, await openOwn(path, key, head), head, anchors, sync, onFailed);
  }

  /** Takes note of the journal's new end. */
  follow(head: ChainHead): void {
    this.#head = head;
    if (head.seq - this.#covered >= MAX_RECORDS) this.#signing ??= this.#sign();
    else this.#timer ??= setTimeout(this.#onTimer, MAX_AGE_MS).unref();
  }

  /** Signs the journal's end, unless a checkpoint covers it. */
  async signNow(): Promise<void> {
    await this.#signing;
    if (this.#head.seq <= this.#covered) return;
    this.#signing ??= this.#sign();
    await this.#signing;
  }

  /** Puts the following checkpoints in a file beside the journal's next file. */
  async continueIn(path: string): Promise<void> {
    const next = await AppendFile.open(path);
    await this.signNow();
    const before = this.#file;
    this.#file = next;
    await before[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    await this.#signing;
    await this.#file[Symbol.asyncDispose]();
    await this.#anchors[Symbol.asyncDispose]();
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    if (this.#head.seq > this.#covered) this.#signing ??= this.#sign();
  };

  /** Never rejects: the journal itself is sound, and the next checkpoint covers the same records. */
  async #sign(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { seq, digest } = this.#head;
    try {
      await this.#sync();
      const note = signCheckpoint(seq, digest, this.#key);
      await this.#file.append(Buffer.from(`${this.#file.size === 0 ? "" : "\n"}${note}`));
      this.#covered = seq;
      this.#anchors.copy(note);
    } catch (error) {
      this.#onFailed((error as Error).message);
      this.#timer ??= setTimeout(this.#onTimer, MAX_AGE_MS).unref();
    }
    this.#signing = undefined;
    if (this.#head.seq - this.#covered >= 2 * MAX_RECORDS) this.#signing = this.#sign();
    else if (this.#head.seq > this.#covered) this.#timer ??= setTimeout(this.#onTimer, MAX_AGE_MS).unref();
  }
}

async function openOwn(path: string, key: SigningKey, head: ChainHead): Promise<OwnCheckpoints> {
  const file = await AppendFile.open(path);
  try {
    const text = (await file.readFrom(0)).toString();
    const { checkpoints, rest } = parseCheckpoints(text);
    // A crash can leave a part of a checkpoint.
    if (rest !== "") await file.cutBack(file.size - Buffer.byteLength(rest));
    const trusted = [readVerifierKey(key.verifier)];
    const own = checkpoints.filter(({ note }) => checkNote(note, trusted) === "signed");
    const last = own.at(-1);
    if (
      last !== undefined &&
      (last.records > head.seq || (last.records === head.seq && last.digest !== head.digest))
    ) {
      throw new JournalError(
        `the journal contradicts its checkpoint of ${last.records} records: nothing can be added to it. See sandgate journal verify`,
      );
    }
    return { file, covered: last?.records ?? 0 };
  } catch (error) {
    await file[Symbol.asyncDispose]();
    throw error;
  }
}
