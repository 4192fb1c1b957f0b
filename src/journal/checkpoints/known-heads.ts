import { JournalError } from "../journal-error.ts";
import { besideFile } from "../storage/file-names.ts";
import { readWhole } from "../storage/line-reader.ts";
import { parseCheckpoints } from "./checkpoint.ts";

/** What a checkpoint says of a journal: the digest of its last line, when it had so many records. */
export interface KnownHead {
  readonly records: number;
  readonly digest: string;
  /** The path of the file with the checkpoint. */
  readonly source: string;
}

/** Compares a journal that is being opened with what is known of it. */
export class KnownHeads {
  readonly #heads = new Map<number, KnownHead>();
  /** The one with the most records. */
  #last: KnownHead | undefined;

  /** @throws {JournalError} if two heads contradict each other. */
  add(head: KnownHead): void {
    this.compare(head.records, head.digest);
    this.#heads.set(head.records, head);
    if (head.records > (this.#last?.records ?? 0)) this.#last = head;
  }

  /**
   * Adds the checkpoints beside a file of the journal. Who signed them does not matter: those of others contradict, too.
   *
   * @throws {JournalError} as a rejection, if they cannot be read, or two contradict each other.
   */
  async addBeside(path: string): Promise<void> {
    const source = besideFile(path, "checkpoints");
    for (const { records, digest } of parseCheckpoints((await readWhole(source)) ?? "").checkpoints)
      this.add({ records, digest, source });
  }

  /** @throws {JournalError} if the digest of a line is another one than is known. */
  compare(seq: number, digest: string): void {
    const known = this.#heads.get(seq);
    if (known !== undefined && known.digest !== digest) throw contradicts(known);
  }

  /** @throws {JournalError} if more records are known than there are. */
  finish(records: number): void {
    if (this.#last !== undefined && this.#last.records > records) throw contradicts(this.#last);
  }
}

function contradicts({ records, source }: KnownHead): JournalError {
  return new JournalError(
    `the journal contradicts its checkpoint of ${records} records in '${source}': nothing can be added to it. See sandgate journal verify`,
  );
}
