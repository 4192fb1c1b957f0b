import { randomUUID } from "node:crypto";
import { constants, createWriteStream, utimesSync } from "node:fs";
import { access, lstat, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { guardFiles } from "../../../base/guarded-files.ts";
import { copyMemory, pageEnd } from "./memory-file.ts";

const PRIVATE_DIRECTORY = 0o700;
const PRIVATE_FILE = 0o600;
const ACCESSIBLE_BY_OTHERS = 0o077;

/** How many states are stored: the least recently used are removed. A state has 50 MiB and more. */
const MAX_STATES = 8;

const STATE_SUFFIX = ".state";

/** `sandgate/microvm` in the user's cache directory: `XDG_CACHE_HOME`, or `~/.cache`. */
export function defaultCacheDirectory(): string {
  const configured = process.env["XDG_CACHE_HOME"] ?? "";
  // Relative paths must be ignored (XDG Base Directory Specification, section 2).
  return join(isAbsolute(configured) ? configured : join(homedir(), ".cache"), "sandgate", "microvm");
}

/**
 * Stores the states of saved machines as files, which processes of the same user share. QEMU trusts a state,
 * so nobody else may have access to the directory.
 */
export class StateCache {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
    // QEMU trusts the files, and they contain the memory of machines.
    guardFiles([{ path: directory, isFolder: true }]);
  }

  /**
   * Creates the directory unless it exists.
   *
   * @throws {Error} if it cannot be created, or other users have access to it.
   */
  async open(): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: PRIVATE_DIRECTORY });
    const { uid, mode } = await stat(this.#directory);
    if (uid === process.getuid?.() && (mode & ACCESSIBLE_BY_OTHERS) === 0) return;
    throw new Error(
      `others have access to the cache directory ${this.#directory}: take it over with 'chmod 700', or give another one ` +
        "as 'cacheDirectory'",
    );
  }

  /**
   * Returns the file of a state, and marks it as used; `undefined` if it does not exist. Removes an invalid
   * one.
   */
  async find(key: string): Promise<string | undefined> {
    const file = this.#path(key + STATE_SUFFIX);
    try {
      const stats = await lstat(file);
      if (!stats.isFile() || stats.size === 0) await this.remove(key);
      else {
        await access(file, constants.R_OK);
        utimesSync(file, new Date(), new Date());
        return file;
      }
    } catch {
      // It is created again.
    }
    return undefined;
  }

  /**
   * Stores a state atomically, and removes the least recently used ones.
   *
   * @param memory A file that is complete when the state is at its end: a copy is the end of the state's
   *   file, from the beginning of a page. In one file, because another process may store the same machine,
   *   with other memory.
   * @returns its file.
   */
  async store(key: string, state: Readable, memory?: string): Promise<string> {
    const temporary = this.#path(`${key}.${randomUUID()}.tmp`);
    try {
      await pipeline(state, createWriteStream(temporary, { flags: "wx", mode: PRIVATE_FILE, flush: true }));
      if (memory !== undefined) await append(memory, temporary);
      await rename(temporary, this.#path(key + STATE_SUFFIX));
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    await this.#removeOld();
    return this.#path(key + STATE_SUFFIX);
  }

  /** Removes a state that cannot be restored. Never rejects. */
  async remove(key: string): Promise<void> {
    await rm(this.#path(key + STATE_SUFFIX), { force: true, recursive: true }).catch(() => {});
  }

  /** Reads a note; `undefined` if there is none. */
  async readNote(key: string): Promise<string | undefined> {
    return readFile(this.#path(`${key}.note`), "utf8").catch(() => undefined);
  }

  async writeNote(key: string, text: string): Promise<void> {
    await writeFile(this.#path(`${key}.note`), text, { mode: PRIVATE_FILE });
  }

  async #removeOld(): Promise<void> {
    const names = (await readdir(this.#directory)).filter((name) => name.endsWith(STATE_SUFFIX));
    const files = await Promise.all(
      names.map(async (name) => ({ name, usedAt: (await stat(this.#path(name))).mtimeMs })),
    );
    files.sort((a, b) => b.usedAt - a.usedAt);
    for (const { name } of files.slice(MAX_STATES)) await rm(this.#path(name), { force: true });
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }
}

async function append(memory: string, to: string): Promise<void> {
  await using source = await open(memory, "r");
  await using target = await open(to, "r+");
  const { size } = await target.stat();
  await copyMemory({ file: source, offset: 0 }, { file: target, offset: pageEnd(size) });
  await target.sync();
}
