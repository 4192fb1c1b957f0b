import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { sha256InSlices } from "../../../base/collected-bytes.ts";
import { guardFiles } from "../../../base/guarded-files.ts";
import { ToolPreparationError } from "../../contract/sandbox.ts";

const DIGEST_BYTES = 32;
const PRIVATE_DIRECTORY = 0o700;
const PRIVATE_FILE = 0o600;
const WRITABLE_BY_OTHERS = 0o022;

/** `sandgate/wasm` in the user's cache directory: `XDG_CACHE_HOME`, or `~/.cache`. */
export function defaultCacheDirectory(): string {
  const configured = process.env["XDG_CACHE_HOME"] ?? "";
  // Relative paths must be ignored (XDG Base Directory Specification, section 2).
  return join(isAbsolute(configured) ? configured : join(homedir(), ".cache"), "sandgate", "wasm");
}

/**
 * Stores bytes on disk by key. Processes can share a directory: entries are created atomically, never change, and
 * contain their own digest, so that a damaged entry counts as missing. If the directory cannot be written, nothing is
 * stored.
 */
export class ComponentCache {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
    // Its entries are trusted.
    guardFiles([{ path: directory, access: "read", isFolder: true }]);
  }

  /**
   * Returns the bytes for a key; `undefined` if there is no valid entry.
   *
   * @throws {ToolPreparationError} if other users can write to the directory, because their entries would be trusted.
   */
  async read(key: string): Promise<Buffer | undefined> {
    await this.#refuseUnsafeDirectory();
    let entry: Buffer;
    try {
      entry = await readFile(this.#path(key));
    } catch {
      return undefined;
    }
    const content = entry.subarray(DIGEST_BYTES);
    const expected = entry.toString("hex", 0, DIGEST_BYTES);
    return (await sha256InSlices(content)) === expected ? content : undefined;
  }

  /** Stores bytes under a key, if the directory is writable. */
  async write(key: string, content: Uint8Array): Promise<void> {
    const temporary = this.#path(`${key}.${randomUUID()}.tmp`);
    try {
      await mkdir(this.#directory, { recursive: true, mode: PRIVATE_DIRECTORY });
      const digest = Buffer.from(await sha256InSlices(content), "hex");
      await writeFile(temporary, [digest, content], { flag: "wx", mode: PRIVATE_FILE });
      await rename(temporary, this.#path(key));
    } catch {
      await rm(temporary, { force: true }).catch(() => {});
    }
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }

  async #refuseUnsafeDirectory(): Promise<void> {
    const status = await stat(this.#directory).catch(() => undefined);
    // Systems without user ids do not have these mode bits either.
    const uid = process.getuid?.();
    if (status === undefined || uid === undefined) return;
    if (status.uid === uid && (status.mode & WRITABLE_BY_OTHERS) === 0) return;
    throw new ToolPreparationError(
      `others can write to the cache directory ${this.#directory}: take it over with 'chmod 700', or give ` +
        "another one as 'cacheDirectory'",
    );
  }
}
