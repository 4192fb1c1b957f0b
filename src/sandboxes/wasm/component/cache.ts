import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { ToolPreparationError } from "../../contract/sandbox.ts";

const DIGEST_BYTES = 32;
const PRIVATE_DIRECTORY = 0o700;
const PRIVATE_FILE = 0o600;
const WRITABLE_BY_OTHERS = 0o022;

/** `sandgate/wasm` in the user's cache directory: `XDG_CACHE_HOME`, or `~/.cache`. */
export function defaultCacheDirectory(): string {
  const configured = process.env["XDG_CACHE_HOME"] ?? "";
  // A relative path there is to be ignored (XDG Base Directory Specification, section 2).
  return join(isAbsolute(configured) ? configured : join(homedir(), ".cache"), "sandgate", "wasm");
}

/**
 * Keeps bytes on disk under a key. Any number of processes may share a directory: an entry appears at once,
 * is never changed, and holds a digest of itself, so that a damaged one counts as missing. A directory that
 * cannot be written costs time and nothing else.
 */
export class ComponentCache {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * The bytes under a key, or `undefined` when there are none that are sound.
   *
   * @throws {ToolPreparationError} when others can write to the directory: what they put there would run here.
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
    return digest(content).equals(entry.subarray(0, DIGEST_BYTES)) ? content : undefined;
  }

  /** Keeps bytes under a key, if the directory lets it. */
  async write(key: string, content: Uint8Array): Promise<void> {
    const temporary = this.#path(`${key}.${randomUUID()}.tmp`);
    try {
      await mkdir(this.#directory, { recursive: true, mode: PRIVATE_DIRECTORY });
      await writeFile(temporary, [digest(content), content], { flag: "wx", mode: PRIVATE_FILE });
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
    // Where there are no user ids, there are no such mode bits either.
    const uid = process.getuid?.();
    if (status === undefined || uid === undefined) return;
    if (status.uid === uid && (status.mode & WRITABLE_BY_OTHERS) === 0) return;
    throw new ToolPreparationError(
      `others can write to the cache directory ${this.#directory}: take it over with 'chmod 700', or give ` +
        "another one as 'cacheDirectory'",
    );
  }
}

function digest(content: Uint8Array): Buffer {
  return createHash("sha256").update(content).digest();
}
