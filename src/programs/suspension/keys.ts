import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { guardFiles } from "../../base/guarded-files.ts";
import { canonicalText } from "../../json/canonical.ts";
import type { JsonObject } from "../../json/value.ts";
import { SuspensionRefusedError } from "./suspension-error.ts";

/** A key under which suspended programs are sealed. */
export interface SuspensionKey {
  /** Names the key in what it seals: 1 to 64 letters, digits and characters of `_.-`. */
  readonly id: string;
  /** 32 random bytes. */
  readonly key: Uint8Array;
}

const KEY_BYTES = 32;

const VALID_ID = /^[\w.-]{1,64}$/;

/** The keys of suspended programs: the first one seals, and all of them open. */
export class SuspensionKeys {
  readonly sealing: SuspensionKey;
  readonly #byId: ReadonlyMap<string, SuspensionKey>;

  /** @throws {TypeError} if there is no key, one is invalid, or two have the same id. */
  constructor(keys: readonly SuspensionKey[]) {
    const [sealing] = keys;
    if (sealing === undefined) throw new TypeError("suspended programs need a key");
    for (const { id, key } of keys) {
      if (typeof id !== "string" || !VALID_ID.test(id)) throw new TypeError("the id of a key is invalid");
      if (!(key instanceof Uint8Array) || key.length !== KEY_BYTES) {
        throw new TypeError(`the key '${id}' must have ${KEY_BYTES} bytes`);
      }
    }
    this.#byId = new Map(keys.map(({ id, key }) => [id, { id, key: new Uint8Array(key) }]));
    if (this.#byId.size !== keys.length) throw new TypeError("two keys have the same id");
    this.sealing = this.#byId.get(sealing.id) as SuspensionKey;
  }

  find(id: string): SuspensionKey | undefined {
    return this.#byId.get(id);
  }
}

/**
 * Reads keys from a file: lines with the id of a key, a space, and 64 hexadecimal digits. The first one
 * seals; to replace it, add a line above it. Empty lines, and those that begin with `#`, are ignored.
 *
 * @throws {TypeError} if a line is invalid, or users other than the file's owner can read it.
 * @throws the error of the file system, if the file cannot be read.
 */
export function readSuspensionKeys(file: string): readonly SuspensionKey[] {
  guardFiles([{ path: file }]);
  if (process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0) {
    throw new TypeError("the file with the keys must be readable by its owner alone (chmod 600)");
  }
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.flatMap((line, index) => {
    const text = line.trim();
    if (text === "" || text.startsWith("#")) return [];
    const [, id, digits] = /^([\w.-]{1,64}) +([0-9a-fA-F]{64})$/.exec(text) ?? [];
    if (id === undefined || digits === undefined) {
      throw new TypeError(
        `line ${index + 1} of the file with the keys must have an id and 64 hexadecimal digits`,
      );
    }
    return [{ id, key: new Uint8Array(Buffer.from(digits, "hex")) }];
  });
}

const SALT_BYTES = 16;

const NONCE_BYTES = 12;

const TAG_BYTES = 16;

/**
 * Seals bytes with AES-256-GCM under a key of their own, which follows from a random salt: a nonce never meets the same key
 * again, however many programs are suspended.
 *
 * @param bound What the bytes are bound to: they open with the same value only.
 */
export function seal(bytes: Uint8Array, bound: JsonObject, { key }: SuspensionKey): Uint8Array {
  const salt = randomBytes(SALT_BYTES);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", derive(key, salt), nonce);
  cipher.setAAD(Buffer.from(canonicalText(bound)));
  return Buffer.concat([salt, nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/**
 * Opens bytes that {@link seal} sealed.
 *
 * @throws {SuspensionRefusedError} if they were changed, are bound to something else, or were sealed with another key.
 */
export function unseal(sealed: Uint8Array, bound: JsonObject, { key }: SuspensionKey): Uint8Array {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length);
  const nonceAt = SALT_BYTES;
  const textAt = nonceAt + NONCE_BYTES;
  const tagAt = bytes.length - TAG_BYTES;
  if (tagAt < textAt) throw new SuspensionRefusedError("changed");
  const options = { authTagLength: TAG_BYTES };
  const salt = bytes.subarray(0, nonceAt);
  const decipher = createDecipheriv(
    "aes-256-gcm",
    derive(key, salt),
    bytes.subarray(nonceAt, textAt),
    options,
  );
  decipher.setAAD(Buffer.from(canonicalText(bound)));
  decipher.setAuthTag(bytes.subarray(tagAt));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(textAt, tagAt)), decipher.final()]);
  } catch {
    throw new SuspensionRefusedError("changed");
  }
}

function derive(key: Uint8Array, salt: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", key, salt, "sandgate suspended program", 32));
}
