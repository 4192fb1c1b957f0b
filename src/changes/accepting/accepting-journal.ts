import {
  closeSync,
  constants,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { syscall, syscallUnless } from "../../workspace/error.ts";
import {
  isObject,
  isPath,
  parseRecord,
  readOwnFile,
  type StagedRecord,
} from "../../workspace/staged/staged-record.ts";
import { syncDirectory } from "../workspace-places.ts";

/**
 * One step of accepting changes. After a crash, one can find out whether it was done, and repeat or undo it. All paths are
 * relative to the workspace; `temporary` and `backup` are names that only Sandgate uses.
 */
export type Step =
  | RemoveStep
  | { readonly kind: "remove-folder"; readonly path: string; readonly mode: number }
  | { readonly kind: "create-folder"; readonly path: string }
  | PlaceStep;

/** Moves a file or a link to its backup, which is removed at the end. */
export interface RemoveStep {
  readonly kind: "remove";
  readonly path: string;
  readonly backup: string;
  /** The version that is removed. */
  readonly version: string;
}

/** Renames a temporary file beside it to the new or changed file. */
export interface PlaceStep {
  readonly kind: "place";
  readonly path: string;
  readonly temporary: string;
  /** What identifies the temporary file. */
  readonly identity: string;
  /** A copy of the file that is replaced; `null` for a new one. */
  readonly backup: string | null;
  /** The version that is replaced; `null` for a new file. */
  readonly version: string | null;
}

/** The progress of a process that accepts changes. */
export interface AcceptingRecord {
  /** Identifies the process. */
  readonly process: string;
  /**
   * While `preparing`, only the files in `made` exist. Once `applying`, all steps are done, and if one cannot be done, all
   * are undone (`undoing`). When all are `done`, the files in `made` that are left have no use.
   */
  readonly state: "preparing" | "applying" | "undoing" | "done";
  /** Temporary files and backups. */
  readonly made: readonly string[];
  readonly steps: readonly Step[];
  /** The changes, which are no longer staged once they have been made. */
  readonly records: readonly StagedRecord[];
}

const STATES: readonly unknown[] = ["preparing", "applying", "undoing", "done"];

/** Maximum size of a record, with 100,000 changes of a shadow and their steps. */
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
   * Replaces the state of what was recorded, in its place: that takes no space, so that it also works on a full
   * disk, and cannot be written in part.
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

  /** Ends accepting: nothing is left to complete or undo. */
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
function textOf({ state, ...record }: AcceptingRecord): string {
  return `${BEGINNING}${stateText(state)},${JSON.stringify(record).slice(1)}`;
}

/** All states are equally long. */
function stateText(state: AcceptingRecord["state"]): string {
  return JSON.stringify(state).padEnd('"preparing"'.length);
}

/**
 * Reads the record of changes that were being accepted, which other programs can have written.
 *
 * @returns `undefined` if Sandgate has not written it.
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

/** Identifies this process among all that this machine has run since it was started. */
export function ownProcess(): string {
  return `${process.pid}:${startOf(process.pid)}`;
}

/** Whether the process that a record names is still running. */
export function isRunning(id: string): boolean {
  const pid = Number(id.split(":", 1)[0]);
  return Number.isSafeInteger(pid) && pid > 0 && id === `${pid}:${startOf(pid)}`;
}

/** When a process began, in clock ticks since the machine was started (`proc_pid_stat(5)`); empty if it is not running. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // Its second field, the name of the program, can contain anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? "" : (fields[19] ?? "");
  } catch {
    return "";
  }
}
