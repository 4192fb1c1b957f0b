import { randomBytes } from "node:crypto";
import { defineTool, type Tool } from "../engine/tool.ts";
import type { HostContext } from "../tool/implementations/implementations.ts";
import {
  type KeyValueChange,
  KeyValueFullError,
  type KeyValueStore,
  type KeyValueStores,
  MemoryKeyValue,
} from "../tool/key-value-store.ts";
import { ToolFailure } from "../tool/tool-failure.ts";
import { inputSchema, type ToolsetNaming, Writing } from "./tool-parts.ts";

/** The memory of a session: texts under generated keys. */
class MemoryEntries {
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

/** The options of the toolset `memory`. */
export interface MemoryOptions extends ToolsetNaming {
  /**
   * Where the entries are: in the store `memory` of a session, one key for each. Default: in the memory of this process,
   * for each session apart.
   */
  readonly stores?: KeyValueStores;
}

/** The longest text of an entry, in characters. */
const MAX_TEXT = 16_000;

const TEXT = { type: "string", minLength: 1, maxLength: MAX_TEXT } as const;
const KEY = { type: "string", minLength: 1, maxLength: 200 } as const;

/** Worker sessions do not see tools tagged `memory`. */
const TRAITS = { sideEffects: "write", tags: ["memory"] } as const;

/** Tools that write what an agent wants to remember: `memory_add`, `memory_replace` and `memory_consolidate`. */
export function memoryTools({ stores = new MemoryKeyValue() }: MemoryOptions): readonly Tool[] {
  const writing = new Writing();
  // Calls of one session change its entries one after another: each of them checks first what it replaces.
  const change = <Result>(
    { sessionId, signal }: HostContext,
    act: (entries: MemoryEntries) => Promise<Result>,
  ): Promise<Result> =>
    writing.run(sessionId, async () => {
      signal.throwIfAborted();
      return act(new MemoryEntries(await stores.open("memory", sessionId), signal));
    });
  return [
    defineTool({
      ...TRAITS,
      name: "memory_add",
      description: "Remembers a text as a new entry. Returns the key of the entry.",
      inputSchema: inputSchema({ text: TEXT }),
      host: async ({ text }, context) => ({ key: await change(context, (entries) => entries.add(text)) }),
    }),
    defineTool({
      ...TRAITS,
      name: "memory_replace",
      description: "Replaces the text of a remembered entry.",
      idempotent: true,
      inputSchema: inputSchema({ key: KEY, text: TEXT }),
      host: async ({ key, text }, context) => {
        await change(context, (entries) => entries.replace(key, text));
        return { key };
      },
    }),
    defineTool({
      ...TRAITS,
      name: "memory_consolidate",
      description:
        "Replaces several remembered entries by one new entry: all of them, or none. Returns its key.",
      inputSchema: inputSchema({
        keys: { type: "array", items: KEY, minItems: 1, maxItems: 100, uniqueItems: true },
        text: TEXT,
      }),
      host: async ({ keys, text }, context) => ({
        key: await change(context, (entries) => entries.consolidate(keys, text)),
      }),
    }),
  ];
}

/** Short, since the model repeats it: 48 random bits. */
function newKey(): string {
  return `m-${randomBytes(6).toString("hex")}`;
}
