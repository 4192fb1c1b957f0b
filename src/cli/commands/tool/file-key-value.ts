import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { open, realpath, rename, rm, writeFile } from "node:fs/promises";
import { isNewerFormat, newerFormatText } from "../../../base/file-format.ts";
import type { KeyValueStore, KeyValueStores } from "../../../key-value/key-value-store.ts";
import { MemoryKeyValue } from "../../../key-value/memory-key-value.ts";
import { shown } from "../../../rendering/shown.ts";
import { UsageError } from "../../errors.ts";

/** All sessions share the stores of a file. */
const SESSION = "";
const NEVER = new AbortController().signal;

/** The maximum size of the file in bytes. */
const MAX_FILE_BYTES = 256 * 1_024 * 1_024;

/** The format of the files. Those before the first had the stores at the top. */
const FORMAT = 1;

/** The values of each store in base64, by their keys. */
type FileContent = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Key-value stores in memory, which are read from a JSON file and written back to it. */
export class FileKeyValue implements KeyValueStores {
  readonly #file: string;
  readonly #memory = new MemoryKeyValue();
  readonly #opened = new Map<string, KeyValueStore>();

  /**
   * Reads the stores of a file. If it does not exist, there are none yet.
   *
   * @throws {UsageError} if the file cannot be read, or does not have such content.
   */
  static async open(file: string): Promise<FileKeyValue> {
    try {
      const content = await readContent(file);
      // A link stays a link.
      const stores = new FileKeyValue(content === undefined ? file : await realpath(file));
      for (const [name, values] of Object.entries(content ?? {})) {
        const changes = Object.entries(values).map(([key, base64]) => ({ key, value: decode(base64) }));
        await stores.open(name).update(changes, NEVER);
      }
      return stores;
    } catch (error) {
      throw new UsageError(shown`--store ${file} cannot be used: ${(error as Error).message}`);
    }
  }

  private constructor(file: string) {
    this.#file = file;
  }

  open(name: string): KeyValueStore {
    const store = this.#opened.get(name) ?? this.#memory.open(name, SESSION);
    this.#opened.set(name, store);
    return store;
  }

  /** Replaces the file as a whole. */
  async save(): Promise<void> {
    const content = await Promise.all(
      Array.from(this.#opened, async ([name, store]) => [name, await contentOf(store)] as const),
    );
    const temporary = `${this.#file}.${randomUUID()}.tmp`;
    try {
      await writeFile(
        temporary,
        `${JSON.stringify({ format: FORMAT, stores: Object.fromEntries(content) }, null, 2)}\n`,
        {
          flag: "wx",
          mode: 0o600,
        },
      );
      await rename(temporary, this.#file);
    } catch (error) {
      await rm(temporary, { force: true });
      throw new UsageError(shown`--store ${this.#file} cannot be written: ${(error as Error).message}`);
    }
  }
}

async function contentOf(store: KeyValueStore): Promise<Record<string, string>> {
  const entries: [string, string][] = [];
  for (const key of await store.listKeys(undefined, Number.POSITIVE_INFINITY, NEVER)) {
    const value = (await store.get(key, NEVER)) ?? new Uint8Array();
    entries.push([key, Buffer.from(value).toString("base64")]);
  }
  return Object.fromEntries(entries);
}

/** Returns the content of the file; `undefined` if it does not exist. */
async function readContent(file: string): Promise<FileContent | undefined> {
  const text = await readText(file);
  if (text === undefined) return undefined;
  const content = storesIn(JSON.parse(text));
  const isStore = (store: unknown): boolean =>
    isRecord(store) && Object.values(store).every((value) => typeof value === "string");
  if (isRecord(content) && Object.values(content).every(isStore)) return content as FileContent;
  throw new TypeError("it must have an object for each store, whose members are strings in base64");
}

/** @throws {TypeError} if the file has a newer format. */
function storesIn(value: unknown): unknown {
  // Without a number it has no format: a store is never a number.
  if (!isRecord(value) || typeof value["format"] !== "number") return value;
  const { format, stores } = value;
  if (isNewerFormat(format, FORMAT)) throw new TypeError(`it ${newerFormatText(format, FORMAT)}`);
  return stores;
}

async function readText(file: string): Promise<string | undefined> {
  try {
    // Opening a pipe would wait for its other end.
    await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const status = await handle.stat();
    if (!status.isFile()) throw new TypeError("it is not a file");
    if (status.size > MAX_FILE_BYTES) throw new TypeError(`it is larger than ${MAX_FILE_BYTES} bytes`);
    return await handle.readFile("utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** @throws {TypeError} if it is not base64, whose value would be lost when the file is written. */
function decode(base64: string): Uint8Array {
  const value = Buffer.from(base64, "base64");
  if (value.toString("base64") === base64) return value;
  throw new TypeError("a value is not base64");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
