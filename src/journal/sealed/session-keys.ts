import { existsSync, readFileSync } from "node:fs";
import { mkdir, open, unlink } from "node:fs/promises";
import { join } from "node:path";
import { loadCrypto } from "../../base/load-crypto.ts";
import { LruMap } from "../../base/lru-map.ts";
import { JournalError } from "../journal-error.ts";
import { syncDirectory } from "../storage/append-file.ts";

const MAX_CACHED = 10_000;
const KEY_BYTES = 32;

/** The keys that seal the arguments of sessions: one file each. */
export class SessionKeys {
  readonly #directory: string;
  readonly #cached = new LruMap<string, Buffer>(MAX_CACHED);
  /** Keys that no file has yet. */
  #unsaved = new Map<string, Buffer>();

  /** @param directory Of the journal. */
  constructor(directory: string) {
    this.#directory = join(directory, "keys");
  }

  /** Returns a session's key, which may be new: call {@link save} before anything that it seals is written. */
  keyOf(sessionId: string): Buffer {
    const known = this.#cached.get(sessionId) ?? this.find(sessionId);
    const key = known ?? loadCrypto().randomBytes(KEY_BYTES);
    if (known === undefined) this.#unsaved.set(sessionId, key);
    this.#cached.set(sessionId, key);
    return key;
  }

  /**
   * Returns a session's key from its file; `undefined` if it was deleted, or if there is none.
   *
   * @throws {JournalError} if the file is no such key: a new one in its place would make arguments unreadable for good.
   */
  find(sessionId: string): Buffer | undefined {
    const unsaved = this.#unsaved.get(sessionId);
    const path = this.#pathOf(sessionId);
    if (unsaved !== undefined || !existsSync(path)) return unsaved;
    const key = readFileSync(path);
    if (key.length === KEY_BYTES) return key;
    throw new JournalError(
      `'${path}' is no key that this version of sandgate reads: use the version that wrote it, or remove the file to give the arguments up`,
    );
  }

  /** Makes the new keys durable. */
  async save(): Promise<void> {
    if (this.#unsaved.size === 0) return;
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    for (const [sessionId, key] of [...this.#unsaved]) {
      await using file = await open(this.#pathOf(sessionId), "w", 0o600);
      await file.writeFile(key);
      await file.datasync();
      this.#unsaved.delete(sessionId);
    }
    await syncDirectory(this.#directory);
  }

  /** Deletes a session's key. Returns whether there was one. */
  async forget(sessionId: string): Promise<boolean> {
    const hadNew = this.#unsaved.delete(sessionId);
    const wasCached = this.#cached.delete(sessionId);
    try {
      await unlink(this.#pathOf(sessionId));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      return hadNew || wasCached;
    }
    await syncDirectory(this.#directory);
    return true;
  }

  /** A session's id may have any characters, and is not to be read off the name. */
  #pathOf(sessionId: string): string {
    return join(this.#directory, `${loadCrypto().hash("sha256", sessionId)}.key`);
  }
}
