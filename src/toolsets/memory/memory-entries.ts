import { randomBytes } from "node:crypto";
import {
  type KeyValueChange,
  KeyValueFullError,
  type KeyValueStore,
} from "../../key-value/key-value-store.ts";
import { ToolFailure } from "../../tool/tool-failure.ts";

/** What a session remembers: texts under keys that are made here. */
export class MemoryEntries {
  readonly #store: KeyValueStore;
  readonly #signal: AbortSignal;

  constructor(store: KeyValueStore, signal: AbortSignal) {
    this.#store = store;
    this.#signal = signal;
  }

  /** Adds an entry, and returns its key. */
  async add(text: string): Promise<string> {
    const key = newKey();
    await this.#update([{ key, value: Buffer.from(text) }]);
    return key;
  }

  /** @throws {ToolFailure} if there is no such entry. */
  async replace(key: string, text: string): Promise<void> {
    await this.#requireAll([key]);
    await this.#update([{ key, value: Buffer.from(text) }]);
  }

  /**
   * Replaces entries by one, whose key is returned.
   *
   * @throws {ToolFailure} if one of them does not exist. Nothing changes then.
   */
  async consolidate(keys: readonly string[], text: string): Promise<string> {
    await this.#requireAll(keys);
    const key = newKey();
    const deletions = keys.map((each) => ({ key: each, value: undefined }));
    await this.#update([...deletions, { key, value: Buffer.from(text) }]);
    return key;
  }

  async #requireAll(keys: readonly string[]): Promise<void> {
    const values = await Promise.all(keys.map((key) => this.#store.get(key, this.#signal)));
    const missing = keys.find((_, index) => values[index] === undefined);
    if (missing === undefined) return;
    const message = `Nothing is remembered under '${missing}': use a key that memory_add or memory_consolidate returned`;
    throw new ToolFailure("validation_error", message, { effect: "none" });
  }

  async #update(changes: readonly KeyValueChange[]): Promise<void> {
    try {
      await this.#store.update(changes, this.#signal);
    } catch (error) {
      if (!(error instanceof KeyValueFullError)) throw error;
      const message = "The memory is full: replace several entries by a shorter one with memory_consolidate";
      throw new ToolFailure("execution_error", message, { effect: "none", cause: error });
    }
  }
}

/** Short, since the model repeats it: 48 random bits. */
function newKey(): string {
  return `m-${randomBytes(6).toString("hex")}`;
}
