import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createJournalKeys, type JournalKeys } from "../../../src/journal/checkpoints/signed-note.ts";
import { type Journal, openJournal } from "../../../src/journal/journal.ts";
import type { JournalNotice } from "../../../src/journal/options.ts";
import {
  type MachinesReport,
  type VerifyJournalsOptions,
  verifyJournals,
} from "../../../src/journal/verify/verify-journals.ts";
import { TemporaryDirectory } from "../records.ts";

/** Machines with a journal each, which name each other. */
export class Machines implements Disposable {
  readonly keys: readonly JournalKeys[];
  readonly notices: JournalNotice[] = [];
  readonly #folder = new TemporaryDirectory();

  constructor(count: number) {
    this.keys = Array.from({ length: count }, (_, index) => createJournalKeys(`example.com/${index}`));
    mkdirSync(this.shared);
  }

  get shared(): string {
    return join(this.#folder.path, "shared");
  }

  directory(index: number): string {
    return join(this.#folder.path, String(index));
  }

  open(index: number): Promise<Journal> {
    return openJournal({
      directory: this.directory(index),
      key: this.keys[index]?.signer ?? "",
      peers: { directory: this.shared, keys: this.keys.map(({ verifier }) => verifier) },
      onNotice: (notice) => this.notices.push(notice),
    });
  }

  /** The checkpoints that are beside a journal. */
  checkpoints(index: number): string {
    return readFileSync(join(this.directory(index), "journal-0000000000000001.checkpoints"), "utf8");
  }

  /** Removes the records of a journal after some, with the checkpoints that cover them. */
  cut(index: number, records: number): void {
    const file = join(this.directory(index), "journal-0000000000000001.jsonl");
    const kept = readFileSync(file, "utf8").split("\n").slice(0, records);
    writeFileSync(file, `${kept.join("\n")}\n`);
    rmSync(join(this.directory(index), "journal-0000000000000001.checkpoints"));
  }

  verify(options: Partial<VerifyJournalsOptions> = {}): Promise<MachinesReport> {
    return verifyJournals({
      directories: this.keys.map((_, index) => this.directory(index)),
      keys: this.keys.map(({ verifier }) => verifier),
      ...options,
    });
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]();
  }
}
