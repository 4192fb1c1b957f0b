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
import { isObject, isPath, parseRecord } from "../../workspace/staged/parse-record.ts";
import { readOwnFile } from "../../workspace/staged/read-own-file.ts";
import type { StagedRecord } from "../../workspace/staged/staged-record.ts";
import { syncDirectory } from "../workspace-places.ts";
import type { AcceptingRecord, Step } from "./step.ts";

const STATES: readonly unknown[] = ["preparing", "applying", "undoing", "done"];

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

/**
 * Reads the record of changes that were being accepted, which others than Sandgate can have written.
 *
 * @returns `undefined` if it is not one that Sandgate writes.
 */
function parseAccepting(value: unknown): AcceptingRecord | undefined {
  if (!isObject(value)) return undefined;
  const { process, state, made, steps, records } = value;
  if (typeof process !== "string" || !STATES.includes(state)) return undefined;
  if (!isArrayOf(made, isPath) || !isArrayOf(steps, isStep) || !isArrayOf(records, isRecord))
    return undefined;
  return { process, state: state as AcceptingRecord["state"], made, steps, records };
}

function isArrayOf<Item>(value: unknown, is: (item: unknown) => item is Item): value is readonly Item[] {
  return Array.isArray(value) && value.every(is);
}

function isRecord(value: unknown): value is StagedRecord {
  return parseRecord(value) !== undefined;
}

function isStep(value: unknown): value is Step {
  if (!isObject(value)) return false;
  const { kind, path, backup, version, temporary, identity, mode } = value;
  if (!isPath(path)) return false;
  switch (kind) {
    case "create-folder":
      return true;
    case "remove-folder":
      return Number.isSafeInteger(mode) && Number(mode) >= 0 && Number(mode) <= 0o7777;
    case "remove":
      return isPath(backup) && typeof version === "string";
    case "place":
      return (
        isPath(temporary) &&
        typeof identity === "string" &&
        (backup === null || isPath(backup)) &&
        (version === null || typeof version === "string")
      );
    default:
      return false;
  }
}
