import {
  closeSync,
  constants,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { syscall, syscallUnless } from "../../workspace/error.ts";
import { readOwnFile } from "../../workspace/held/read-own-file.ts";
import { syncDirectory } from "../workspace-places.ts";
import { parseAccepting } from "./parse-accepting.ts";
import type { AcceptingRecord } from "./step.ts";

/** The size of the longest record: of 100,000 changes of a shadow, with their steps. */
const MAX_BYTES: number = 256 * 1_024 * 1_024;

/** The file in a session's folder in which accepting changes is recorded, before each state begins. */
export class AcceptingJournal {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns what was recorded; `undefined` if no changes were being accepted, or Sandgate has not written it. */
  read(): AcceptingRecord | undefined {
    return parseAccepting(readOwnFile(this.#file, MAX_BYTES));
  }

  /** Replaces what was recorded. It survives a power failure. */
  write(record: AcceptingRecord): void {
    const temporary = `${this.#file}.new`;
    syscall(() => {
      rmSync(temporary, { recursive: true, force: true });
      const fd = openSync(temporary, "wx", 0o600);
      try {
        // On a full disk, `writeSync` may write only the beginning.
        writeFileSync(fd, textOf(record));
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
      renameSync(temporary, this.#file);
    });
    this.#sync();
  }

  /**
   * Replaces the state of what was recorded, in its place: that takes no space, so that what was begun can be ended on a
   * full disk. Nor can it be written in part.
   */
  setState(state: AcceptingRecord["state"]): void {
    syscall(() => {
      const fd = openSync(this.#file, constants.O_WRONLY | constants.O_NOFOLLOW);
      try {
        writeSync(fd, stateText(state), BEGINNING.length);
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
    });
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

const BEGINNING = '{"state":';

/** The state comes first, at the same place in every record. */
function textOf({ state, ...others }: AcceptingRecord): string {
  return `${BEGINNING}${stateText(state)},${JSON.stringify(others).slice(1)}`;
}

/** All states are equally long. */
function stateText(state: AcceptingRecord["state"]): string {
  return JSON.stringify(state).padEnd('"preparing"'.length);
}
