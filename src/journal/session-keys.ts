import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { mkdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { loadCrypto } from "../base/load-crypto.ts";
import { LruMap } from "../base/lru-map.ts";
import { JournalError } from "./journal-error.ts";
import { replaceFile, syncDirectory } from "./storage/file-writing.ts";

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
   * Returns a session's key from its file; `undefined` if it does not exist.
   *
   * @throws {JournalError} if the file is no such key: a new one in its place would make arguments unreadable for good.
   */
  find(sessionId: string): Buffer | undefined {
    const unsaved = this.#unsaved.get(sessionId);
    const path = this.#pathOf(sessionId);
    const key = unsaved ?? readKey(path);
    if (key === undefined || key.length === KEY_BYTES) return key;
    throw new JournalError(
      `'${path}' is no key that this version of sandgate reads: use the version that wrote it, or remove the file to give the arguments up`,
    );
  }

  /** Makes the new keys durable. */
  async save(): Promise<void> {
    if (this.#unsaved.size === 0) return;
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    for (const [sessionId, key] of [...this.#unsaved]) {
      // Atomically: after a crash, a session with a half-written key could not continue.
      await replaceFile(this.#pathOf(sessionId), key);
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

/** Returns the content of a key's file; `undefined` only if it does not exist. */
function readKey(path: string): Buffer | undefined {
  let file: number | undefined;
  try {
    // Opening a pipe would wait for its other end.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return fstatSync(file).isFile() ? readFileSync(file) : Buffer.alloc(0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new JournalError(`the key '${path}' cannot be read: ${(error as Error).message}`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/**
 * Deletes the key of a session from a journal that may be in use: its sealed arguments can never be read again. The chain
 * of records stays valid. A process that has the journal open continues to seal with the deleted key, so that what it
 * writes cannot be read, either.
 *
 * @returns Whether there was a key.
 */
export function forgetSession(directory: string, sessionId: string): Promise<boolean> {
  return new SessionKeys(directory).forget(sessionId);
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts arguments by AES-256-GCM.
 *
 * @param argumentDigest The digest of the text, to which the result is bound.
 * @returns The nonce, the encrypted text and the tag, in base64.
 */
export function seal(text: string, argumentDigest: string, key: Buffer): string {
  const { createCipheriv, randomBytes } = loadCrypto();
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, iv);
  cipher.setAAD(Buffer.from(argumentDigest, "hex"));
  return Buffer.concat([iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]).toString(
    "base64",
  );
}

/** Decrypts what {@link seal} returned. Returns `undefined` if the key or the digest differs. */
export function unseal(sealed: string, argumentDigest: string, key: Buffer): string | undefined {
  const bytes = Buffer.from(sealed, "base64");
  if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
  const { createDecipheriv } = loadCrypto();
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, IV_BYTES));
  decipher.setAAD(Buffer.from(argumentDigest, "hex"));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString();
  } catch {
    return undefined;
  }
}
