import { statSync } from "node:fs";
import { basename, join } from "node:path";
import { OpenFilePlace } from "../../base/open-file-place.ts";
import { FileLock } from "../../base/own-files.ts";
import { JournalError } from "../journal-error.ts";
import { besideFile } from "./file-names.ts";

const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
const SQLITE_CANTOPEN = 14;

/** Prevents other processes from writing to a directory, as long as its file `lock` is the one that is locked. */
export class DirectoryLock implements Disposable {
  readonly #lock: FileLock;
  readonly #place: OpenFilePlace;
  readonly #directory: string;
  #lost: string | undefined;

  /** @throws {JournalError} if the directory is locked, or the lock cannot be written. */
  constructor(directory: string) {
    const path = join(directory, "lock");
    try {
      this.#lock = new FileLock(path, 0);
    } catch (error) {
      throw new JournalError(whyNotLocked(directory, path, error));
    }
    this.#place = new OpenFilePlace(path);
    this.#directory = directory;
  }

  /** Why another process could write to the directory; `undefined` if none can. */
  get problem(): string | undefined {
    const problem = this.#place.problem ?? this.#lost;
    return problem === undefined ? undefined : `the journal is no longer locked: ${problem}`;
  }

  /** Takes the lock again if this process has lost it: any code of it that closes the file ends the kernel's lock. */
  renew(): void {
    if (this.#place.problem !== undefined) return;
    try {
      this.#lock.renew();
      this.#lost = undefined;
    } catch (error) {
      this.#lost = whyNotLocked(this.#directory, this.#place.path, error);
    }
  }

  [Symbol.dispose](): void {
    this.#lock[Symbol.dispose]();
  }
}

/** Both errors of SQLite and of the file system get here. */
function whyNotLocked(directory: string, path: string, error: unknown): string {
  const { code = "", errcode, message } = error as NodeJS.ErrnoException & { readonly errcode?: number };
  // The low byte is the primary result code.
  const primary = (errcode ?? 0) & 0xff;
  if (primary === SQLITE_BUSY)
    return `the journal in '${directory}' is open already, in this process or in another one`;
  if (primary === SQLITE_READONLY || primary === SQLITE_CANTOPEN)
    return `the journal in '${directory}' cannot be opened: this user cannot write '${path}'`;
  if (["EACCES", "EPERM", "EROFS"].includes(code))
    return `the journal in '${directory}' cannot be opened: this user cannot write to that folder (${code})`;
  return `the journal in '${directory}' cannot be locked: ${message}`;
}

/** How many files are looked at in one turn, since each takes a few microseconds. */
const MAX_LOOKED_AT = 64;

/** An earlier file that is no longer as it was. */
export interface EarlierFileProblem {
  readonly path: string;
  /** The number of the first record of the file, or of the one beside which it stands. */
  readonly firstSeq: number;
  readonly isRemoved: boolean;
}

/**
 * The files of a journal before its last one, to which nothing is written, and what stands beside them. Notices if one is
 * removed, replaced or changed.
 */
export class EarlierFiles {
  /** What identifies a file and its content, by its path. */
  readonly #states = new Map<string, string>();
  /** The paths that are still to be looked at in this round. */
  #round: string[] = [];

  /** Adds a file with records as it is now. */
  add(path: string): void {
    for (const each of [path, besideFile(path, "checkpoints"), besideFile(path, "sealed")]) {
      const state = stateOf(each);
      if (state !== undefined) this.#states.set(each, state);
    }
  }

  /** Looks at some of the files, and returns what is wrong with them. Each file is reported once. */
  look(): readonly EarlierFileProblem[] {
    if (this.#round.length === 0) this.#round = [...this.#states.keys()];
    return this.#round.splice(0, MAX_LOOKED_AT).flatMap((path) => {
      const state = stateOf(path);
      if (state === this.#states.get(path)) return [];
      this.#states.delete(path);
      return [{ path, firstSeq: Number(/\d{16}/.exec(basename(path))?.[0]), isRemoved: state === undefined }];
    });
  }
}

function stateOf(path: string): string | undefined {
  try {
    const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true });
    return `${dev} ${ino} ${size} ${mtimeNs}`;
  } catch {
    return undefined;
  }
}
