import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { parseEntry } from "../line/entry.ts";
import { type JournalPosition, readJournal } from "../read/read-journal.ts";
import { type JournalFileName, listFiles } from "../storage/file-names.ts";
import { replaceFile } from "../storage/file-writing.ts";
import { backwardLines, LineReader, readWhole } from "../storage/line-reader.ts";
import { CallIndex, COUNTED_MS, type StoredIndex } from "./call-index.ts";

/** The format of the file. One of another format is made anew. */
const FORMAT = 1;

/** The last record that was counted, and where the next one begins. */
interface Counted {
  /** Without its folder. */
  readonly file: string;
  readonly offset: number;
  readonly seq: number;
  readonly prev: string;
}

/** The counters of a journal's calls up to a record. They can be stored beside the journal, and made anew from it. */
export class JournalIndex {
  #calls = new CallIndex();
  readonly #directory: string;
  #position: JournalPosition | undefined;
  #last: Counted | undefined;
  /** The number of records that were counted since the index was stored. */
  unsaved = 0;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Opens the stored index of a journal. If it does not exist, or does not fit the journal, indexing begins with the oldest
   * calls that are counted.
   *
   * @throws {JournalError} as a rejection, if a file of the journal cannot be read.
   */
  static async open(directory: string): Promise<JournalIndex> {
    const index = new JournalIndex(directory);
    if (!(await index.#restore())) index.#position = await firstCounted(directory);
    return index;
  }

  get calls(): CallIndex {
    return this.#calls;
  }

  /** The number of bytes of the journal that were not counted yet. */
  async bytesBehind(): Promise<number> {
    let bytes = 0;
    const { file = "", offset = 0 } = this.#position ?? {};
    for (const { path } of await listFiles(this.#directory)) {
      if (path < file) continue;
      bytes += (await stat(path)).size - (path === file ? offset : 0);
    }
    return bytes;
  }

  /**
   * Counts the records up to the last one, in batches, for each of which it yields.
   *
   * @throws {JournalError} if a file cannot be read.
   */
  async *readOn(): AsyncGenerator<void, void, undefined> {
    for await (const { entries, next } of readJournal(this.#directory, this.#position)) {
      for (const entry of entries) this.#calls.take(entry);
      const last = entries.at(-1);
      if (last !== undefined)
        this.#last = { file: basename(next.file), offset: next.offset, seq: last.seq, prev: last.prev };
      this.#position = next;
      this.unsaved += entries.length;
      yield;
    }
  }

  /** Stores the index, for the next process. */
  async save(): Promise<void> {
    this.unsaved = 0;
    const path = indexFile(this.#directory);
    const text = JSON.stringify({ format: FORMAT, last: this.#last, calls: this.#calls.store() });
    try {
      await replaceFile(path, text);
    } catch {
      // It is made anew from the journal.
    }
  }

  /** Whether what is stored fits the journal. */
  async #restore(): Promise<boolean> {
    try {
      const text = await readWhole(indexFile(this.#directory));
      if (text === undefined) return false;
      const { format, last, calls } = JSON.parse(text) as {
        format: number;
        last: Counted;
        calls: StoredIndex;
      };
      if (format !== FORMAT) return false;
      const file = join(this.#directory, basename(last.file));
      if (!(await endsWith(file, last))) return false;
      const restored = new CallIndex();
      restored.restore(calls);
      this.#calls = restored;
      this.#last = last;
      this.#position = { file, offset: last.offset };
      return true;
    } catch {
      return false;
    }
  }
}

function indexFile(directory: string): string {
  return join(directory, "overview.json");
}

/** Whether a file has a record before a position. */
async function endsWith(file: string, { offset, seq, prev }: Counted): Promise<boolean> {
  for await (const [line] of backwardLines(file, offset)) {
    const entry = line && parseEntry(line.bytes.toString());
    return entry !== undefined && entry.seq === seq && entry.prev === prev;
  }
  return false;
}

/** Where the calls begin that are counted: files that are continued by an older one are left out. */
async function firstCounted(directory: string): Promise<JournalPosition | undefined> {
  const files = await listFiles(directory);
  const oldest = Date.now() - COUNTED_MS;
  let first = files[0];
  for (const file of files.slice(1)) {
    const at = await firstTime(file);
    if (at === undefined || at > oldest) break;
    first = file;
  }
  return first && { file: first.path, offset: 0 };
}

async function firstTime({ path }: JournalFileName): Promise<number | undefined> {
  for await (const [line] of new LineReader(path).batches())
    return line && parseEntry(line.bytes.toString())?.at;
  return undefined;
}
