import { defineTool, type Tool } from "../../engine/tool.ts";
import type { KeyValueStores } from "../../key-value/key-value-store.ts";
import { MemoryKeyValue } from "../../key-value/memory-key-value.ts";
import type { HostContext } from "../../tool/implementations/host-implementation.ts";
import { Writing } from "../files/writing.ts";
import { inputSchema } from "../input-schema.ts";
import type { ToolsetNaming } from "../toolset-naming.ts";
import { MemoryEntries } from "./memory-entries.ts";

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
