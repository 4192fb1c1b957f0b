import { readFileSync, statSync } from "node:fs";
import { guardFiles } from "../../base/guarded-files.ts";

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
 * Reads keys from a file: lines with the id of a key, a space, and 64 hexadecimal digits. The first one seals; to replace it,
 * add a line above it. Empty lines, and those that begin with `#`, are left out.
 *
 * @throws {TypeError} if a line is invalid, or others than the file's owner can read it.
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
