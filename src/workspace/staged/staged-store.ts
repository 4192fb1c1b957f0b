import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, posix } from "node:path";
import { loadCrypto } from "../../base/load-crypto.ts";
import { isNewerFormat, newerFormatText } from "../../base/own-files.ts";
import { syscall, syscallUnless, WorkspaceError } from "../error.ts";
import { DIRECTORY_FLAGS } from "../paths.ts";
import type { StagedAmount } from "./staged-quota.ts";
import { HELD_NAME, parseRecord, readOwnFile, type StagedRecord } from "./staged-record.ts";

/** The format of the folder with all that is in it. Before it was written down, it was the first one, too. */
const FORMAT = 1;
const MAX_FORMAT_BYTES = 100;

/** Maximum size of a record, whose paths are escaped. */
const MAX_RECORD_BYTES = 65_536;

/**
 * The staged changes of a session, in a folder of its own. `contents/` has the new versions of files, and `records/` has a
 * file for each change, in a folder for each directory of the workspace. No name in it comes from a tool.
 *
 * Nothing is retained in memory, so that what is staged survives the process: a record replaces another one as a whole, after the
 * contents that it names have been written. It need not survive a power failure.
 */
export class StagedStore {
  readonly folder: string;
  /** The folder of the new versions of files. */
  readonly contents: string;
  readonly #records: string;
  /** Whether nothing can be changed, since changes are being accepted or rejected. */
  isLocked = false;

  /**
   * @param folder The absolute path of a directory, reached without links.
   * @throws {WorkspaceError} if a link or a file is in the place of a directory in it, or its format is a newer one.
   */
  constructor(folder: string) {
    this.folder = folder;
    this.contents = join(folder, "contents");
    this.#records = join(folder, "records");
    ensureFormat(join(folder, "format.json"));
    ensureDirectory(this.contents);
    ensureDirectory(this.#records);
  }

  /** Returns the staged change of a path; `undefined` if there is none. */
  find(path: string): StagedRecord | undefined {
    const record = readRecord(this.#fileOf(path));
    return record?.path === path ? record : undefined;
  }

  /** Returns the changes that are staged of the entries of a directory. */
  in(directory: string): readonly StagedRecord[] {
    return this.#readAll(join(this.#records, digest(directory)));
  }

  /** Returns all changes, sorted by path. */
  all(): readonly StagedRecord[] {
    const folders = syscall(() => readdirSync(this.#records)).filter((name) => HELD_NAME.test(name));
    const records = folders.flatMap((name) => this.#readAll(join(this.#records, name)));
    return records.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** Stores a change, replacing one of the same path. */
  put(record: StagedRecord): void {
    const file = this.#fileOf(record.path);
    const temporary = join(this.#records, `.${this.newContent()}`);
    syscall(() => {
      ensureDirectory(dirname(file));
      writeFileSync(temporary, JSON.stringify(record), { flag: "wx", mode: 0o600 });
      renameSync(temporary, file);
    });
  }

  /** Removes a change, if it is still the same. Returns whether it was. */
  remove(record: StagedRecord): boolean {
    const found = this.find(record.path);
    if (JSON.stringify(found) !== JSON.stringify(record)) return false;
    const file = this.#fileOf(record.path);
    syscallUnless(["no-entry"], () => unlinkSync(file));
    syscallUnless(["not-empty", "no-entry"], () => rmdirSync(dirname(file)));
    return true;
  }

  /** Returns a name for new contents that is not in use. */
  newContent(): string {
    return loadCrypto().randomBytes(16).toString("hex");
  }

  /** Removes contents that no record names any more. Returns their size in bytes. */
  removeContent(content: string): number {
    const path = join(this.contents, content);
    const bytes = syscallUnless(["no-entry"], () => lstatSync(path).size) ?? 0;
    syscallUnless(["no-entry"], () => unlinkSync(path));
    return bytes;
  }

  /** Returns how much is staged. */
  amount(): StagedAmount {
    const sizes = syscall(() => readdirSync(this.contents)).map((name) => this.#size(name));
    return { bytes: sizes.reduce((sum, size) => sum + size, 0), entries: this.all().length };
  }

  /** Removes the contents that no record names, which an earlier process has left behind. No call may be under way. */
  sweep(): void {
    const named = new Set(this.all().map(({ now }) => (now.kind === "file" ? now.content : "")));
    for (const name of syscall(() => readdirSync(this.contents))) {
      if (!named.has(name)) this.removeContent(name);
    }
  }

  #size(content: string): number {
    return syscallUnless(["no-entry"], () => lstatSync(join(this.contents, content)).size) ?? 0;
  }

  #fileOf(path: string): string {
    return join(this.#records, digest(posix.dirname(path)), digest(path));
  }

  #readAll(folder: string): StagedRecord[] {
    if (syscallUnless(["no-entry"], () => lstatSync(folder).isDirectory()) !== true) return [];
    const names = syscallUnless(["no-entry"], () => readdirSync(folder)) ?? [];
    return names.flatMap((name) => {
      const file = join(folder, name);
      const record = HELD_NAME.test(name) ? readRecord(file) : undefined;
      return record !== undefined && this.#fileOf(record.path) === file ? [record] : [];
    });
  }
}

/** Creates a directory, unless it exists. */
function ensureDirectory(path: string): void {
  syscallUnless(["exist"], () => mkdirSync(path, { mode: 0o700 }));
  // A link that a repository brought would lead out of the workspace.
  closeSync(syscall(() => openSync(path, DIRECTORY_FLAGS)));
}

/** Paths as names of files: short, and without meaning to any program. */
function digest(path: string): string {
  return loadCrypto().createHash("sha256").update(path).digest("hex").slice(0, 32);
}

function readRecord(file: string): StagedRecord | undefined {
  return parseRecord(readOwnFile(file, MAX_RECORD_BYTES));
}

/** Writes the number of the format, unless it is there. Others can have written the file. */
function ensureFormat(file: string): void {
  const found = readOwnFile(file, MAX_FORMAT_BYTES);
  if (isNewerFormat(found, FORMAT))
    throw new WorkspaceError("unsupported", `the folder of held changes ${newerFormatText(found, FORMAT)}`);
  if (found === undefined)
    syscallUnless(["exist"], () => writeFileSync(file, `${FORMAT}\n`, { flag: "wx", mode: 0o600 }));
}
