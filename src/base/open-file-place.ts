import { type BigIntStats, linkSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";

/**
 * The path of a file that this process has open. Other processes find the file only by its path: if the file was removed, renamed or
 * replaced, what is still written to it is lost.
 */
export class OpenFilePlace {
  readonly path: string;
  readonly #device: bigint;
  readonly #inode: bigint;

  /**
   * @param opened The status of the file that is open. Default: that of the path.
   * @throws {Error} if the path does not exist.
   */
  constructor(path: string, opened: BigIntStats = statSync(path, { bigint: true })) {
    this.path = path;
    this.#device = opened.dev;
    this.#inode = opened.ino;
  }

  /** Why what is written to the file is lost; `undefined` if the path leads to it. */
  get problem(): string | undefined {
    const found = this.look();
    return typeof found === "string" ? found : undefined;
  }

  /**
   * Returns the size of the file in bytes, or why what is written to it is lost. Synchronous, since the kernel has the answer
   * in memory: it takes 2 µs, and in another thread 20 µs or more.
   */
  look(): number | string {
    let found: BigIntStats | undefined;
    try {
      found = statSync(this.path, { bigint: true, throwIfNoEntry: false });
    } catch (error) {
      return `'${this.path}' cannot be found: ${(error as NodeJS.ErrnoException).code}`;
    }
    if (found === undefined) return `'${this.path}' was removed or renamed while it was open`;
    if (!this.#isThis(found)) return `'${this.path}' was replaced by another file while it was open`;
    if ((found.mode & OWNER_WRITES) === 0n) return `'${this.path}' was made read-only`;
    return Number(found.size);
  }

  /** Whether the path leads to another file. */
  get isReplaced(): boolean {
    const found = statSync(this.path, { bigint: true, throwIfNoEntry: false });
    return found !== undefined && !this.#isThis(found);
  }

  #isThis({ dev, ino }: BigIntStats): boolean {
    return dev === this.#device && ino === this.#inode;
  }
}

const OWNER_WRITES = 0o200n;

/** The place of a file that only becomes longer, as those of a database do that is never vacuumed. */
class GrowingFilePlace extends OpenFilePlace {
  /** When it was last looked at. */
  #size = 0;

  override get problem(): string | undefined {
    const found = this.look();
    if (typeof found === "string") return found;
    if (found < this.#size) return `'${this.path}' was cut to ${found} bytes by another process`;
    this.#size = found;
    return undefined;
  }
}

/**
 * Returns where a database is, without links: beside that, SQLite keeps its log.
 *
 * @throws {Error} if it does not exist, or has several hard links.
 */
export function databasePath(file: string): string {
  const path = realpathSync(file);
  if (statSync(path).nlink > 1)
    throw new Error(
      "the file has several hard links, each of which would have a log of its own: remove the others, or name a copy of the file",
    );
  return path;
}

/** The places of an SQLite database that this process has open, in WAL mode. */
export class OpenDatabasePlace {
  readonly #file: GrowingFilePlace;
  /** What was committed last is in this file only. */
  readonly #log: GrowingFilePlace;

  /** @throws {Error} if a file does not exist. */
  constructor(file: string) {
    const path = realpathSync(file);
    this.#file = new GrowingFilePlace(path);
    this.#log = new GrowingFilePlace(`${path}-wal`);
  }

  /** Why what is committed is lost; `undefined` if it is not. */
  get problem(): string | undefined {
    return this.#file.problem ?? this.#log.problem;
  }

  /** Closes the database. SQLite then removes its log by its path, where another database may have its own by now. */
  close(database: { readonly isOpen: boolean; close(): void }): void {
    if (!database.isOpen) return;
    const { path } = this.#log;
    const other = this.#log.isReplaced ? linkTo(path) : undefined;
    database.close();
    if (other === undefined) return;
    renameSync(other, path);
    // Renaming does nothing if both are names of one file.
    rmSync(other, { force: true });
  }
}

/** Gives a file another name. Returns `undefined` if that cannot be done, as for a folder, which SQLite does not remove either. */
function linkTo(path: string): string | undefined {
  const name = `${path}.${process.pid}`;
  try {
    linkSync(path, name);
    return name;
  } catch {
    return undefined;
  }
}
