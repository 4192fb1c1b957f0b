import { existsSync } from "node:fs";
import { loadCrypto } from "../../base/load-crypto.ts";
import type { JournalEntry } from "../line/entry.ts";
import { besideFile, type JournalFileName } from "../storage/file-names.ts";
import { LineReader } from "../storage/line-reader.ts";
import type { JournalContradiction } from "./report.ts";

/** Checks that the sealed arguments which records name stand beside them, as they were written. */
export class SealedCheck {
  /** Whether the files are a whole directory. Copies of some files may be without their sealed arguments. */
  readonly #isWhole: boolean;
  /** The records of the file that is being read, by the digests of their sealed arguments. */
  #wanted = new Map<string, number>();
  #before: string | undefined;
  #problem: JournalContradiction | undefined;

  constructor({ isWhole }: { readonly isWhole: boolean }) {
    this.#isWhole = isWhole;
  }

  /** The first contradiction. */
  get problem(): JournalContradiction | undefined {
    return this.#problem;
  }

  /** Takes note of the next record. */
  follow({ sealed, seq }: JournalEntry): void {
    if (typeof sealed === "string" && !this.#wanted.has(sealed)) this.#wanted.set(sealed, seq);
  }

  /** Compares the records since the last call with what stands beside their file. */
  async endFile({ path }: JournalFileName): Promise<void> {
    const file = besideFile(path, "sealed");
    const before = this.#before;
    this.#before = file;
    const wanted = this.#wanted;
    this.#wanted = new Map();
    if (wanted.size === 0 || this.#problem !== undefined) return;
    if (!this.#isWhole && !existsSync(file)) return;
    await strike(wanted, file);
    // The first records of a file could have theirs beside the file before, in journals of earlier versions.
    if (wanted.size > 0 && before !== undefined) await strike(wanted, before);
    const [seq] = wanted.values();
    if (seq === undefined) return;
    const message = `the sealed arguments of record ${seq} were changed, or are missing`;
    this.#problem = { kind: "sealed", seq, file, message };
  }
}

/** Removes what stands in a file. */
async function strike(wanted: Map<string, number>, file: string): Promise<void> {
  if (!existsSync(file)) return;
  for await (const lines of new LineReader(file).batches()) {
    for (const { bytes } of lines) wanted.delete(loadCrypto().hash("sha256", bytes));
    if (wanted.size === 0) return;
  }
}
