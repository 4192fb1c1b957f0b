import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { guardFiles } from "../../../base/guarded-files.ts";
import { FileLock, isNewerFormat, newerFormatText } from "../../../base/own-files.ts";
import {
  type KeyValueStore,
  type KeyValueStores,
  MemoryKeyValue,
} from "../../../key-value/key-value-store.ts";
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

/** How long a process waits while another one writes the file, in ms. */
const LOCK_WAIT_MS = 10_000;

/**
 * Key-value stores in memory, which are read from a JSON file and written back to it. Several processes can use the file: each
 * writes only the keys that it changed.
 */
export class FileKeyValue implements KeyValueStores {
  readonly #file: string;
  /** The content when it was last read or written. */
  #known: FileContent;
  readonly #memory = new MemoryKeyValue();
  readonly #opened = new Map<string, KeyValueStore>();

  /**
   * Reads the stores of a file. If it does not exist, there are none yet.
   *
   * @throws {UsageError} if the file cannot be read, or does not have such content.
   */
  static async open(file: string): Promise<FileKeyValue> {
    guardFiles([{ path: file }, { path: `${file}.lock` }]);
    try {
      const content = readContent(file);
      // A link stays a link.
      const stores = new FileKeyValue(content === undefined ? file : realpathSync(file), content ?? {});
      for (const [name, values] of Object.entries(content ?? {})) {
        const changes = Object.entries(values).map(([key, base64]) => ({ key, value: decode(base64) }));
        await stores.open(name).update(changes, NEVER);
      }
      return stores;
    } catch (error) {
      throw new UsageError(shown`--store ${file} cannot be used: ${(error as Error).message}`);
    }
  }

  private constructor(file: string, known: FileContent) {
    this.#file = file;
    this.#known = known;
  }

  open(name: string): KeyValueStore {
    const store = this.#opened.get(name) ?? this.#memory.open(name, SESSION);
    this.#opened.set(name, store);
    return store;
  }

  /**
   * Writes what was changed, and replaces the file as a whole.
   *
   * @throws {UsageError} if the file cannot be written, or another process writes it for long.
   */
  async save(): Promise<void> {
    const mine = Object.fromEntries(
      await Promise.all(
        Array.from(this.#opened, async ([name, store]) => [name, await contentOf(store)] as const),
      ),
    );
    const temporary = `${this.#file}.${randomUUID()}.tmp`;
    try {
      using _ = new FileLock(`${this.#file}.lock`, LOCK_WAIT_MS);
      // Nothing is awaited, so that this process never waits for a lock of its own.
      const stores = withChanges(readContent(this.#file) ?? {}, this.#known, mine);
      writeFileSync(temporary, `${JSON.stringify({ format: FORMAT, stores }, null, 2)}\n`, {
        flag: "wx",
        mode: 0o600,
      });
      renameSync(temporary, this.#file);
      this.#known = mine;
    } catch (error) {
      rmSync(temporary, { force: true });
      throw new UsageError(shown`--store ${this.#file} cannot be written: ${(error as Error).message}`);
    }
  }
}

/** Returns what a file has, with the keys that changed from one content to another one. */
function withChanges(file: FileContent, from: FileContent, to: FileContent): FileContent {
  const stores = new Map(
    Object.entries(file).map(([name, values]) => [name, new Map(Object.entries(values))]),
  );
  for (const [name, values] of Object.entries(to)) {
    const before = new Map(Object.entries(from[name] ?? {}));
    const now = new Map(Object.entries(values));
    const store = stores.get(name) ?? new Map<string, string>();
    stores.set(name, store);
    for (const [key, value] of now) if (before.get(key) !== value) store.set(key, value);
    for (const key of before.keys()) if (!now.has(key)) store.delete(key);
  }
  return Object.fromEntries(Array.from(stores, ([name, values]) => [name, Object.fromEntries(values)]));
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
function readContent(file: string): FileContent | undefined {
  const text = readText(file);
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

function readText(file: string): string | undefined {
  let fd: number;
  try {
    // Opening a pipe would wait for its other end.
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const status = fstatSync(fd);
    if (!status.isFile()) throw new TypeError("it is not a file");
    if (status.size > MAX_FILE_BYTES) throw new TypeError(`it is larger than ${MAX_FILE_BYTES} bytes`);
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
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
