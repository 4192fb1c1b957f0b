import { closeSync, fsyncSync, openSync, readFileSync, renameSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { syscall, syscallUnless } from "../../workspace/error.ts";
import { syncDirectory } from "../workspace-places.ts";
import type { AcceptingRecord } from "./step.ts";

/** The file in a session's folder in which accepting changes is recorded, before each state begins. */
export class AcceptingJournal {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns what was recorded; `undefined` if no changes were being accepted. */
  read(): AcceptingRecord | undefined {
    const text = syscallUnless(["no-entry"], () => readFileSync(this.#file, "utf8"));
    return text === undefined ? undefined : (JSON.parse(text) as AcceptingRecord);
  }

  /** Replaces what was recorded. It survives a power failure. */
  write(record: AcceptingRecord): void {
    const temporary = `${this.#file}.new`;
    syscall(() => {
      const fd = openSync(temporary, "w", 0o600);
      try {
        writeSync(fd, JSON.stringify(record));
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
      renameSync(temporary, this.#file);
    });
    this.#sync();
  }

  /** Says that nothing is being accepted any more. */
  remove(): void {
    syscallUnless(["no-entry"], () => unlinkSync(this.#file));
    this.#sync();
  }

  get #file(): string {
    return join(this.#folder, "accepting.json");
  }

  #sync(): void {
    syscall(() => syncDirectory(this.#folder));
  }
}
